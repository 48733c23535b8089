//! What was measured, as rows and in words.

use laxity_report::{
    Report, Row,
    stats::{self, Summary},
};

use super::{
    args::{Case, Scheme},
    measure::Measured,
    plan::percent,
};

impl Measured {
    /// Completion times in milliseconds.
    pub(super) fn times(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.ms).collect()
    }

    /// The time that the bytes which have to arrive take on the link, without headers and round trips.
    pub(super) fn ideal_ms(&self) -> f64 {
        let all = self.bytes.get() as f64 * self.setting.transfers_on_a_link() as f64;
        let needed = all * self.contender.min_delivery.get();
        needed * 8.0 / self.setting.rate.as_bps() as f64 * 1e3
    }

    /// Who it is, told apart from the same scheme with another minimum.
    pub(super) fn label(&self) -> String {
        match self.contender.scheme {
            Scheme::Laxity => format!("laxity {} %", percent(self.contender.min_delivery)),
            other => other.name().to_owned(),
        }
    }

    /// Which comparison it belongs to, in words.
    pub(super) fn group(&self) -> String {
        let (bytes, buffer) = (self.bytes, self.setting.buffer);
        match self.setting.case {
            Case::Loss => format!("{bytes} under {} % loss", percent(self.setting.loss)),
            Case::Incast => format!("8-to-1 incast of {bytes} each into {buffer}"),
            Case::Shuffle => format!("shuffle of {bytes} between 8 hosts"),
            Case::Fairness => "fairness".to_owned(),
        }
    }

    pub(super) fn row(&self) -> Row {
        let summary = Summary::of(&self.times());
        let of = |of: fn(&Summary) -> f64| summary.as_ref().map(of);
        let mean = |values: Vec<f64>| stats::mean(&values);
        let over_ideal = of(|s| s.mean).map(|mean| mean / self.ideal_ms());
        let samples = || self.samples.iter();
        let delivered: Vec<_> = samples().map(|sample| sample.delivered).collect();
        Row::new()
            .with("case", self.setting.case.name())
            .with("scheme", self.contender.scheme.name())
            .with("loss", self.setting.loss.get())
            .with("bytes", self.bytes.get())
            .with("buffer_bytes", self.setting.buffer.get())
            .with("background", self.setting.background.get())
            .with("min_delivery", self.contender.min_delivery.get())
            .with("mean_ms", of(|s| s.mean))
            .with("p50_ms", of(|s| s.p50))
            .with("p95_ms", of(|s| s.p95))
            .with("p99_ms", of(|s| s.p99))
            .with("max_ms", of(|s| s.max))
            .with("over_ideal", over_ideal)
            .with("delivered_min", stats::min(&delivered))
            .with("repeated_mean", mean(samples().map(|s| s.repeated as f64).collect()))
            .with("cpu_s_per_gb", mean(samples().map(|s| s.cpu_s_per_gb).collect()))
            .with("socket_drops", samples().map(|s| s.socket_drops).sum::<u64>())
            .with("host_wait_p99_ms", mean(samples().map(|s| s.around.host_wait_ms).collect()))
            .with("other_load", mean(samples().map(|s| s.around.other_load).collect()))
            .with("runs", self.samples.len())
            .with("invalid_runs", self.count.invalid)
            .with("failed_runs", self.count.failed)
    }
}

/// Columns of the tables; JSON has more.
pub(super) const TRANSFER_COLUMNS: &[&str] = &[
    "case",
    "scheme",
    "loss",
    "bytes",
    "buffer_bytes",
    "min_delivery",
    "mean_ms",
    "p50_ms",
    "p99_ms",
    "over_ideal",
    "delivered_min",
    "repeated_mean",
    "cpu_s_per_gb",
    "runs",
    "invalid_runs",
    "failed_runs",
];
pub(super) const FAIRNESS_COLUMNS: &[&str] = &[
    "case",
    "scheme",
    "beside",
    "queues",
    "min_delivery",
    "laxity_mbps",
    "tcp_mbps",
    "tcp_alone_mbps",
    "tcp_of_link",
    "tcp_of_alone",
    "jain",
    "runs",
    "invalid_runs",
    "failed_runs",
];

