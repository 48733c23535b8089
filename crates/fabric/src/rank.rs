//! Who takes part: ranks, and groups of them.

use std::{fmt, sync::Arc};

/// A member of the job, by number, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rank(u32);

impl Rank {
    /// The member of this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Its number, to look into a list of ranks.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

/// Ranks that do collectives together, in an order that all of them know.
///
/// A member's place in the order is its *position*; collectives are written in positions. Cloning is
/// cheap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    id: GroupId,
    members: Arc<[Rank]>,
}

/// Tells the operations of one group from another's. All members use the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupId(u32);

impl GroupId {
    /// The group of all ranks.
    pub const WORLD: Self = Self(0);

    /// The group of this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Why ranks do not make a group.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GroupError {
    /// No members.
    #[error("a group needs at least one rank")]
    Empty,
    /// A rank is listed twice.
    #[error("{0} is listed twice in the group")]
    Twice(Rank),
}

impl Group {
    /// All ranks of a job of this size.
    pub fn world(ranks: u32) -> Self {
        Self { id: GroupId::WORLD, members: (0..ranks.max(1)).map(Rank).collect() }
    }

    /// These ranks, in this order.
    pub fn new(id: GroupId, members: impl Into<Vec<Rank>>) -> Result<Self, GroupError> {
        let members = members.into();
        if members.is_empty() {
            return Err(GroupError::Empty);
        }
        let mut sorted = members.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(GroupError::Twice(pair[0])),
            None => Ok(Self { id, members: members.into() }),
        }
    }

    /// Its number.
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// How many members it has.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Its members in order.
    pub fn members(&self) -> &[Rank] {
        &self.members
    }

    /// The member at a position.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn rank(&self, position: usize) -> Rank {
        self.members[position]
    }

    /// Where a rank stands, if it is a member.
    pub fn position(&self, rank: Rank) -> Option<usize> {
        self.members.iter().position(|member| *member == rank)
    }
}
