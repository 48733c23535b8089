//! Updates of models.