/// The rows of a report that are about transfers, or those about fairness.
pub(super) fn part(report: &Report, fairness: bool) -> Report {
    let is_fairness = |row: &&Row| {
        let case = row.get("case").and_then(|case| case.as_str());
        (case == Some(Case::Fairness.name())) == fairness
    };
    let rows = report.rows.iter().filter(is_fairness).cloned().collect();
    Report { meta: report.meta.clone(), rows, claims: Vec::new() }
}

/// How Laxity compares, in words: one line per comparison that it took part in.
pub(super) fn words(measured: &[Measured]) -> String {
    let mut text = String::new();
    for own in measured.iter().filter(|m| m.contender.scheme == Scheme::Laxity) {
        let Some(summary) = Summary::of(&own.times()) else { continue };
        let others = measured.iter().filter(|other| {
            other.contender.scheme != Scheme::Laxity && other.group() == own.group()
        });
        let ratios: Vec<_> = others
            .filter_map(|other| {
                let theirs = Summary::of(&other.times())?;
                let (mean, p99) = (theirs.mean / summary.mean, theirs.p99 / summary.p99);
                Some(format!("{} {mean:.2} ({p99:.2})", other.label()))
            })
            .collect();
        if !ratios.is_empty() {
            text += &format!("  {}, {}: {}\n", own.group(), own.label(), ratios.join(", "));
        }
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\nHow many times longer the others took than Laxity, in the mean (and at p99):\n{text}"
    )
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;

    use super::{
        super::{
            args::tests::parse,
            measure::Sample,
            plan::{Contender, plan},
            schedule::Count,
            stage::Around,
        },
        *,
    };

    fn measured(scheme: Scheme, min_delivery: f64, times: &[f64]) -> Measured {
        let (setting, loads) = &plan(&parse(&["incast"]).unwrap())[0];
        let sample = |ms: &f64| Sample {
            ms: *ms,
            delivered: min_delivery,
            repeated: 4,
            cpu_s_per_gb: 1.0,
            socket_drops: 0,
            around: Around::default(),
        };
        Measured {
            setting: setting.clone(),
            bytes: loads[0].bytes,
            contender: Contender { scheme, min_delivery: Fraction::new(min_delivery).unwrap() },
            samples: times.iter().map(sample).collect(),
            count: Count { valid: times.len(), invalid: 2, failed: 1 },
        }
    }

    #[test]
    fn a_row_has_the_fields_that_were_agreed_on() {
        let row = measured(Scheme::Laxity, 0.9, &[70.0, 74.0]).row();
        let number = |name: &str| row.get(name).and_then(|value| value.as_f64());
        assert_eq!(row.get("case").and_then(|v| v.as_str()), Some("incast"));
        assert_eq!(number("mean_ms"), Some(72.0));
        // Eight times 900 kB at 1 Gbit/s.
        assert_eq!(number("over_ideal"), Some(72.0 / 57.6));
        assert_eq!((number("runs"), number("invalid_runs")), (Some(2.0), Some(2.0)));
        for name in ["scheme", "loss", "bytes", "buffer_bytes", "background", "p50_ms", "p99_ms"] {
            assert!(row.get(name).is_some(), "{name}");
        }
    }

    #[test]
    fn rows_without_a_valid_run_say_nothing_instead_of_zero() {
        let row = measured(Scheme::Bbr, 1.0, &[]).row();
        assert_eq!(row.get("mean_ms"), Some(&laxity_report::Value::Null));
        assert_eq!(row.get("delivered_min"), Some(&laxity_report::Value::Null));
    }

    #[test]
    fn words_compare_like_with_like() {
        let all = [
            measured(Scheme::Cubic, 1.0, &[150.0, 160.0]),
            measured(Scheme::Laxity, 0.9, &[50.0, 53.0]),
            Measured {
                bytes: laxity_interface::Bytes::new(5),
                ..measured(Scheme::Bbr, 1.0, &[1.0])
            },
        ];
        let words = words(&all);
        assert!(words.contains("cubic 3.01 (3.02)"), "{words}");
        assert!(!words.contains("bbr"), "{words}");
    }
}
