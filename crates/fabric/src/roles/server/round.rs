//! A round of synchronous training: who has contributed, and whether that is enough.

use std::{collections::BTreeSet, ops::Range};

use laxity_interface::{Span, Time};

use crate::{
    rank::Rank,
    roles::{
        ids::UpdateId,
        tensor::{Adding, Gaps, Tensor},
        words::Member,
    },
};

/// The contributions to one version.
#[derive(Debug)]
pub(super) struct Round {
    adding: Adding,
    pub(super) members: Vec<Member>,
    missing: Vec<Range<usize>>,
    /// When it ends, once enough are there.
    pub(super) ends: Option<Time>,
}

impl Round {
    pub(super) fn new(elements: usize) -> Self {
        Self { adding: Adding::new(elements), members: Vec::new(), missing: Vec::new(), ends: None }
    }

    pub(super) fn contains(&self, update: UpdateId) -> bool {
        self.members.iter().any(|member| member.update == update)
    }

    pub(super) fn add(&mut self, members: Vec<Member>, tensor: &Tensor) {
        self.adding.add(tensor, members.len() as u32);
        self.members.extend(members);
        self.missing.extend_from_slice(tensor.missing());
    }

    /// Whether all living workers have contributed, or as many as the policy wants for long enough.
    pub(super) fn is_over(
        &mut self,
        now: Time,
        living: &BTreeSet<Rank>,
        enough: Option<(usize, Span)>,
    ) -> bool {
        if self.members.is_empty() {
            return false;
        }
        let here: BTreeSet<_> = self.members.iter().map(|member| member.update.worker).collect();
        if living.is_subset(&here) {
            return true;
        }
        let Some((count, grace)) = enough else { return false };
        here.len() >= count && *self.ends.get_or_insert(now + grace) <= now
    }

    /// The mean of the contributions, the updates in it, and what was missing of any.
    pub(super) fn finish(self, gaps: Gaps) -> (Vec<f32>, Vec<Member>, Vec<Range<usize>>) {
        let mut missing = self.missing;
        missing.sort_by_key(|range| range.start);
        missing.dedup_by(|next, last| {
            let touches = next.start <= last.end;
            if touches {
                last.end = last.end.max(next.end);
            }
            touches
        });
        (self.adding.finish(gaps, true), self.members, missing)
    }
}
