//! The lab of jobs with ranks: a host for each around one switch, and one for other traffic.

use anyhow::{Context, Result};
use laxity_interface::{Bytes, Fraction, Rate, Span};
use laxity_lab::{Lab, LabFile, Receive};

use super::lab::daemon_command;
use crate::failure::usage;

/// Other traffic: many small flows, most bytes in few large ones, as in data centres.
const SIZES: &str = "[['10KB', '50%'], ['100KB', '80%'], ['1MB', '97%'], ['5MB', '100%']]";
/// How long other traffic goes on at most; the lab ends long before.
const LONGEST: &str = "14400s";

/// A network with a host for every rank.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Star {
    pub(crate) ranks: u32,
    pub(crate) seed: u64,
    /// Speed of every link.
    pub(crate) rate: Rate,
    /// A round trip without queues.
    pub(crate) rtt: Span,
    /// Packets that every rank's port loses.
    pub(crate) loss: Fraction,
    /// What may wait at a port.
    pub(crate) buffer: Bytes,
    /// The part of every rank's link that TCP flows of another host fill.
    pub(crate) background: Fraction,
    /// The largest packet, with its IP header.
    pub(crate) mtu: u32,
}

/// What Ethernet carries unless somebody sees to more.
pub(crate) const ETHERNET: u32 = 1500;

/// What a frame has beside its packet.
const FRAME_HEADER: u64 = 14;

impl Star {
    /// Refuses a network in which nothing could be measured, with the option named.
    pub(crate) fn check(&self) -> Result<()> {
        if !(1_000_000..=10_000_000_000).contains(&self.rate.as_bps()) {
            return Err(usage("--rate must lie between 1Mbps and 10Gbps"));
        }
        if self.rtt > Span::from_secs(1) {
            return Err(usage("--rtt must be at most 1s"));
        }
        if self.loss.get() > 0.5 {
            return Err(usage("--loss must be at most 0.5: with more, ranks would hardly meet"));
        }
        if !(1280..=9000).contains(&self.mtu) {
            return Err(usage("--mtu must lie between 1280 and 9000"));
        }
        // With less than a full frame nothing could ever wait.
        let least = Bytes::new(u64::from(self.mtu) + FRAME_HEADER);
        if self.buffer < least {
            return Err(usage(format!("--buffer must be at least {least}: one packet")));
        }
        if self.background.get() > 0.9 {
            return Err(usage("--background must be at most 0.9: the rest is what is measured"));
        }
        Ok(())
    }

    /// Brings it up; the name is made unique by this process's number.
    pub(crate) fn up(&self, name: &str, receive: Receive) -> Result<Lab> {
        let text = format!("receive = '{receive}'\n{}", self.toml());
        let file = LabFile::from_toml(&text).context("a lab file of our own was refused")?;
        Ok(Lab::up(&file, &format!("{name}-{}", std::process::id()), daemon_command()?)?)
    }

    /// The lab file: hosts h1, h2, … around one switch, and `other` where there is other traffic.
    fn toml(&self) -> String {
        let Self { ranks, seed, rate, rtt, loss, buffer, background, mtu } = self;
        // A round trip crosses four links.
        let delay = *rtt / 4;
        let mut text = format!(
            "seed = {seed}\nlink = {{ rate = '{rate}', delay = '{delay}', queue = 'port', mtu = {mtu} }}\n\
             queues.port = {{ kind = 'single', buffer = '{buffer}' }}\n"
        );
        for number in 1..=*ranks {
            text += &format!("[[hosts]]\nname = 'h{number}'\n");
            if loss.get() > 0.0 {
                text += &format!("link = {{ loss = '{loss}' }}\n");
            }
        }
        if background.get() > 0.0 {
            let to: Vec<_> = (1..=*ranks).map(|number| format!("'h{number}'")).collect();
            text += &format!(
                "[[hosts]]\nname = 'other'\n[[background]]\nname = 'other'\nfrom = 'other'\n\
                 to = [{}]\nduration = '{LONGEST}'\nsizes = {SIZES}\nload = '{background}'\n\
                 congestion = 'cubic'\n",
                to.join(", ")
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Star = Star {
        ranks: 8,
        seed: 1,
        rate: Rate::from_gbps(1),
        rtt: Span::from_us(500),
        loss: Fraction::ZERO,
        buffer: Bytes::new(256_000),
        background: Fraction::ZERO,
        mtu: ETHERNET,
    };

    fn some(part: f64) -> Fraction {
        Fraction::new(part).unwrap()
    }

    #[test]
    fn every_lab_can_be_built() {
        let lossy = Star { loss: some(0.01), ..PLAIN };
        let busy = Star { background: some(0.5), ..lossy.clone() };
        let jumbo = Star { mtu: 9000, ..PLAIN };
        let tight = Star { mtu: 1280, buffer: Bytes::new(1294), ..PLAIN };
        for (star, hosts) in [(PLAIN, 8), (lossy, 8), (busy, 9), (jumbo, 8), (tight, 8)] {
            star.check().unwrap();
            let text = star.toml();
            let file = LabFile::from_toml(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(file.hosts().len(), hosts);
        }
    }

    #[test]
    fn a_network_for_nothing_is_refused_with_the_option_named() {
        for (star, named) in [
            (Star { rate: Rate::bps(10_000), ..PLAIN }, "--rate"),
            (Star { rtt: Span::from_secs(2), ..PLAIN }, "--rtt"),
            (Star { loss: some(0.9), ..PLAIN }, "--loss"),
            (Star { background: some(0.95), ..PLAIN }, "--background"),
            (Star { buffer: Bytes::ZERO, ..PLAIN }, "--buffer"),
            (Star { mtu: 9000, buffer: Bytes::new(9013), ..PLAIN }, "--buffer"),
            (Star { mtu: 100, ..PLAIN }, "--mtu"),
            (Star { mtu: 9001, ..PLAIN }, "--mtu"),
        ] {
            let error = star.check().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
