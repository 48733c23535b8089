//! Making any text safe inside XML and HTML.

/// Escapes `text` for use between tags or inside a quoted attribute of XML or HTML.
///
/// Control characters that XML 1.0 cannot carry at all, even escaped, become U+FFFD: a host name
/// with a stray byte must not make a whole chart unreadable.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c if c.is_control() => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_neutralised() {
        assert_eq!(
            escape("<a b=\"c\">'x' & y</a>"),
            "&lt;a b=&quot;c&quot;&gt;&#39;x&#39; &amp; y&lt;/a&gt;"
        );
    }

    #[test]
    fn characters_xml_cannot_carry_are_replaced() {
        assert_eq!(escape("a\0b\u{1b}c\u{FFFF}"), "a\u{FFFD}b\u{FFFD}c\u{FFFD}");
        assert_eq!(escape("µs → ok\n"), "µs → ok\n");
    }
}
