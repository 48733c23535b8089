//! Where ticks go and what they say.

use super::scale::{Kind, Tick};
use crate::number;

/// Labels switch to SI suffixes when the largest tick reaches this.
const SUFFIX_FROM: f64 = 10_000.0;

/// A tick distance of 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    mantissa: i32,
    exponent: i32,
}

impl Step {
    /// The smallest such distance that divides `span` into at most `intervals` parts.
    pub(crate) fn covering(span: f64, intervals: usize) -> Self {
        let raw = span / intervals.max(1) as f64;
        if !(raw.is_finite() && raw > 0.0) {
            return Self { mantissa: 1, exponent: 0 };
        }
        let exponent = number::exponent(raw);
        // The margin keeps a span of exactly 5 × 0.2 from being pushed to the next step by rounding.
        let leading = raw / number::pow10(exponent) - 1e-9;
        let (mantissa, exponent) = match leading {
            x if x <= 1.0 => (1, exponent),
            x if x <= 2.0 => (2, exponent),
            x if x <= 5.0 => (5, exponent),
            _ => (1, exponent + 1),
        };
        Self { mantissa, exponent }
    }

    /// The `k`-th multiple. Divides where the exponent is negative, so 3 × 0.1 is 0.3 and not 0.30000000000000004.
    pub(crate) fn at(self, k: f64) -> f64 {
        let units = k * f64::from(self.mantissa);
        match self.exponent {
            e if e >= 0 => units * number::pow10(e),
            e => units / number::pow10(-e),
        }
    }

    /// Index of the first multiple at or above `value`.
    pub(crate) fn first_from(self, value: f64) -> f64 {
        (value / self.at(1.0) - 1e-9).ceil()
    }

    /// Index of the last multiple at or below `value`.
    pub(crate) fn last_up_to(self, value: f64) -> f64 {
        (value / self.at(1.0) + 1e-9).floor()
    }

    fn decimals(self) -> usize {
        usize::try_from(-self.exponent).unwrap_or(0)
    }
}

/// Ticks on a linear axis: multiples of a 1-2-5 step inside `domain`, at most `intervals` + 1.
pub(crate) fn linear(domain: (f64, f64), intervals: usize) -> Vec<Tick> {
    let step = Step::covering(domain.1 - domain.0, intervals);
    let first = step.first_from(domain.0);
    let count = (step.last_up_to(domain.1) - first).clamp(-1.0, intervals as f64) as i64 + 1;
    let values: Vec<f64> =
        (0..count).map(|i| step.at(first + i as f64)).map(unsigned_zero).collect();
    let labels = labels(&values, Some(step.decimals()));
    pair(values, labels)
}

/// Ticks on a logarithmic axis: 1-2-5 per decade, or whole decades, or every n-th, whichever is the
/// finest that gives at most `most`; a domain too narrow for that gets linear steps.
pub(crate) fn log(domain: (f64, f64), most: usize) -> Vec<Tick> {
    let fine = decade_multiples(domain, &[1.0, 2.0, 5.0]);
    if fine.len() < 3 {
        return linear(domain, most).into_iter().filter(|t| t.value > 0.0).collect();
    }
    let decades = decade_multiples(domain, &[1.0]);
    let values = if fine.len() <= most || decades.len() < 2 {
        fine
    } else {
        let every = decades.len().div_ceil(most.max(1)).max(1);
        decades.into_iter().step_by(every).collect()
    };
    let labels = labels(&values, None);
    pair(values, labels)
}

