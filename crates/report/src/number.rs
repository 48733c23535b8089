//! Numbers as people read them: significant digits, thousands separators, SI suffixes.

/// What stands in for a number that does not exist (null, NaN, infinite).
pub const MISSING: &str = "–";

/// `x` with exactly `decimals` decimals and a comma between thousands.
///
/// ```
/// assert_eq!(laxity_report::number::fixed(-1234567.891, 2), "-1,234,567.89");
/// ```
#[must_use]
pub fn fixed(x: f64, decimals: usize) -> String {
    if !x.is_finite() {
        return MISSING.into();
    }
    let text = format!("{x:.decimals$}");
    // -0.001 rounds to "-0.00": a sign without a value reads as a mistake.
    let is_zero = text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (if is_zero { "" } else { "-" }, rest),
        None => ("", text.as_str()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{dot}{fraction}", separate(whole))
}

/// An integer with a comma between thousands.
#[must_use]
pub fn integer(x: i128) -> String {
    let sign = if x < 0 { "-" } else { "" };
    format!("{sign}{}", separate(&x.unsigned_abs().to_string()))
}

/// `x` with `digits` significant digits, trailing zeros removed; the integer part is never rounded
/// away (123456.7 is "123,457"), and very large or small values are written like `1.5e-7`.
#[must_use]
pub fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if !x.is_finite() {
        return MISSING.into();
    }
    let (mantissa, exponent) = scientific(x, digits);
    if !(-5..15).contains(&exponent) {
        return format!("{}e{exponent}", trim_zeros(&mantissa));
    }
    trim_zeros(&fixed(x, decimals_for(exponent, digits))).into()
}

/// A short form for labels: three significant digits, and an SI suffix from 10,000 upwards.
///
/// ```
/// use laxity_report::number::short;
/// assert_eq!([short(0.12345), short(9_876.0), short(12_340.0)], ["0.123", "9,876", "12.3k"]);
/// ```
#[must_use]
pub fn short(x: f64) -> String {
    if x.abs() < 9_999.5 { significant(x, 3) } else { si(x, 3) }
}

/// `x` scaled by the SI suffix that fits (k, M, G, T, P); smaller than 1000 it stays as it is.
#[must_use]
pub fn si(x: f64, digits: usize) -> String {
    const SUFFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    if !x.is_finite() || x == 0.0 {
        return significant(x, digits);
    }
    let exponent = scientific(x, digits).1;
    let step = usize::try_from(exponent.div_euclid(3)).unwrap_or(0);
    match SUFFIXES.get(step) {
        Some(suffix) => {
            let scale = pow10(3 * i32::try_from(step).unwrap_or(0));
            format!("{}{suffix}", significant(x / scale, digits))
        }
        None => significant(x, digits),
    }
}

/// 10 to the power `exponent`, correctly rounded.
///
/// `powi` may differ in the last bit between platforms; parsing may not, and ticks must not move.
pub(crate) fn pow10(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)
}

/// Decimal exponent of a finite non-zero `x`: 0 for 1 to 9.99, -1 for 0.1.
pub(crate) fn exponent(x: f64) -> i32 {
    let text = format!("{x:e}");
    text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0)
}

/// Mantissa text and exponent after rounding to `digits` significant digits (9.9996 is 1.000 e1).
pub(crate) fn scientific(x: f64, digits: usize) -> (String, i32) {
    let precision = digits.max(1) - 1;
    let text = format!("{x:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, e)) => (mantissa.into(), e.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

/// Decimals that show `digits` significant digits of a number with this decimal exponent.
pub(crate) fn decimals_for(exponent: i32, digits: usize) -> usize {
    let digits = i32::try_from(digits).unwrap_or(i32::MAX);
    usize::try_from(digits.saturating_sub(1).saturating_sub(exponent)).unwrap_or(0)
}

/// Removes zeros after the decimal point, and the point if nothing remains behind it.
pub(crate) fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn separate(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits() {
        for (x, shown) in [
            (0.0, "0"),
            (1.25, "1.25"),
            (1.0, "1"),
            (12.3456, "12.35"),
            (9.99996, "10"),
            (999.96, "1,000"),
            (1234.5, "1,234"),
            (123_456.7, "123,457"),
            (0.001_234_56, "0.001235"),
            (0.000_001_234_56, "1.235e-6"),
            (1e20, "1e20"),
            (-0.5, "-0.5"),
        ] {
            assert_eq!(significant(x, 4), shown, "{x}");
        }
    }

    #[test]
    fn nothing_prints_nan() {
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(
                [significant(x, 3), fixed(x, 2), si(x, 3), short(x)],
                [MISSING; 4].map(String::from)
            );
        }
        assert_eq!(fixed(-0.001, 2), "0.00");
    }

    #[test]
    fn suffixes() {
        for (x, shown) in [
            (999.0, "999"),
            (999.9, "1k"),
            (1_500.0, "1.5k"),
            (-2e6, "-2M"),
            (2.5e9, "2.5G"),
            (1e15, "1P"),
            (1e18, "1e18"),
            (0.5, "0.5"),
        ] {
            assert_eq!(si(x, 3), shown, "{x}");
        }
    }

    #[test]
    fn integers() {
        assert_eq!(integer(-1_234_567), "-1,234,567");
        assert_eq!(integer(999), "999");
        assert_eq!(integer(i128::from(u64::MAX)), "18,446,744,073,709,551,615");
    }
}
