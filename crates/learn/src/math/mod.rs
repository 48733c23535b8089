//! The arithmetic that models share: products of matrices, activations, losses.
//!
//! Plain additions and multiplications in a fixed order, and elementary functions written here or
//! taken from `libm`: IEEE 754 defines their results to the last bit, so a run comes out the same
//! on every machine, with or without wide vector instructions.

mod conv;
mod function;
mod norm;
mod product;
mod softmax;

pub(crate) use conv::{Conv, Volume};
pub(crate) use function::{exp, exp_digamma, normal, sigmoid, tanh};
pub(crate) use norm::{GroupNorm, Normed};
pub(crate) use product::{Matrix, add_product, transpose};
pub(crate) use softmax::cross_entropy;
