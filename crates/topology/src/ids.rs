//! Numbers of nodes and links, and paths made of them.

use std::{fmt, ops::Deref, sync::Arc};

/// The number of a host or switch: dense, in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The number of a directed link: dense, in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl NodeId {
    /// As a position in a vector.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// As a position in a vector.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The links that a flow crosses, in order. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Arc<[LinkId]>);

impl Path {
    /// These links.
    pub fn new(links: impl Into<Arc<[LinkId]>>) -> Self {
        Self(links.into())
    }
}

impl Deref for Path {
    type Target = [LinkId];
    fn deref(&self) -> &[LinkId] {
        &self.0
    }
}

impl From<Vec<LinkId>> for Path {
    fn from(links: Vec<LinkId>) -> Self {
        Self(links.into())
    }
}

impl<const N: usize> From<[u32; N]> for Path {
    fn from(links: [u32; N]) -> Self {
        Self(links.into_iter().map(LinkId).collect())
    }
}

impl FromIterator<LinkId> for Path {
    fn from_iter<I: IntoIterator<Item = LinkId>>(links: I) -> Self {
        Self(links.into_iter().collect())
    }
}
