//! What became of one transfer: the sum over its jobs, as rows of a report.

use std::time::{Duration, Instant};

use laxity_endpoint::{DeliveryReport, Ended, GroupDelivery, Missing};
use laxity_report::{Report, Row};

/// Columns of the table; JSON has some more.
pub(crate) const COLUMNS: [&str; 11] = [
    "label",
    "group",
    "total",
    "required",
    "received",
    "fraction",
    "missing_bytes",
    "elapsed_ms",
    "goodput_gbps",
    "loss_rate",
    "ended",
];

/// The outcome of a transfer, over all its jobs.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    label: String,
    peer: String,
    groups: Vec<GroupDelivery>,
    /// Half-open byte ranges, ascending.
    missing: Vec<(u64, u64)>,
    /// Messages that are missing, for jobs of messages.
    missing_messages: u64,
    bytes: u64,
    jobs: u64,
    began: Option<Instant>,
    elapsed: Duration,
    /// Packets lost, estimated from each job's rate.
    lost: f64,
    repeated: u64,
    ended: Option<Ended>,
}

impl Delivery {
    /// Nothing yet of this transfer.
    pub(crate) fn new(label: String, peer: String) -> Self {
        Self { label, peer, ..Self::default() }
    }

    /// Adds a job of `bytes` bytes, made of elements of this size, whose first byte belongs at
    /// `offset`.
    pub(crate) fn add(&mut self, offset: u64, bytes: u64, element: u64, report: &DeliveryReport) {
        let now = Instant::now();
        let took = report.elapsed.to_std();
        // The first job's own time counts; from then on the clock, gaps between jobs included.
        let began = *self.began.get_or_insert_with(|| now.checked_sub(took).unwrap_or(now));
        self.elapsed = if self.jobs == 0 { took } else { now - began };
        self.jobs += 1;
        self.bytes += bytes;
        for group in &report.groups {
            match self.groups.iter_mut().find(|have| have.id == group.id) {
                Some(have) => {
                    have.total += group.total;
                    have.required += group.required;
                    have.received += group.received;
                }
                None => self.groups.push(*group),
            }
            self.lost += report.loss_rate * group.total as f64;
        }
        self.groups.sort_by_key(|group| group.id);
        match &report.missing {
            Missing::Elements(ranges) => {
                let bytes =
                    ranges.iter().map(|(a, b)| (offset + a * element, offset + b * element));
                self.missing.extend(bytes);
            }
            Missing::Messages(groups) => {
                let ranges = groups.iter().flat_map(|(_, ranges)| ranges);
                self.missing_messages += ranges.map(|(from, to)| to - from).sum::<u64>();
            }
        }
        self.repeated += report.repeated;
        self.ended = self.ended.max_by_rank(report.ended);
    }

    /// How many bytes of the transfer have been dealt with.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How far it got, for an error.
    pub(crate) fn so_far(&self) -> Option<String> {
        let (jobs, bytes) = (self.jobs, self.bytes);
        (jobs > 0).then(|| format!("{bytes} bytes in {jobs} parts had been dealt with"))
    }

    fn missing_bytes(&self) -> u64 {
        self.missing.iter().map(|(from, to)| to - from).sum()
    }

    /// Adds one row per group.
    pub(crate) fn rows(&self, report: &mut Report) {
        let seconds = self.elapsed.as_secs_f64();
        let arrived = self.bytes.saturating_sub(self.missing_bytes()) as f64 * 8.0;
        let pieces: u64 = self.groups.iter().map(|group| group.total).sum();
        let incomplete = self.groups.iter().filter(|group| group.received < group.total).count();
        for group in &self.groups {
            let whole = group.received == group.total;
            // With several incomplete groups the ranges do not say whose they are.
            let own = |all: u64| match (whole, incomplete) {
                (true, _) => Some(0),
                (false, 1) if self.missing_messages == 0 => Some(all),
                _ => None,
            };
            report.push(
                Row::new()
                    .with("label", self.label.as_str())
                    .with("peer", self.peer.as_str())
                    .with("group", group.id.0)
                    .with("total", group.total)
                    .with("required", group.required)
                    .with("received", group.received)
                    .with("fraction", group.fraction().get())
                    .with("bytes", self.bytes)
                    .with("missing_ranges", own(self.missing.len() as u64))
                    .with("missing_bytes", own(self.missing_bytes()))
                    .with("elapsed_ms", seconds * 1e3)
                    .with("goodput_gbps", Some(arrived / seconds / 1e9).filter(|g| g.is_finite()))
                    .with("loss_rate", self.lost / pieces.max(1) as f64)
                    .with("repeated", self.repeated)
                    .with("jobs", self.jobs)
                    .with("ended", self.ended.map(Ended::name)),
            );
        }
    }

