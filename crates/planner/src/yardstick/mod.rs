//! Optima of small instances.
