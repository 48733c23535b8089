//! Training over the shipping roles in virtual time, with real gradients.

pub(super) mod many;
pub(super) mod ring;
pub(super) mod setting;
pub(super) mod story;
pub(super) mod systems;
pub(super) mod task;
pub(super) mod world;
