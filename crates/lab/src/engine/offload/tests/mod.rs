//! Cutting and joining against each other, against garbage, and against the kernel.

mod kernel;
mod made;
mod properties;
