//! Time, size, rate and fraction: integers with a unit in their type.
//!
//! Every unit is written and read as text with its unit (`"200us"`, `"25MiB"`, `"10Gbps"`), and what
//! is printed reads back as exactly the same value. Arithmetic saturates: an emulated clock that
//! reaches its end must stay there, not wrap to its beginning.

mod decimal;
mod fraction;
mod rate;
mod serial;
mod size;
mod time;

pub use decimal::UnitError;
pub use fraction::{Fraction, FractionError};
pub use rate::Rate;
pub use size::Bytes;
pub use time::{Span, Time};
