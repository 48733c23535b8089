//! Just enough XML reading to check what the charts write.
#![allow(dead_code, reason = "each test file uses a part")]

/// Panics unless tags nest, nothing is unescaped, and no number is broken.
pub(crate) fn check(name: &str, xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in xml.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("{name}: {piece:?}"));
        assert!(!text.contains('>'), "{name}: stray '>' in {text:?}");
        for part in text.split('&').skip(1).chain(tag.split('&').skip(1)) {
            let entity = part.split(';').next().unwrap_or("");
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity), "{name}: &{entity}");
        }
        let word = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or("");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(word), "{name}: closing {word}");
        } else if !tag.ends_with('/') {
            open.push(word);
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{name}: quotes in {tag:?}");
    }
    assert!(open.is_empty(), "{name}: {open:?} left open");
    for broken in ["NaN", "inf", "Infinity"] {
        assert!(!xml.contains(broken), "{name} contains {broken}");
    }
}

type Box4 = (f64, f64, f64, f64);

/// Left, top, right, bottom and content of every upright text, with widths of a typical font.
pub(crate) fn text_boxes(svg: &str) -> Vec<(Box4, String)> {
    let texts = svg.lines().filter(|line| line.starts_with("<text") && !line.contains("rotate("));
    texts.filter_map(text_box).collect()
}

fn text_box(line: &str) -> Option<(Box4, String)> {
    let content = line.split_once('>')?.1.split_once('<')?.0;
    let number = |name: &str| attribute(line, name)?.parse::<f64>().ok();
    let (x, y, size) = (number("x")?, number("y")?, number("font-size")?);
    let width = content.chars().count() as f64 * size * 0.54;
    let left = match attribute(line, "text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    Some(((left, y - size * 0.75, left + width, y + size * 0.15), content.to_owned()))
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
}
