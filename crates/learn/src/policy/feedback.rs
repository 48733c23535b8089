//! What was lost comes with the worker's next gradient.

use super::Chunks;

/// When and how much of a lost chunk is carried over.
///
/// Carried gradients are late, and late gradients meet momentum and a high rate badly; hence the
/// bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Feedback {
    /// Carried at most for this many steps; none: until it arrives.
    pub age: Option<usize>,
    /// What is left of it after each step.
    pub decay: f32,
    /// Only while the learning rate is at most this share of its peak.
    pub rate: f64,
    /// Only chunks that are at least as strong as the mean one.
    pub large: bool,
}

impl Default for Feedback {
    /// Everything, for as long as it takes.
    fn default() -> Self {
        Self { age: None, decay: 1.0, rate: 1.0, large: false }
    }
}

/// A chunk that was lost, as the rule sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LostChunk {
    /// The learning rate over its peak.
    pub rate: f64,
    /// Its norm over that of the mean chunk of the same gradient.
    pub strength: f64,
}

/// Why a lost chunk is carried over or not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Carried: nothing speaks against it.
    Carried,
    /// Not carried: the learning rate is still too high.
    RateTooHigh,
    /// Not carried: it is weaker than the mean chunk.
    TooWeak,
}

impl Feedback {
    /// Whether a lost chunk is carried over, and why.
    ///
    /// ```
    /// use laxity_learn::policy::{Feedback, LostChunk, Reason};
    ///
    /// let rule = Feedback { rate: 0.3, ..Feedback::default() };
    /// let early = LostChunk { rate: 0.9, strength: 2.0 };
    /// assert_eq!(rule.decide(early), Reason::RateTooHigh);
    /// assert_eq!(rule.decide(LostChunk { rate: 0.2, ..early }), Reason::Carried);
    /// ```
    pub fn decide(self, lost: LostChunk) -> Reason {
        if lost.rate > self.rate {
            Reason::RateTooHigh
        } else if self.large && lost.strength < 1.0 {
            Reason::TooWeak
        } else {
            Reason::Carried
        }
    }
}

/// What one worker owes: gradients that were lost on their way.
#[derive(Clone, Debug)]
pub struct Carry {
    rule: Feedback,
    /// What was lost 1, 2, … steps ago; without a bound on age, the sum of all.
    parts: Vec<Vec<f32>>,
}

impl Carry {
    /// Nothing is owed yet.
    pub fn new(rule: Feedback, length: usize) -> Self {
        Self { rule, parts: vec![vec![0.0; length]; rule.age.unwrap_or(1)] }
    }

    /// Adds what is owed to a gradient.
    pub fn load(&self, gradient: &mut [f32]) {
        for part in &self.parts {
            gradient.iter_mut().zip(part).for_each(|(to, owed)| *to += owed);
        }
    }

    /// Takes in which chunks arrived. `own` is the gradient without, `sent` with what was owed;
    /// `rate` is the learning rate over its peak.
    pub fn settle(
        &mut self,
        chunks: Chunks,
        own: &[f32],
        sent: &[f32],
        arrived: &[bool],
        rate: f64,
    ) {
        let strengths = strengths(chunks, own);
        for (chunk, range) in chunks.ranges().enumerate() {
            let lost = LostChunk { rate, strength: strengths[chunk] };
            let carried = !arrived[chunk] && self.rule.decide(lost) == Reason::Carried;
            if !carried {
                self.parts.iter_mut().for_each(|part| part[range.clone()].fill(0.0));
                continue;
            }
            let decayed = |from: &[f32]| from.iter().map(|x| self.rule.decay * x).collect();
            // Without a bound the one part takes all that was sent, which holds what was owed.
            let newest = if self.rule.age.is_none() { sent } else { own };
            let mut next: Vec<f32> = decayed(&newest[range.clone()]);
            for part in &mut self.parts {
                let older = decayed(&part[range.clone()]);
                part[range.clone()].copy_from_slice(&next);
                next = older;
            }
        }
    }
}

/// The norm of each chunk over that of the mean chunk.
fn strengths(chunks: Chunks, values: &[f32]) -> Vec<f64> {
    let norm = |values: &[f32]| values.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt();
    let norms: Vec<f64> = chunks.ranges().map(|range| norm(&values[range])).collect();
    let mean = norms.iter().sum::<f64>() / norms.len().max(1) as f64;
    norms.iter().map(|norm| if mean > 0.0 { norm / mean } else { 1.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a constant gradient of 1 and loses it or not; gives what was sent each time.
    fn sent(rule: Feedback, arrivals: &[bool]) -> Vec<f32> {
        let (chunks, own) = (Chunks::new(1, 1), [1.0]);
        let mut carry = Carry::new(rule, 1);
        let mut all = Vec::new();
        for arrived in arrivals {
            let mut sent = own;
            carry.load(&mut sent);
            carry.settle(chunks, &own, &sent, &[*arrived], 1.0);
            all.push(sent[0]);
        }
        all
    }

    #[test]
    fn nothing_is_forgotten_without_bounds() {
        let all = sent(Feedback::default(), &[false, false, true, true, false, true]);
        assert_eq!(all, [1.0, 2.0, 3.0, 1.0, 1.0, 2.0]);
    }

    #[test]
    fn decay_is_geometric_and_age_is_a_bound() {
        let lost = [false, false, false, false];
        let half = Feedback { decay: 0.5, ..Feedback::default() };
        assert_eq!(sent(half, &lost), [1.0, 1.5, 1.75, 1.875]);
        let old = Feedback { age: Some(1), ..Feedback::default() };
        assert_eq!(sent(old, &lost), [1.0, 2.0, 2.0, 2.0]);
        let both = Feedback { age: Some(2), decay: 0.5, ..Feedback::default() };
        assert_eq!(sent(both, &lost), [1.0, 1.5, 1.75, 1.75]);
    }

    #[test]
    fn only_strong_chunks_if_so_asked() {
        let (chunks, own) = (Chunks::new(2, 1), [3.0, 1.0]);
        let rule = Feedback { large: true, ..Feedback::default() };
        let mut carry = Carry::new(rule, 2);
        carry.settle(chunks, &own, &own, &[false, false], 1.0);
        let mut next = [0.0; 2];
        carry.load(&mut next);
        assert_eq!(next, [3.0, 0.0]);
        assert_eq!(rule.decide(LostChunk { rate: 1.0, strength: 0.5 }), Reason::TooWeak);
    }
}
