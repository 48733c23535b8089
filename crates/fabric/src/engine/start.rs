//! Checks of what is asked for, before anything is sent.

use laxity_protocol::ElementType;

use crate::{
    collective::is_tree,
    element::{is_float, is_known},
    loss::{Importance, LossPolicy},
    options::{Algorithm, OnLoss, Operation, Options},
    outcome::StartError,
    rank::{Group, Rank},
};

/// Largest group: a position has 16 bits in a parcel's step.
const LARGEST: usize = 1 << 15;

/// Checks an operation; returns this rank's position.
pub(super) fn check(
    rank: Rank,
    group: &Group,
    operation: Operation,
    element: ElementType,
    bytes: usize,
    options: &Options,
) -> Result<usize, StartError> {
    let me = group.position(rank).ok_or(StartError::NotAMember(rank))?;
    let size = group.size();
    if !is_known(element) {
        return Err(StartError::Element(element.name()));
    }
    if !bytes.is_multiple_of(element.size()) {
        return Err(StartError::Ragged { bytes, element: element.name() });
    }
    let count = bytes / element.size();
    match operation {
        Operation::Broadcast(root)
        | Operation::Reduce(_, root)
        | Operation::Gather(root)
        | Operation::Scatter(root)
            if group.position(root).is_none() =>
        {
            return Err(StartError::Stranger(root));
        }
        Operation::Send(peer, _) | Operation::Recv(peer, _) if peer == rank => {
            return Err(StartError::Oneself(peer));
        }
        Operation::Send(peer, _) | Operation::Recv(peer, _) if group.position(peer).is_none() => {
            return Err(StartError::Stranger(peer));
        }
        Operation::AllToAll if !count.is_multiple_of(size) => {
            return Err(StartError::Uneven { count, parts: size });
        }
        Operation::Scatter(root) if root == rank && !count.is_multiple_of(size) => {
            return Err(StartError::Uneven { count, parts: size });
        }
        _ => {}
    }
    check_options(size, element, count, options)?;
    Ok(me)
}

fn check_options(
    size: usize,
    element: ElementType,
    count: usize,
    options: &Options,
) -> Result<(), StartError> {
    if size > LARGEST {
        return Err(StartError::Options("a group can have 32768 ranks at most"));
    }
    if let Algorithm::Tree(parents) = &options.algorithm
        && (parents.len() != size || !is_tree(parents))
    {
        return Err(StartError::NotATree(size));
    }
    if let OnLoss::Continue { at_least } = options.on_loss
        && (at_least == 0 || at_least > size)
    {
        return Err(StartError::Options(
            "at_least must be between 1 and the number of ranks in the group",
        ));
    }
    if options.hadamard && !is_float(element) {
        return Err(StartError::Options("only floating-point numbers can be rotated"));
    }
    if options.hadamard && matches!(options.policy, LossPolicy::Feedback { .. }) {
        return Err(StartError::Options(
            "what is lost of a rotated tensor is no part of it and cannot be fed back; choose \
             another policy, or no rotation",
        ));
    }
    match &options.importance {
        Importance::Uniform(_) => {}
        Importance::ByRange(table) => {
            let ranges: Vec<_> = table.iter().map(|(range, _)| range.clone()).collect();
            if !crate::loss::are_proper(&ranges, count) {
                return Err(StartError::Options(
                    "ranges of importance must be ascending, not overlap and lie in the tensor",
                ));
            }
        }
        Importance::ByMagnitude { classes, block, .. } => {
            let ascending = classes.windows(2).all(|pair| pair[0].0 < pair[1].0);
            if !ascending
                || classes.iter().any(|(threshold, _)| threshold.is_nan() || *threshold < 0.0)
            {
                return Err(StartError::Options("thresholds of magnitude must be ascending"));
            }
            if *block == 0 || classes.len() >= 255 {
                return Err(StartError::Options(
                    "blocks need at least one element, and there are 254 thresholds at most",
                ));
            }
            if options.hadamard {
                return Err(StartError::Options(
                    "a rotated tensor has no large and small numbers; choose one of the two",
                ));
            }
        }
    }
    Ok(())
}