/// Unlabelled lines between log ticks: 2 to 9 in each decade, none where they would be a grey wall.
pub(crate) fn log_minor(domain: (f64, f64)) -> Vec<f64> {
    let lines = decade_multiples(domain, &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    if lines.len() <= 40 { lines } else { Vec::new() }
}

/// Ticks exactly at `values`, labelled like the others.
pub(crate) fn exact(values: &[f64]) -> Vec<Tick> {
    let labels = labels(values, None);
    pair(values.to_vec(), labels)
}

/// `domain` moved outwards to full steps: multiples on a linear axis, 1-2-5 on a log axis.
pub(crate) fn extend(kind: Kind, domain: (f64, f64), intervals: usize) -> (f64, f64) {
    match kind {
        Kind::Linear => {
            let step = Step::covering(domain.1 - domain.0, intervals);
            let lo = step.at(step.last_up_to(domain.0));
            let hi = step.at(step.first_from(domain.1));
            (unsigned_zero(lo), unsigned_zero(hi))
        }
        Kind::Log => {
            let near = (domain.0 / 10.0, domain.1 * 10.0);
            let stops = decade_multiples(near, &[1.0, 2.0, 5.0]);
            let lo = stops.iter().copied().rfind(|s| *s <= domain.0 * (1.0 + 1e-9));
            let hi = stops.iter().copied().find(|s| *s >= domain.1 * (1.0 - 1e-9));
            (lo.unwrap_or(domain.0), hi.unwrap_or(domain.1))
        }
    }
}

fn decade_multiples(domain: (f64, f64), mantissas: &[f64]) -> Vec<f64> {
    let (lo, hi) = (domain.0 * (1.0 - 1e-9), domain.1 * (1.0 + 1e-9));
    (number::exponent(domain.0)..=number::exponent(domain.1))
        .flat_map(|e| mantissas.iter().map(move |m| times_pow10(*m, e)))
        .filter(|v| (lo..=hi).contains(v))
        .collect()
}

fn times_pow10(mantissa: f64, exponent: i32) -> f64 {
    if exponent >= 0 {
        mantissa * number::pow10(exponent)
    } else {
        mantissa / number::pow10(-exponent)
    }
}

fn unsigned_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

fn pair(values: Vec<f64>, labels: Vec<String>) -> Vec<Tick> {
    values.into_iter().zip(labels).map(|(value, label)| Tick { value, label }).collect()
}

/// Labels of one axis: all in one manner, never two alike for different values.
fn labels(values: &[f64], decimals: Option<usize>) -> Vec<String> {
    let largest = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let short: Vec<String> = values
        .iter()
        .map(|v| match decimals {
            _ if *v == 0.0 => "0".into(),
            _ if tiny(*v) || v.abs() >= 1e18 => power(*v),
            _ if largest >= SUFFIX_FROM => number::si(*v, 4),
            Some(decimals) if decimals <= 4 => number::fixed(*v, decimals),
            _ => number::significant(*v, 4),
        })
        .collect();
    let distinct = short.windows(2).all(|pair| pair[0] != pair[1]);
    match decimals {
        // A narrow range far from zero (1,000,000 to 1,000,004): only the full number tells ticks apart.
        Some(decimals) if !distinct => values.iter().map(|v| number::fixed(*v, decimals)).collect(),
        _ => short,
    }
}

fn tiny(value: f64) -> bool {
    value != 0.0 && value.abs() < 1e-4
}

/// 0.00002 as "2×10⁻⁵".
fn power(value: f64) -> String {
    let (mantissa, exponent) = number::scientific(value, 4);
    let raised: String = exponent.to_string().chars().map(superscript).collect();
    match number::trim_zeros(&mantissa) {
        "1" => format!("10{raised}"),
        mantissa => format!("{mantissa}×10{raised}"),
    }
}

fn superscript(c: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn steps_are_one_two_five() {
        for (span, intervals, step) in [
            (1.0, 5, 0.2),
            (10.0, 5, 2.0),
            (10.0, 4, 5.0),
            (11.0, 5, 5.0),
            (7.0, 7, 1.0),
            (0.3, 5, 0.1),
            (2.6e6, 5, 1e6),
        ] {
            assert_eq!(Step::covering(span, intervals).at(1.0), step, "{span} in {intervals}");
        }
    }

    #[test]
    fn linear_ticks_are_exact_decimals() {
        let ticks = linear((0.0, 1.0), 5);
        let values: Vec<f64> = ticks.iter().map(|t| t.value).collect();
        assert_eq!(values, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(shown(ticks), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(shown(linear((-3.0, 3.0), 4)), ["-2", "0", "2"]);
    }

    #[test]
    fn large_ticks_have_suffixes_and_small_ones_powers() {
        assert_eq!(shown(linear((0.0, 2e6), 4)), ["0", "500k", "1M", "1.5M", "2M"]);
        assert_eq!(shown(linear((0.0, 4000.0), 4)), ["0", "1,000", "2,000", "3,000", "4,000"]);
        assert_eq!(shown(linear((0.0, 4e-6), 2)), ["0", "2×10⁻⁶", "4×10⁻⁶"]);
        let near = shown(linear((1_000_000.0, 1_000_004.0), 4));
        assert_eq!((near[0].as_str(), near[4].as_str()), ("1,000,000", "1,000,004"));
    }

    #[test]
    fn log_ticks_thin_out_with_the_range() {
        assert_eq!(shown(log((1.0, 100.0), 8)), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(
            shown(log((0.01, 1e5), 8)),
            ["0.01", "0.1", "1", "10", "100", "1k", "10k", "100k"]
        );
        assert_eq!(shown(log((1e-6, 1e2), 5)), ["10⁻⁶", "0.0001", "0.01", "1", "100"]);
        assert_eq!(shown(log((2.1, 4.3), 5)), ["2.5", "3.0", "3.5", "4.0"]);
    }

    #[test]
    fn domains_extend_to_full_steps() {
        assert_eq!(extend(Kind::Linear, (0.0, 9.3), 5), (0.0, 10.0));
        assert_eq!(extend(Kind::Linear, (-0.4, 0.9), 5), (-0.5, 1.0));
        assert_eq!(extend(Kind::Log, (3.0, 800.0), 5), (2.0, 1000.0));
        assert_eq!(extend(Kind::Log, (0.01, 10.0), 5), (0.01, 10.0));
    }

    #[test]
    fn nonsense_spans_do_not_panic() {
        for span in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let _ = linear((0.0, span), 5);
        }
    }
}
