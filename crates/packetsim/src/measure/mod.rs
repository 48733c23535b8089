//! What came of a workload: times, losses, shares, and what did not finish.

mod ideal;
mod summary;

use std::collections::BTreeMap;

use laxity_interface::{Rate, Span, Time};

use crate::{flow::Done, workload::Started};

pub use ideal::{Ideal, needed, packets};
pub use summary::{Summary, jain};

/// Figures of one workload. Times are in seconds and of what finished; what did not is counted beside
/// them, because a scheme that leaves the slow ones behind would look fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Flows that started.
    pub flows: usize,
    /// Flows that did not end before the simulation did.
    pub unfinished_flows: usize,
    /// Flows that ended with less than was promised.
    pub short_flows: usize,
    /// Jobs that started.
    pub jobs: usize,
    /// Jobs of which a flow did not end.
    pub unfinished_jobs: usize,
    /// From a flow's start to its end.
    pub flow_s: Option<Summary>,
    /// From a job's first start to its last end.
    pub job_s: Option<Summary>,
    /// A flow's time over its time in an empty network.
    pub slowdown: Option<Summary>,
    /// Messages of flows that ended.
    pub messages: u64,
    /// Of those, messages that arrived.
    pub delivered: u64,
    /// Bytes of payload that arrived.
    pub bytes: u64,
    /// From the first start to the last end, or to the end of the simulation if something is open.
    pub took: Span,
    /// Jain's index of the flows' own goodputs.
    pub jain: Option<f64>,
    /// The times of finished flows, in seconds, in the order of their end.
    pub flow_times: Vec<f64>,
    /// The times of finished jobs, in seconds, in the order of their number.
    pub job_times: Vec<f64>,
    /// What flows took over what they take alone, in the order of their end.
    pub slowdowns: Vec<f64>,
}

impl Measured {
    /// The part of messages that did not arrive, of flows that ended.
    pub fn message_loss(&self) -> Option<f64> {
        (self.messages > 0).then(|| 1.0 - self.delivered as f64 / self.messages as f64)
    }

    /// Payload per time, over all flows that ended.
    pub fn goodput(&self) -> Rate {
        let seconds = self.took.as_secs_f64();
        let bps = if seconds > 0.0 { self.bytes as f64 * 8.0 / seconds } else { 0.0 };
        Rate::bps(bps as u64)
    }
}

/// A job in the making.
#[derive(Debug)]
struct Job {
    start: Time,
    end: Time,
    open: usize,
}

/// Figures of each workload of a combination. `started` is by flow number, `end` when the simulation
/// ended, `ideal` what a flow takes in an empty network.
pub fn measure(
    workloads: usize,
    started: &[Started],
    done: &[Done],
    end: Time,
    mut ideal: impl FnMut(&Started) -> Span,
) -> Vec<Measured> {
    let mut jobs: Vec<BTreeMap<u32, Job>> = (0..workloads).map(|_| BTreeMap::new()).collect();
    let mut all: Vec<_> = (0..workloads).map(|_| Open::default()).collect();
    for flow in started {
        let tag = flow.tag();
        let workload = usize::from(tag.workload);
        all[workload].start(flow.at);
        let fresh = Job { start: flow.at, end: flow.at, open: 0 };
        let job = jobs[workload].entry(tag.job).or_insert(fresh);
        job.open += 1;
        job.start = job.start.min(flow.at);
    }
    for done in done {
        let flow = &started[done.flow.index()];
        let tag = flow.tag();
        let workload = usize::from(tag.workload);
        all[workload].end(done, ideal(flow));
        if let Some(job) = jobs[workload].get_mut(&tag.job) {
            job.open -= 1;
            job.end = job.end.max(done.finished);
        }
    }
    all.into_iter().zip(jobs).map(|(open, jobs)| open.close(&jobs, end)).collect()
}

#[derive(Debug, Default)]
struct Open {
    flows: usize,
    first: Option<Time>,
    last: Option<Time>,
    short: usize,
    times: Vec<f64>,
    slowdowns: Vec<f64>,
    shares: Vec<f64>,
    messages: u64,
    delivered: u64,
    bytes: u64,
}

impl Open {
    fn start(&mut self, at: Time) {
        self.flows += 1;
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
    }

