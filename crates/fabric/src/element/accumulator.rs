//! Numbers that are being folded into one another.

use std::ops::Range;

use bytes::Bytes;
use half::{bf16, f16};
use laxity_protocol::ElementType;

use super::{into_bytes, numbers::Numbers};
use crate::options::ReduceOp;

/// The type in which numbers of `element` are folded.
///
/// Halves are folded in `f32`, so that many small addends are not rounded away one by one. Short
/// integers are folded in `i64` when the sum will be divided or scaled, because a sum that has
/// wrapped cannot be; a plain sum wraps like the type itself.
pub(crate) fn accumulator_of(element: ElementType, op: ReduceOp, lossy: bool) -> ElementType {
    match element {
        ElementType::F16 | ElementType::Bf16 => ElementType::F32,
        ElementType::U8 | ElementType::I32
            if op == ReduceOp::Mean || (lossy && op == ReduceOp::Sum) =>
        {
            ElementType::I64
        }
        other => other,
    }
}

/// A range of a tensor while contributions are folded into it.
#[derive(Clone, Debug)]
pub(crate) enum Accumulator {
    U8(Numbers<u8>),
    I32(Numbers<i32>),
    I64(Numbers<i64>),
    F32(Numbers<f32>),
    F64(Numbers<f64>),
}

/// A number that is folded.
trait Number: Copy {
    fn identity(op: ReduceOp) -> Self;
    fn fold(self, other: Self, op: ReduceOp) -> Self;
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn identity(op: ReduceOp) -> Self {
                match op {
                    ReduceOp::Sum | ReduceOp::Mean => 0,
                    ReduceOp::Product => 1,
                    ReduceOp::Min => Self::MAX,
                    ReduceOp::Max => Self::MIN,
                }
            }
            #[inline(always)]
            fn fold(self, other: Self, op: ReduceOp) -> Self {
                match op {
                    ReduceOp::Sum | ReduceOp::Mean => self.wrapping_add(other),
                    ReduceOp::Product => self.wrapping_mul(other),
                    ReduceOp::Min => self.min(other),
                    ReduceOp::Max => self.max(other),
                }
            }
        }
    )*};
}
macro_rules! float {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn identity(op: ReduceOp) -> Self {
                match op {
                    ReduceOp::Sum | ReduceOp::Mean => 0.0,
                    ReduceOp::Product => 1.0,
                    ReduceOp::Min => Self::INFINITY,
                    ReduceOp::Max => Self::NEG_INFINITY,
                }
            }
            #[inline(always)]
            fn fold(self, other: Self, op: ReduceOp) -> Self {
                match op {
                    ReduceOp::Sum | ReduceOp::Mean => self + other,
                    ReduceOp::Product => self * other,
                    // What is no number stays none: `min` and `max` of the language lose it.
                    ReduceOp::Min if self < other || self.is_nan() => self,
                    ReduceOp::Max if self > other || self.is_nan() => self,
                    ReduceOp::Min | ReduceOp::Max => other,
                }
            }
        }
    )*};
}
integer!(u8, i32, i64);
float!(f32, f64);

/// Folds numbers read from bytes; `read` turns the bytes of one into the accumulator's type.
#[inline(always)]
fn fold_with<A: Number, const SIZE: usize>(
    into: &mut [A],
    bytes: &[u8],
    op: ReduceOp,
    read: impl Fn([u8; SIZE]) -> A + Copy,
) {
    let (numbers, rest) = bytes.as_chunks::<SIZE>();
    debug_assert!(rest.is_empty() && numbers.len() == into.len());
    // One loop per operation: the branch on `op` would keep the compiler from using wide registers.
    macro_rules! each {
        ($op:expr) => {
            for (sum, number) in into.iter_mut().zip(numbers) {
                *sum = sum.fold(read(*number), $op);
            }
        };
    }
    match op {
        ReduceOp::Sum | ReduceOp::Mean => each!(ReduceOp::Sum),
        ReduceOp::Product => each!(ReduceOp::Product),
        ReduceOp::Min => each!(ReduceOp::Min),
        ReduceOp::Max => each!(ReduceOp::Max),
    }
}

impl Accumulator {
    /// `count` numbers of this accumulator type that change nothing they are folded with.
    ///
    /// # Panics
    /// If `kind` is no type that [`accumulator_of`] names.
    pub(crate) fn identity(kind: ElementType, op: ReduceOp, count: usize) -> Self {
        match kind {
            ElementType::U8 => Self::U8(Numbers::filled(u8::identity(op), count)),
            ElementType::I32 => Self::I32(Numbers::filled(i32::identity(op), count)),
            ElementType::I64 => Self::I64(Numbers::filled(i64::identity(op), count)),
            ElementType::F32 => Self::F32(Numbers::filled(f32::identity(op), count)),
            ElementType::F64 => Self::F64(Numbers::filled(f64::identity(op), count)),
            other => unreachable!("nothing is folded in {}", other.name()),
        }
    }

