//! How wide text will be, without a font at hand.
//!
//! Labels must not overlap whatever font the reader has, so widths are estimated slightly above those
//! of the widest common sans-serif faces.

use std::borrow::Cow;

/// Estimated width of `text` at a font size, in pixels.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// Estimated width of semi-bold `text`.
pub(crate) fn bold_width(text: &str, size: f64) -> f64 {
    width(text, size) * BOLD
}

/// How much wider semi-bold letters are, about.
pub(crate) const BOLD: f64 = 1.08;

fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.31,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | ' ' => 0.39,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '—' => 0.93,
        'A'..='Z' => 0.70,
        '0'..='9' => 0.63,
        '⁰' | '¹' | '²' | '³' | '⁴'..='⁹' | '⁻' => 0.42,
        // East Asian scripts are set full width.
        '\u{2e80}'.. => 1.0,
        _ => 0.60,
    }
}

/// A negative number with a proper minus sign; any other text unchanged.
pub(crate) fn with_minus(text: &str) -> Cow<'_, str> {
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("−{rest}").into(),
        _ => text.into(),
    }
}

/// Breaks `text` at spaces into lines of at most `max_width`; a single longer word stays whole.
pub(crate) fn wrap(text: &str, size: f64, max_width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= max_width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_get_a_minus() {
        assert_eq!(with_minus("-1.5"), "−1.5");
        assert_eq!(with_minus("-x"), "-x");
        assert_eq!(with_minus("p-1"), "p-1");
    }

    #[test]
    fn wrapping_keeps_every_word() {
        let text = "completion time of the last flow of each job";
        let lines = wrap(text, 12.0, 120.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, 12.0) <= 120.0));
        assert_eq!(lines.join(" "), text);
        assert_eq!(wrap("", 12.0, 100.0), Vec::<String>::new());
        assert_eq!(wrap("unbreakable", 12.0, 5.0), ["unbreakable"]);
    }
}