    fn end(&mut self, done: &Done, ideal: Span) {
        let seconds = done.finished.since(done.started).as_secs_f64();
        self.last = Some(self.last.map_or(done.finished, |last| last.max(done.finished)));
        self.short += usize::from(done.short);
        self.times.push(seconds);
        if !ideal.is_zero() {
            self.slowdowns.push(seconds / ideal.as_secs_f64());
        }
        if seconds > 0.0 {
            self.shares.push(done.bytes as f64 / seconds);
        }
        self.messages += u64::from(done.messages);
        self.delivered += u64::from(done.delivered);
        self.bytes += done.bytes;
    }

    fn close(self, jobs: &BTreeMap<u32, Job>, end: Time) -> Measured {
        let finished = jobs.values().filter(|job| job.open == 0);
        let times = finished.map(|job| job.end.since(job.start).as_secs_f64());
        let job_times: Vec<_> = times.collect();
        let unfinished_flows = self.flows - self.times.len();
        let last = if unfinished_flows > 0 { Some(end) } else { self.last };
        let took = last.zip(self.first).map_or(Span::ZERO, |(last, first)| last.since(first));
        Measured {
            flows: self.flows,
            unfinished_flows,
            short_flows: self.short,
            jobs: jobs.len(),
            unfinished_jobs: jobs.len() - job_times.len(),
            flow_s: Summary::of(&self.times),
            job_s: Summary::of(&job_times),
            slowdown: Summary::of(&self.slowdowns),
            messages: self.messages,
            delivered: self.delivered,
            bytes: self.bytes,
            took,
            jain: jain(&self.shares),
            flow_times: self.times,
            job_times,
            slowdowns: self.slowdowns,
        }
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;

    use super::*;
    use crate::{
        flow::{Flow, FlowId, HostId, Messages, Ready},
        workload::Tag,
    };

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn started(at: u64, workload: u8, job: u32) -> Started {
        let tag = Tag { workload, job, part: 0 }.pack();
        let messages = Messages::Equal { count: 10, bytes: 100 };
        let (from, to, min_delivery) = (HostId(0), HostId(1), Fraction::ONE);
        Started {
            at: us(at),
            flow: Flow { from, to, stack: 0, tag, messages, ready: Ready::AtOnce, min_delivery },
        }
    }

    fn done(flow: u32, all: &[Started], finished: u64, delivered: u32) -> Done {
        let of = &all[flow as usize];
        Done {
            flow: FlowId(flow),
            tag: of.flow.tag,
            started: of.at,
            finished: us(finished),
            delivered,
            messages: 10,
            bytes: u64::from(delivered) * 100,
            short: delivered < 9,
            missing: Vec::new(),
        }
    }

    #[test]
    fn figures_by_hand() {
        let all = [
            started(0, 0, 0),
            started(5, 0, 0),
            started(10, 0, 1),
            started(0, 1, 0),
            started(10, 0, 2),
        ];
        let ends = [done(1, &all, 15, 10), done(0, &all, 20, 9), done(2, &all, 50, 5)];
        let found = measure(2, &all, &ends, us(100), |_| Span::from_us(5));
        let first = &found[0];
        assert_eq!((first.flows, first.unfinished_flows, first.short_flows), (4, 1, 1));
        assert_eq!((first.jobs, first.unfinished_jobs), (3, 1));
        let job = first.job_s.unwrap();
        assert!((job.mean - 30e-6).abs() < 1e-12 && (job.max - 40e-6).abs() < 1e-12, "{job:?}");
        let slow = first.slowdown.unwrap();
        assert_eq!((slow.n, slow.p50, slow.max), (3, 4.0, 8.0));
        assert!((first.message_loss().unwrap() - 0.2).abs() < 1e-12);
        // 2400 bytes from 0 to the end of the simulation, because something is open.
        assert_eq!((first.bytes, first.goodput()), (2400, Rate::from_mbps(192)));
        // Nothing of the other ended, and it says so.
        let other = &found[1];
        assert_eq!((other.flows, other.unfinished_flows, other.unfinished_jobs), (1, 1, 1));
        assert_eq!((other.flow_s, other.message_loss(), other.goodput()), (None, None, Rate::ZERO));
    }
}
