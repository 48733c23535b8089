//! How fast the network delivers, measured per acknowledged packet (Cheng & Cardwell,
//! draft-cheng-iccrg-delivery-rate-estimation).

use laxity_interface::{Rate, Span, Time};

/// What was known when a packet left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    app_limited: bool,
}

impl Stamp {
    /// Bytes delivered when the packet left; tells rounds apart.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }
}

/// The sampler of one lane.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Until more than this many bytes are delivered, samples say more about the application than about
    /// the network.
    app_limited_until: Option<u64>,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeliverySample {
    pub(crate) rate: Rate,
    pub(crate) app_limited: bool,
}

impl Sampler {
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A packet leaves.
    pub(crate) fn on_sent(&mut self, now: Time, in_flight: u64) -> Stamp {
        if in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until.is_some(),
        }
    }

    /// The application has nothing more to send while the network could take more.
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some(self.delivered + in_flight);
    }

    /// Packets were delivered; `newest` is the stamp of the one sent last, at `sent_at`.
    pub(crate) fn on_delivered(
        &mut self,
        now: Time,
        bytes: u64,
        newest: Stamp,
        sent_at: Time,
        min_rtt: Span,
    ) -> Option<DeliverySample> {
        self.delivered += bytes;
        self.delivered_at = now;
        // Something that left after the pause has arrived.
        self.app_limited_until = self.app_limited_until.filter(|until| self.delivered <= *until);
        let send_elapsed = sent_at.since(newest.first_sent);
        self.first_sent = sent_at;
        let interval = send_elapsed.max(now.since(newest.delivered_at));
        // Shorter than the round trip means compressed acknowledgements, not speed.
        if interval < min_rtt || interval.is_zero() {
            return None;
        }
        let bits = (self.delivered - newest.delivered) as f64 * 8.0;
        let rate = Rate::bps((bits / interval.as_secs_f64()) as u64);
        Some(DeliverySample { rate, app_limited: newest.app_limited })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_pause_is_not_blamed_on_the_network() {
        let mut sampler = Sampler::default();
        let at = |us| Time::ZERO + Span::from_us(us);
        assert!(!sampler.on_sent(at(0), 0).app_limited);
        sampler.on_app_limited(1000);
        let stamp = sampler.on_sent(at(1), 1000);
        assert!(stamp.app_limited);
        sampler.on_delivered(at(50), 1000, stamp, at(0), Span::from_us(1));
        assert!(sampler.on_sent(at(60), 1000).app_limited, "nothing sent since has arrived");
        sampler.on_delivered(at(70), 1000, stamp, at(1), Span::from_us(1));
        assert!(!sampler.on_sent(at(80), 0).app_limited);
    }

    #[test]
    fn a_steady_flow_measures_its_own_rate() {
        // 1250 bytes each 10 µs is 1 Gbit/s; the acknowledgement comes 100 µs after each packet.
        let mut sampler = Sampler::default();
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut stamps = Vec::new();
        let mut last = None;
        for i in 0..100u64 {
            if i >= 10 {
                let (stamp, sent): (Stamp, Time) = stamps[i as usize - 10];
                last = sampler.on_delivered(at(i * 10), 1250, stamp, sent, Span::from_us(100));
            }
            let in_flight = i.min(10) * 1250;
            stamps.push((sampler.on_sent(at(i * 10), in_flight), at(i * 10)));
        }
        let rate = last.unwrap().rate.as_bps() as f64;
        assert!((rate / 1e9 - 1.0).abs() < 0.02, "{rate}");
    }
}
