//! Field names: snake_case in machine output, readable headings for people.

/// A field name that is not snake_case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("field name {name:?} is not snake_case: lower-case words and digits joined by single '_'")]
pub struct FieldNameError {
    /// The rejected name.
    pub name: String,
}

/// Whether `name` is lower-case ASCII words and digits joined by single underscores, first a letter.
#[must_use]
pub fn is_snake_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split('_').all(|word| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

/// How a unit word at the end of a field name is written for people.
fn unit(word: &str) -> Option<&'static str> {
    Some(match word {
        "ps" => "ps",
        "ns" => "ns",
        "us" => "µs",
        "ms" => "ms",
        "s" => "s",
        "min" => "min",
        "b" => "B",
        "kb" => "kB",
        "mb" => "MB",
        "gb" => "GB",
        "tb" => "TB",
        "kib" => "KiB",
        "mib" => "MiB",
        "gib" => "GiB",
        "bps" => "b/s",
        "kbps" => "kb/s",
        "mbps" => "Mb/s",
        "gbps" => "Gb/s",
        "tbps" => "Tb/s",
        "hz" => "Hz",
        "mhz" => "MHz",
        "ghz" => "GHz",
        "pct" | "percent" => "%",
        _ => return None,
    })
}

/// Turns a field name into a column heading: `mean_ms` becomes "mean ms", `cpu_s_per_gb` "cpu s/GB".
///
/// A word is read as a unit only at the end of the name or on either side of `per`, so a field like
/// `s_count` keeps its letter.
#[must_use]
pub fn heading(field: &str) -> String {
    let words: Vec<&str> = field.split('_').collect();
    let last = words.len() - 1;
    let mut out = String::with_capacity(field.len() + 2);
    let mut join = "";
    for (i, word) in words.iter().enumerate() {
        if *word == "per" && i > 0 && i < last {
            join = "/";
            continue;
        }
        out.push_str(join);
        let unit_place = i == last || words[i + 1] == "per" || join == "/";
        out.push_str(unit(word).filter(|_| unit_place).unwrap_or(word));
        join = " ";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_is_recognised() {
        for good in ["a", "mean_ms", "p99_us", "cpu_s_per_gb", "x1"] {
            assert!(is_snake_case(good), "{good}");
        }
        for bad in ["", "_a", "a_", "a__b", "Mean", "mean-ms", "mean ms", "9p", "é"] {
            assert!(!is_snake_case(bad), "{bad}");
        }
    }

    #[test]
    fn headings_show_units() {
        for (field, shown) in [
            ("mean_ms", "mean ms"),
            ("p99_us", "p99 µs"),
            ("goodput_gbps", "goodput Gb/s"),
            ("cpu_s_per_gb", "cpu s/GB"),
            ("packet_hops_per_s", "packet hops/s"),
            ("ns_per_event", "ns/event"),
            ("peak_rss_mib", "peak rss MiB"),
            ("loss_pct", "loss %"),
            ("min_delivery", "min delivery"),
            ("s_count", "s count"),
            ("scheme", "scheme"),
            ("", ""),
        ] {
            assert_eq!(heading(field), shown);
        }
    }
}
