//! Models that come in parts.

use std::collections::BTreeMap;

use super::{ids::Version, tensor::Tensor, words::Model};

/// The parts of a model that are here.
#[derive(Debug)]
struct Parts {
    version: Version,
    of: u64,
    here: u64,
    by_first: BTreeMap<u64, Tensor>,
}

/// Models that are not complete, by the number of the question. Of each question the newest version is kept.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    by_request: BTreeMap<u64, Parts>,
}

impl Arriving {
    /// A part has come; gives the model if it is complete. Parts that were here already, or belong to a version that
    /// is over, change nothing.
    pub(super) fn add(&mut self, word: &Model, tensor: Tensor) -> Option<Vec<f32>> {
        let &Model { request, version, first, of, .. } = word;
        let elements = tensor.elements() as u64;
        if elements == of && first == 0 {
            self.forget(request);
            return Some(tensor.values());
        }
        let new = || Parts { version, of, here: 0, by_first: BTreeMap::new() };
        let parts = self.by_request.entry(request).or_insert_with(new);
        if parts.version < version || parts.version == version && parts.of != of {
            *parts = new();
        }
        let fits = parts.version == version && parts.here + elements <= of;
        if !fits || parts.by_first.contains_key(&first) {
            return None;
        }
        parts.here += elements;
        parts.by_first.insert(first, tensor);
        if parts.here < of {
            return None;
        }
        let parts = self.by_request.remove(&request)?;
        let mut values = Vec::with_capacity(of as usize);
        for (first, tensor) in parts.by_first {
            if first != values.len() as u64 {
                return None; // Parts that overlap are no model.
            }
            values.extend(tensor.iter());
        }
        Some(values)
    }

    /// Nobody asks any more.
    pub(super) fn forget(&mut self, request: u64) {
        self.by_request.remove(&request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(commits: u64, first: u64) -> Model {
        let version = Version { commits, ..Version::default() };
        Model { request: 7, version, first, of: 3, then: Vec::new() }
    }

    #[test]
    fn a_model_is_complete_with_its_last_part() {
        let mut arriving = Arriving::default();
        assert_eq!(arriving.add(&part(1, 1), Tensor::new(&[2.0, 3.0])), None);
        assert_eq!(arriving.add(&part(1, 1), Tensor::new(&[2.0, 3.0])), None);
        assert_eq!(arriving.add(&part(1, 0), Tensor::new(&[1.0])), Some(vec![1.0, 2.0, 3.0]));
        assert!(arriving.by_request.is_empty());
    }

    #[test]
    fn parts_of_different_versions_are_not_mixed() {
        let mut arriving = Arriving::default();
        assert_eq!(arriving.add(&part(1, 0), Tensor::new(&[1.0])), None);
        assert_eq!(arriving.add(&part(2, 1), Tensor::new(&[5.0, 6.0])), None);
        assert_eq!(arriving.add(&part(1, 1), Tensor::new(&[2.0, 3.0])), None);
        assert_eq!(arriving.add(&part(2, 0), Tensor::new(&[4.0])), Some(vec![4.0, 5.0, 6.0]));
    }

    #[test]
    fn parts_that_overlap_are_no_model() {
        let mut arriving = Arriving::default();
        assert_eq!(arriving.add(&part(1, 0), Tensor::new(&[1.0, 2.0])), None);
        assert_eq!(arriving.add(&part(1, 1), Tensor::new(&[1.0])), None);
        assert!(arriving.by_request.is_empty());
    }
}