    /// Folds the numbers in `bytes`, which are of type `element`, into those from `at` on.
    ///
    /// # Panics
    /// If they do not fit, or `element` is not folded in this type.
    pub(crate) fn fold(&mut self, at: usize, bytes: &[u8], element: ElementType, op: ReduceOp) {
        let range = at..at + bytes.len() / element.size();
        match (self, element) {
            (Self::U8(sum), ElementType::U8) => fold_with(&mut sum[range], bytes, op, |[b]| b),
            (Self::I32(sum), ElementType::I32) => {
                fold_with(&mut sum[range], bytes, op, i32::from_le_bytes);
            }
            (Self::I64(sum), ElementType::I64) => {
                fold_with(&mut sum[range], bytes, op, i64::from_le_bytes);
            }
            (Self::I64(sum), ElementType::I32) => {
                fold_with(&mut sum[range], bytes, op, |b| i64::from(i32::from_le_bytes(b)));
            }
            (Self::I64(sum), ElementType::U8) => {
                fold_with(&mut sum[range], bytes, op, |[b]: [u8; 1]| i64::from(b));
            }
            (Self::F32(sum), ElementType::F32) => {
                fold_with(&mut sum[range], bytes, op, f32::from_le_bytes);
            }
            (Self::F32(sum), ElementType::F16) => {
                fold_with(&mut sum[range], bytes, op, |b| f16::from_le_bytes(b).to_f32());
            }
            (Self::F32(sum), ElementType::Bf16) => {
                fold_with(&mut sum[range], bytes, op, |b| bf16::from_le_bytes(b).to_f32());
            }
            (Self::F64(sum), ElementType::F64) => {
                fold_with(&mut sum[range], bytes, op, f64::from_le_bytes);
            }
            (sum, element) => {
                unreachable!("{} is not folded in {}", element.name(), sum.kind().name())
            }
        }
    }

    /// Multiplies the numbers of a range by `times / by`; integers are rounded towards zero.
    pub(crate) fn scale(&mut self, range: Range<usize>, times: u64, by: u64) {
        if times == by {
            return;
        }
        let integer = |x: i64| (i128::from(x) * i128::from(times) / i128::from(by)) as i64;
        match self {
            Self::U8(sum) => {
                sum[range].iter_mut().for_each(|x| *x = integer(i64::from(*x)) as u8);
            }
            Self::I32(sum) => {
                sum[range].iter_mut().for_each(|x| *x = integer(i64::from(*x)) as i32);
            }
            Self::I64(sum) => sum[range].iter_mut().for_each(|x| *x = integer(*x)),
            Self::F32(sum) => {
                let (times, by) = (times as f32, by as f32);
                sum[range].iter_mut().for_each(|x| *x = *x * times / by);
            }
            Self::F64(sum) => {
                let (times, by) = (times as f64, by as f64);
                sum[range].iter_mut().for_each(|x| *x = *x * times / by);
            }
        }
    }

    /// Adds `factor` times the numbers in `bytes`, of type `element`, to those from `at` on.
    pub(crate) fn add_scaled(
        &mut self,
        at: usize,
        bytes: &[u8],
        element: ElementType,
        factor: f64,
    ) {
        for (i, bytes) in bytes.chunks_exact(element.size()).enumerate() {
            let extra = read_f64(bytes, element) * factor;
            let at = at + i;
            match self {
                Self::U8(sum) => sum[at] = (f64::from(sum[at]) + extra).round() as u8,
                Self::I32(sum) => sum[at] = (f64::from(sum[at]) + extra).round() as i32,
                Self::I64(sum) => sum[at] = sum[at].wrapping_add(extra.round() as i64),
                Self::F32(sum) => sum[at] += extra as f32,
                Self::F64(sum) => sum[at] += extra,
            }
        }
    }