    /// Adds one row per missing range.
    pub(crate) fn missing_rows(&self, report: &mut Report) {
        for (from, to) in &self.missing {
            report.push(
                Row::new()
                    .with("label", self.label.as_str())
                    .with("start_byte", *from)
                    .with("end_byte", *to),
            );
        }
    }
}

/// Of several ends the one that spent the most slack stands for all.
trait MaxByRank {
    fn max_by_rank(self, other: Ended) -> Self;
}

impl MaxByRank for Option<Ended> {
    fn max_by_rank(self, other: Ended) -> Self {
        let rank = |ended| match ended {
            Ended::Complete => 0,
            Ended::FirstPass => 1,
            Ended::Enough => 2,
            Ended::Deadline => 3,
        };
        match self {
            Some(mine) if rank(mine) >= rank(other) => Some(mine),
            _ => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use laxity_endpoint::GroupId;
    use laxity_interface::Span;
    use laxity_report::Meta;

    use super::*;

    fn job(received: u64, missing: Vec<(u64, u64)>, ended: Ended) -> DeliveryReport {
        let group =
            |id, received| GroupDelivery { id: GroupId(id), total: 10, required: 8, received };
        DeliveryReport {
            groups: vec![group(1, 10), group(0, received)],
            missing: Missing::Elements(missing),
            elapsed: Span::from_ms(1),
            bytes: 800,
            loss_rate: 0.1,
            repeated: 2,
            ended,
        }
    }

    #[test]
    fn jobs_of_a_transfer_add_up() {
        let mut delivery = Delivery::new("x".into(), "a:1".into());
        delivery.add(0, 800, 4, &job(9, vec![(10, 20)], Ended::FirstPass));
        delivery.add(800, 800, 4, &job(10, vec![], Ended::Complete));
        let mut report = Report::new(Meta::new("", ""));
        delivery.rows(&mut report);
        let json = report.to_json();
        let row = &json["rows"][0];
        assert_eq!(
            (&row["group"], &row["total"], &row["received"]),
            (&0.into(), &20.into(), &19.into())
        );
        assert_eq!((&row["missing_ranges"], &row["missing_bytes"]), (&1.into(), &40.into()));
        assert_eq!((&row["repeated"], &row["jobs"]), (&4.into(), &2.into()));
        assert_eq!(row["ended"], "first-pass");
        assert_eq!(json["rows"][1]["missing_bytes"], 0);
        assert!((row["loss_rate"].as_f64().unwrap() - 0.1).abs() < 1e-9);
        let mut missing = Report::new(Meta::new("", ""));
        delivery.missing_rows(&mut missing);
        assert_eq!(missing.to_json()["rows"][0]["end_byte"], 80);
    }

    #[test]
    fn whose_ranges_are_missing_is_not_guessed() {
        let mut delivery = Delivery::new("x".into(), "a:1".into());
        let mut both = job(9, vec![(0, 1), (5, 6)], Ended::Enough);
        both.groups[0].received = 9;
        delivery.add(0, 20, 1, &both);
        let mut report = Report::new(Meta::new("", ""));
        delivery.rows(&mut report);
        assert!(report.to_json()["rows"][0]["missing_bytes"].is_null());
    }
}
