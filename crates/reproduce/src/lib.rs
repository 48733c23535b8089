//! The papers' figures and tables as named experiments.
#![forbid(unsafe_code)]
