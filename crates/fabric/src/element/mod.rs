//! Numbers: which types tensors hold, and arithmetic on bytes of them.
//!
//! Collectives move bytes and know an [`ElementType`]; the only place that turns bytes into numbers
//! is the [`Accumulator`].

pub(crate) mod accumulator;
mod numbers;

use bytes::Bytes;
use half::{bf16, f16};
use laxity_protocol::ElementType;

pub(crate) use self::accumulator::{Accumulator, accumulator_of, read_f64};

#[cfg(target_endian = "big")]
compile_error!("parcels are little endian, and tensors are sent as they lie in memory");

mod sealed {
    pub trait Sealed {}
}

/// A number that collectives can work on. Sealed: these are the types that every rank knows.
pub trait Element: bytemuck::Pod + Send + Sync + sealed::Sealed {
    /// Its name on the wire.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($type:ty => $name:ident),*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const TYPE: ElementType = ElementType::$name;
        }
    )*};
}

elements!(u8 => U8, i32 => I32, i64 => I64, f16 => F16, bf16 => Bf16, f32 => F32, f64 => F64);

/// Whether collectives can work on this type.
pub(crate) fn is_known(element: ElementType) -> bool {
    use ElementType::{Bf16, F16, F32, F64, I32, I64, U8};
    matches!(element, U8 | I32 | I64 | F16 | Bf16 | F32 | F64)
}

/// Whether this type has a fraction.
pub(crate) fn is_float(element: ElementType) -> bool {
    use ElementType::{Bf16, F16, F32, F64};
    matches!(element, F16 | Bf16 | F32 | F64)
}

/// Numbers as shared bytes, without copying them.
pub(crate) fn into_bytes<T: bytemuck::Pod + Send + Sync>(numbers: Vec<T>) -> Bytes {
    struct Owner<T>(Vec<T>);
    impl<T: bytemuck::Pod> AsRef<[u8]> for Owner<T> {
        fn as_ref(&self) -> &[u8] {
            bytemuck::cast_slice(&self.0)
        }
    }
    Bytes::from_owner(Owner(numbers))
}
