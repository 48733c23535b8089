//! A distribution as points with straight lines between them.

/// Points (size, part that is at most so large), both growing; the last part is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    points: Vec<(f64, f64)>,
}

/// Why a table was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A line is not two numbers.
    #[error("line {line} is `{text}`: write a size in bytes and a part from 0 to 1, with a comma")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// Sizes or parts do not grow.
    #[error("line {line}: sizes and parts must grow from line to line")]
    Order {
        /// Counted from 1.
        line: usize,
    },
    /// It does not end with everything.
    #[error("the last part must be 1: there are sizes that the table does not tell")]
    Open,
}

impl Table {
    /// Reads lines `bytes,part` below a heading.
    pub fn from_csv(text: &str) -> Result<Self, TableError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (at, text) in text.lines().enumerate().skip(1) {
            let line = at + 1;
            let wrong = || TableError::Line { line, text: text.to_owned() };
            let (size, part) = text.split_once(',').ok_or_else(wrong)?;
            let size: f64 = size.trim().parse().map_err(|_| wrong())?;
            let part: f64 = part.trim().parse().map_err(|_| wrong())?;
            if !(size >= 0.0 && size.is_finite() && (0.0..=1.0).contains(&part)) {
                return Err(wrong());
            }
            if points.last().is_some_and(|(s, p)| size <= *s || part <= *p) {
                return Err(TableError::Order { line });
            }
            points.push((size, part));
        }
        match points.last() {
            Some((_, 1.0)) => Ok(Self { points }),
            _ => Err(TableError::Open),
        }
    }

    /// The points.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The size that a part `u` of all (from 0 to 1) do not exceed.
    pub fn quantile(&self, u: f64) -> f64 {
        let above = self.points.partition_point(|(_, part)| *part < u);
        // What the first point says is all of that size.
        let Some(before) = above.checked_sub(1) else { return self.points[0].0 };
        let ((a, p), (b, q)) = (self.points[before], self.points[above.min(self.points.len() - 1)]);
        if q <= p { b } else { a + (b - a) * (u - p) / (q - p) }
    }

    /// The mean: the area under straight lines.
    pub fn mean(&self) -> f64 {
        let (first, part) = self.points[0];
        let between = self.points.windows(2).map(|pair| {
            let ((a, p), (b, q)) = (pair[0], pair[1]);
            (q - p) * (a + b) / 2.0
        });
        first * part + between.sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_lines_and_a_step_at_the_first_point() {
        let table = Table::from_csv("bytes,part\n10,0.5\n30,1\n").unwrap();
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|u| table.quantile(u)),
            [10.0, 10.0, 10.0, 20.0, 30.0]
        );
        assert_eq!(table.mean(), 0.5 * 10.0 + 0.5 * 20.0);
        let even = Table::from_csv("bytes,part\n0,0\n100,1\n").unwrap();
        assert_eq!((even.mean(), even.quantile(0.42)), (50.0, 42.0));
    }

    #[test]
    fn wrong_tables_are_refused() {
        let wrong = |text: &str| Table::from_csv(&format!("bytes,part\n{text}")).unwrap_err();
        assert!(matches!(wrong("a,1"), TableError::Line { line: 2, .. }));
        assert!(matches!(wrong("1,2"), TableError::Line { line: 2, .. }));
        assert_eq!(wrong("5,0.5\n4,1"), TableError::Order { line: 3 });
        assert_eq!(wrong("5,0.5\n6,0.9"), TableError::Open);
        assert_eq!(wrong(""), TableError::Open);
    }

    #[test]
    fn a_quantile_is_the_inverse_of_the_lines() {
        let table = Table::from_csv(include_str!("tables/fbhd.csv")).unwrap();
        for pair in table.points().windows(2) {
            let ((a, p), (b, q)) = (pair[0], pair[1]);
            let middle = table.quantile(f64::midpoint(p, q));
            assert!((middle - f64::midpoint(a, b)).abs() < 1e-6 * b, "{a} {middle} {b}");
        }
    }
}
