//! Element types by name, and calls that need them as types.

use bytes::Bytes;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use half::{bf16, f16};
use laxity_endpoint::{DeliveryReport, ElementType, Incoming, Outgoing, RecvError, ResetCode};

use crate::sys::map::WriteMap;

/// All of them, plain bytes first.
const ALL: [ElementType; 9] = [
    ElementType::U8,
    ElementType::I8,
    ElementType::I16,
    ElementType::I32,
    ElementType::I64,
    ElementType::F16,
    ElementType::Bf16,
    ElementType::F32,
    ElementType::F64,
];

/// Reads a name such as `f32`.
pub(crate) fn parser() -> impl TypedValueParser<Value = ElementType> {
    PossibleValuesParser::new(ALL.map(ElementType::name)).map(|name| {
        let found = ALL.into_iter().find(|element| element.name() == name);
        found.unwrap_or(ElementType::U8)
    })
}

macro_rules! with_type {
    ($element:expr, $name:ident => $do:expr) => {
        match $element {
            ElementType::U8 => {
                type $name = u8;
                $do
            }
            ElementType::I8 => {
                type $name = i8;
                $do
            }
            ElementType::I16 => {
                type $name = i16;
                $do
            }
            ElementType::I32 => {
                type $name = i32;
                $do
            }
            ElementType::I64 => {
                type $name = i64;
                $do
            }
            ElementType::F16 => {
                type $name = f16;
                $do
            }
            ElementType::Bf16 => {
                type $name = bf16;
                $do
            }
            ElementType::F32 => {
                type $name = f32;
                $do
            }
            ElementType::F64 => {
                type $name = f64;
                $do
            }
        }
    };
}

/// A job of these bytes, read as elements.
///
/// PRECONDITION: a whole number of them.
pub(crate) fn outgoing(element: ElementType, bytes: Bytes) -> Outgoing<'static> {
    with_type!(element, T => Outgoing::shared::<T>(bytes))
}

/// Receives a tensor of these elements into a mapped file. `None`: it does not lie on a boundary of
/// theirs, and was refused.
pub(crate) fn receive_into(
    element: ElementType,
    job: Incoming,
    map: &mut WriteMap,
) -> Option<Result<DeliveryReport, RecvError>> {
    with_type!(element, T => match map.elements::<T>() {
        Some(elements) => Some(job.receive_into(elements)),
        None => {
            job.refuse(ResetCode::Violation);
            None
        }
    })
}
