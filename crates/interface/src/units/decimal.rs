//! Exact reading and writing of decimal numbers with a unit.
//!
//! Floating point never takes part: `"1.1ms"` is 1 100 000 000 ps, not the nearest binary number.

use std::fmt;

/// Why a text with a unit was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// There was no number at the start of the text.
    #[error("`{text}` is not a {what}: it does not start with a number; write it like `{example}`")]
    NotANumber {
        /// What was being read, such as "duration".
        what: &'static str,
        /// The text as given.
        text: String,
        /// A text that would have been accepted.
        example: &'static str,
    },
    /// There was a number and nothing behind it.
    #[error("`{text}` is not a {what}: the unit is missing; write it like `{example}`")]
    MissingUnit {
        /// What was being read, such as "duration".
        what: &'static str,
        /// The text as given.
        text: String,
        /// A text that would have been accepted.
        example: &'static str,
    },
    /// What follows the number is not one of the units.
    #[error(
        "`{text}` is not a {what}: unknown unit `{unit}`; use one of {known}, for example `{example}`"
    )]
    UnknownUnit {
        /// What was being read, such as "duration".
        what: &'static str,
        /// The text as given.
        text: String,
        /// The unit that was not understood.
        unit: String,
        /// The units that are understood, separated by commas.
        known: String,
        /// A text that would have been accepted.
        example: &'static str,
    },
    /// The number has digits below the smallest unit.
    #[error(
        "`{text}` is too fine for a {what}: it is not a whole number of {base}; round it, for example \
         `{example}`"
    )]
    TooFine {
        /// What was being read, such as "duration".
        what: &'static str,
        /// The text as given.
        text: String,
        /// The name of the smallest unit.
        base: &'static str,
        /// A text that would have been accepted.
        example: &'static str,
    },
    /// The number does not fit 64 bits.
    #[error("`{text}` is too large for a {what}: the largest is {max} {base}")]
    TooLarge {
        /// What was being read, such as "duration".
        what: &'static str,
        /// The text as given.
        text: String,
        /// The name of the smallest unit.
        base: &'static str,
        /// The largest value, counted in the smallest unit.
        max: u64,
    },
}

/// How one kind of quantity is written.
#[derive(Debug)]
pub(super) struct Scale {
    /// The word for it in error messages.
    pub(super) what: &'static str,
    /// The plural of its smallest unit.
    pub(super) base: &'static str,
    /// A text that is accepted.
    pub(super) example: &'static str,
    /// The units and their sizes in the smallest unit; the first spelling of a size is the one printed.
    pub(super) units: &'static [(&'static str, u64)],
    /// The size of a number without a unit, where that is allowed.
    pub(super) bare: Option<u64>,
}

impl Scale {
    /// Reads `text` as a whole number of the smallest unit.
    pub(super) fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let (what, example, base) = (self.what, self.example, self.base);
        let own = || text.to_owned();
        let not_a_number = || UnitError::NotANumber { what, text: own(), example };
        let too_large = || UnitError::TooLarge { what, text: own(), base, max: u64::MAX };

        let trimmed = text.trim();
        let end = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(end);
        let number = number.replace('_', "");
        let (whole, part) = number.split_once('.').unwrap_or((&number, ""));
        if whole.is_empty() || part.contains('.') || (number.contains('.') && part.is_empty()) {
            return Err(not_a_number());
        }

        let unit = unit.trim_start();
        let size = if unit.is_empty() {
            self.bare.ok_or_else(|| UnitError::MissingUnit { what, text: own(), example })?
        } else {
            let found = self.units.iter().find(|(name, _)| *name == unit);
            found.map(|(_, size)| *size).ok_or_else(|| UnitError::UnknownUnit {
                what,
                text: own(),
                unit: unit.to_owned(),
                known: self.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
                example,
            })?
        };

        let whole: u64 = whole.parse().map_err(|_| too_large())?;
        let part = part.trim_end_matches('0');
        let too_fine = || UnitError::TooFine { what, text: own(), base, example };
        // No unit is larger than 10^15 of its smallest, but binary units (2^40) have factors that
        // let up to 40 digits be exact; 18 keep the product below 2^128 and are plenty.
        if part.len() > 18 {
            return Err(too_fine());
        }
        let ten = 10u128.pow(part.len() as u32);
        let fraction = if part.is_empty() {
            0
        } else {
            part.parse::<u128>().map_err(|_| not_a_number())? * u128::from(size)
        };
        if fraction % ten != 0 {
            return Err(too_fine());
        }
        let value = u128::from(whole) * u128::from(size) + fraction / ten;
        u64::try_from(value).map_err(|_| too_large())
    }

    /// Writes `value` with the largest unit of which it holds at least one, with exact decimals.
    ///
    /// PRECONDITION: the sizes are powers of ten, else the decimals are not exact.
    pub(super) fn write_decimal(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = self.units.iter().filter(|(_, size)| *size <= value);
        let smallest = self.units.iter().min_by_key(|(_, size)| *size);
        // `max_by_key` keeps the last of equals; reversing makes the first spelling win.
        let Some((name, size)) = fits.rev().max_by_key(|(_, size)| *size).or(smallest) else {
            return write!(f, "{value}");
        };
        let (whole, rest) = (value / size, value % size);
        if rest == 0 {
            return f.pad(&format!("{whole}{name}"));
        }
        let digits = size.ilog10() as usize;
        let part = format!("{rest:0digits$}");
        f.pad(&format!("{whole}.{}{name}", part.trim_end_matches('0')))
    }

    /// Writes `value` as a whole number of the largest unit that divides it.
    pub(super) fn write_whole(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides =
            self.units.iter().filter(|(_, size)| value != 0 && value.is_multiple_of(*size));
        let smallest = self.units.iter().min_by_key(|(_, size)| *size);
        match divides.rev().max_by_key(|(_, size)| *size).or(smallest) {
            Some((name, size)) => f.pad(&format!("{}{name}", value / size)),
            None => write!(f, "{value}"),
        }
    }
}