    /// How many numbers these are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::U8(sum) => sum.len(),
            Self::I32(sum) => sum.len(),
            Self::I64(sum) => sum.len(),
            Self::F32(sum) => sum.len(),
            Self::F64(sum) => sum.len(),
        }
    }

    /// The type in which these numbers are folded.
    pub(crate) fn kind(&self) -> ElementType {
        match self {
            Self::U8(_) => ElementType::U8,
            Self::I32(_) => ElementType::I32,
            Self::I64(_) => ElementType::I64,
            Self::F32(_) => ElementType::F32,
            Self::F64(_) => ElementType::F64,
        }
    }

    /// The numbers as bytes of `element`: rounded to nearest (halves), or cut to its width
    /// (integers).
    pub(crate) fn into_bytes(self, element: ElementType) -> Bytes {
        match (self, element) {
            (Self::U8(sum), ElementType::U8) => sum.into_bytes(),
            (Self::I32(sum), ElementType::I32) => sum.into_bytes(),
            (Self::I64(sum), ElementType::I64) => sum.into_bytes(),
            (Self::I64(sum), ElementType::I32) => {
                into_bytes(sum.iter().map(|x| *x as i32).collect())
            }
            (Self::I64(sum), ElementType::U8) => sum.iter().map(|x| *x as u8).collect(),
            (Self::F32(sum), ElementType::F32) => sum.into_bytes(),
            (Self::F32(sum), ElementType::F16) => {
                into_bytes(sum.iter().copied().map(f16::from_f32).collect())
            }
            (Self::F32(sum), ElementType::Bf16) => {
                into_bytes(sum.iter().copied().map(bf16::from_f32).collect())
            }
            (Self::F64(sum), ElementType::F64) => sum.into_bytes(),
            (sum, element) => {
                unreachable!("{} never becomes {}", sum.kind().name(), element.name())
            }
        }
    }

    /// The numbers as floating point, to be transformed. `None` for integers.
    pub(crate) fn as_floats(&mut self) -> Option<Floats<'_>> {
        match self {
            Self::F32(sum) => Some(Floats::F32(sum)),
            Self::F64(sum) => Some(Floats::F64(sum)),
            Self::U8(_) | Self::I32(_) | Self::I64(_) => None,
        }
    }
}

/// Numbers with a fraction, to be changed in place.
#[derive(Debug)]
pub(crate) enum Floats<'a> {
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
}

/// One number of `element` as an `f64`.
pub(crate) fn read_f64(bytes: &[u8], element: ElementType) -> f64 {
    fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().expect("as many bytes as the element has")
    }
    match element {
        ElementType::U8 => f64::from(bytes[0]),
        ElementType::I32 => f64::from(i32::from_le_bytes(array(bytes))),
        ElementType::I64 => i64::from_le_bytes(array(bytes)) as f64,
        ElementType::F16 => f16::from_le_bytes(array(bytes)).to_f64(),
        ElementType::Bf16 => bf16::from_le_bytes(array(bytes)).to_f64(),
        ElementType::F32 => f64::from(f32::from_le_bytes(array(bytes))),
        ElementType::F64 => f64::from_le_bytes(array(bytes)),
        other => unreachable!("{} is refused when an operation starts", other.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_do_not_lose_small_addends() {
        // In f16, 2048 + 1 is 2048: adding one a thousand times would change nothing.
        let mut sum = Accumulator::identity(ElementType::F32, ReduceOp::Sum, 1);
        sum.fold(0, &f16::from_f32(2048.0).to_le_bytes(), ElementType::F16, ReduceOp::Sum);
        for _ in 0..1000 {
            sum.fold(0, &f16::from_f32(1.0).to_le_bytes(), ElementType::F16, ReduceOp::Sum);
        }
        let bytes = sum.into_bytes(ElementType::F16);
        assert_eq!(read_f64(&bytes, ElementType::F16), 3048.0);
    }

    #[test]
    fn what_is_no_number_is_not_lost() {
        for op in [ReduceOp::Min, ReduceOp::Max] {
            for numbers in [[f64::NAN, 1.0, 2.0], [1.0, f64::NAN, 2.0], [1.0, 2.0, f64::NAN]] {
                let mut sum = Accumulator::identity(ElementType::F64, op, 1);
                for number in numbers {
                    sum.fold(0, &number.to_le_bytes(), ElementType::F64, op);
                }
                let found = read_f64(&sum.into_bytes(ElementType::F64), ElementType::F64);
                assert!(found.is_nan(), "the {} of {numbers:?} is {found}", op.name());
            }
        }
    }

    #[test]
    fn the_mean_of_bytes_does_not_wrap() {
        let kind = accumulator_of(ElementType::U8, ReduceOp::Mean, false);
        let mut sum = Accumulator::identity(kind, ReduceOp::Mean, 2);
        for _ in 0..3 {
            sum.fold(0, &[200, 7], ElementType::U8, ReduceOp::Mean);
        }
        sum.scale(0..2, 1, 3);
        assert_eq!(&sum.into_bytes(ElementType::U8)[..], [200, 7]);
    }

    #[test]
    fn nothing_folded_with_something_is_that_something() {
        for op in [ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max, ReduceOp::Product] {
            let mut sum = Accumulator::identity(ElementType::I32, op, 3);
            let bytes = into_bytes(vec![i32::MIN, -1, i32::MAX]);
            sum.fold(0, &bytes, ElementType::I32, op);
            assert_eq!(sum.into_bytes(ElementType::I32), bytes, "{op:?}");
        }
    }
}
