//! Cutting a request into pieces that each fit a packet.

use laxity_interface::{Finish, GroupId};

use super::{
    Payload, Pool, SendRequest, SendRequestError, chunks::ChunkPool, job::Room,
    messages::MessagePool,
};
use crate::{
    ids::JobId,
    slack::{Budget, LaneKind},
    wire::{ElementType, JobKind, varint},
};

/// A job cut into pieces.
pub(super) struct Built {
    pub(super) kind: JobKind,
    pub(super) bytes: u64,
    pub(super) piece: usize,
    pub(super) budgets: Vec<Budget>,
    pub(super) lanes: Vec<LaneKind>,
    pub(super) pool: Pool,
}

/// Checks what does not depend on the payload.
pub(super) fn check(request: &SendRequest) -> Result<(), SendRequestError> {
    let groups = &request.groups;
    if groups.is_empty() || groups.len() > 64 {
        return Err(SendRequestError::Groups(groups.len()));
    }
    for (at, group) in groups.iter().enumerate() {
        if groups[..at].iter().any(|other| other.id == group.id) {
            return Err(SendRequestError::DuplicateGroup(group.id));
        }
    }
    if request.label.len() > 256 {
        return Err(SendRequestError::Label(request.label.len()));
    }
    if !(request.weight.is_finite() && request.weight > 0.0) {
        return Err(SendRequestError::Weight(request.weight));
    }
    Ok(())
}

fn lanes_of(budgets: &[Budget]) -> Vec<LaneKind> {
    let lane = |b: &Budget| if b.allowed() == 0 { LaneKind::Exact } else { LaneKind::Slack };
    budgets.iter().map(lane).collect()
}

fn budgets_of(request: &SendRequest, totals: &[u64]) -> Vec<Budget> {
    let pairs = request.groups.iter().zip(totals);
    pairs
        .map(|(group, &total)| Budget {
            total,
            required: group.min_delivery.of(total),
            ..Budget::default()
        })
        .collect()
}

/// Cuts a request's payload. `start` is where a spread walk over chunks begins.
pub(super) fn cut(
    id: JobId,
    request: &SendRequest,
    room: Room,
    start: u32,
    ids: &[GroupId],
) -> Result<Built, SendRequestError> {
    match &request.payload {
        Payload::Tensor { element, elements, groups } => {
            cut_tensor(id, request, room, start, ids, (*element, *elements, groups))
        }
        Payload::Messages { sizes, estimate, max_message } => {
            cut_messages(id, request, room, ids, (sizes, estimate, *max_message))
        }
        Payload::Announced { counts, bytes, max_message } => {
            announce(id, request, room, ids, (counts, *bytes, *max_message))
        }
    }
}

fn cut_tensor(
    id: JobId,
    request: &SendRequest,
    room: Room,
    start: u32,
    ids: &[GroupId],
    (element, elements, groups): (ElementType, u64, &[(u64, GroupId)]),
) -> Result<Built, SendRequestError> {
    let size = element.size() as u64;
    let widest_group = ids.iter().map(|id| varint::width(u64::from(id.0))).max().unwrap_or(1);
    let head = 1 + varint::width(id.0) + widest_group + varint::width(elements);
    let per_chunk = ((room.frames - head) as u64 / size).max(1);
    let chunks = elements.div_ceil(per_chunk);
    if chunks > room.max_pieces {
        return Err(SendRequestError::TooLarge { pieces: chunks, limit: room.max_pieces });
    }
    let chunk_groups = assign_groups(request, groups, elements, per_chunk)?;
    let mut totals = vec![0; ids.len()];
    match chunk_groups.is_empty() {
        true => totals[0] = chunks,
        false => chunk_groups.iter().for_each(|group| totals[usize::from(*group)] += 1),
    }
    let ends_in = chunk_groups.last().map_or(0, |group| usize::from(*group));
    let budgets =
        chunk_budgets(request, &totals, per_chunk, (ends_in, chunks * per_chunk - elements));
    let lanes = lanes_of(&budgets);
    let spread = (request.finish == Finish::Enough, start);
    let pool = ChunkPool::new(
        (size, elements, per_chunk),
        chunk_groups,
        ids.to_vec(),
        lanes.clone(),
        spread,
    );
    Ok(Built {
        kind: JobKind::Tensor { element, elements },
        bytes: elements * size,
        piece: (per_chunk * size) as usize,
        budgets,
        lanes,
        pool: Pool::Chunks(pool),
    })
}

/// What each group of a tensor may lose: as many chunks as hold, whichever they are, no more elements
/// than may be missing. The last chunk is shorter than the others by `short`, so that this can be one
/// chunk less than of as many messages.
fn chunk_budgets(
    request: &SendRequest,
    totals: &[u64],
    per_chunk: u64,
    (ends_in, short): (usize, u64),
) -> Vec<Budget> {
    let mut budgets = budgets_of(request, totals);
    for (at, (group, budget)) in request.groups.iter().zip(&mut budgets).enumerate() {
        let elements = budget.total * per_chunk - if at == ends_in { short } else { 0 };
        let may_lack = elements - group.min_delivery.of(elements);
        if may_lack < elements {
            budget.required = budget.total - may_lack / per_chunk;
        }
    }
    budgets
}

/// The group of each chunk; nothing if all belong to the first.
fn assign_groups(
    request: &SendRequest,
    ranges: &[(u64, GroupId)],
    elements: u64,
    per_chunk: u64,
) -> Result<Vec<u8>, SendRequestError> {
    if let Some(&(start, _)) = ranges.first().filter(|range| range.0 != 0) {
        return Err(SendRequestError::Ranges(start));
    }
    if let Some(pair) = ranges.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Err(SendRequestError::Ranges(pair[1].0));
    }
    let place = |id: GroupId| {
        let at = request.groups.iter().position(|group| group.id == id);
        at.map(|at| at as u8).ok_or(SendRequestError::UnknownGroup(id))
    };
    let places = ranges.iter().map(|range| place(range.1)).collect::<Result<Vec<_>, _>>()?;
    if places.is_empty() || places.iter().all(|place| *place == 0) {
        return Ok(Vec::new());
    }
    let strictness = |place: u8| request.groups[usize::from(place)].min_delivery.get();
    let mut chunk_groups = Vec::with_capacity(elements.div_ceil(per_chunk) as usize);
    let mut at = 0;
    for chunk in 0..elements.div_ceil(per_chunk) {
        let (first, end) = (chunk * per_chunk, ((chunk + 1) * per_chunk).min(elements));
        while ranges.get(at + 1).is_some_and(|next| next.0 <= first) {
            at += 1;
        }
        let touched = (at..ranges.len()).take_while(|i| *i == at || ranges[*i].0 < end);
        let strictest = touched
            .map(|i| places[i])
            .max_by(|a, b| strictness(*a).total_cmp(&strictness(*b)))
            .unwrap_or(0);
        chunk_groups.push(strictest);
    }
    Ok(chunk_groups)
}

fn cut_messages(
    id: JobId,
    request: &SendRequest,
    room: Room,
    ids: &[GroupId],
    (sizes, estimate, max_message): (&[(GroupId, u64)], &[u64], u64),
) -> Result<Built, SendRequestError> {
    if !estimate.is_empty() && estimate.len() != ids.len() {
        let (groups, given) = (ids.len(), estimate.len());
        return Err(SendRequestError::Estimate { groups, given });
    }
    let piece = message_piece(id, room);
    let places = sizes
        .iter()
        .map(|(group, _)| {
            let at = ids.iter().position(|id| id == group);
            at.ok_or(SendRequestError::UnknownGroup(*group))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let pieces = sizes.iter().map(|(_, size)| size.div_ceil(piece as u64).max(1));
    let pieces = pieces.fold(0u64, u64::saturating_add);
    let announced = estimate.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    if pieces.max(announced) > room.max_pieces {
        let pieces = pieces.max(announced);
        return Err(SendRequestError::TooLarge { pieces, limit: room.max_pieces });
    }
    let mut totals = vec![0; ids.len()];
    places.iter().for_each(|place| totals[*place] += 1);
    for (total, guess) in totals.iter_mut().zip(estimate) {
        *total = (*total).max(*guess);
    }
    let budgets = budgets_of(request, &totals);
    let lanes = if estimate.is_empty() {
        lanes_of(&budgets)
    } else {
        // An estimate may be off; what the group was promised is not.
        let lane = |d: f64| if d >= 1.0 { LaneKind::Exact } else { LaneKind::Slack };
        request.groups.iter().map(|group| lane(group.min_delivery.get())).collect()
    };
    let mut pool = MessagePool::new(piece as u64, request.order, ids.to_vec(), lanes.clone());
    for (place, (_, size)) in places.into_iter().zip(sizes) {
        pool.push(place, *size);
    }
    let largest = sizes.iter().map(|(_, size)| *size).max().unwrap_or(0).max(max_message);
    let bytes = pool.bytes();
    let kind = JobKind::Messages { open_window: !estimate.is_empty(), max_message: largest };
    Ok(Built { kind, bytes, piece, budgets, lanes, pool: Pool::Messages(pool) })
}

/// Bytes of a message that fit one packet.
fn message_piece(id: JobId, room: Room) -> usize {
    // Kind, job, group, number, length, offset, length of the body: the longest a head can get.
    room.frames - (1 + varint::width(id.0) + 3 + 4 + 8 + 8 + 4)
}

/// A job without messages yet, whose counts are final all the same.
fn announce(
    id: JobId,
    request: &SendRequest,
    room: Room,
    ids: &[GroupId],
    (counts, bytes, max_message): (&[u64], u64, u64),
) -> Result<Built, SendRequestError> {
    if counts.len() != ids.len() {
        let (groups, given) = (ids.len(), counts.len());
        return Err(SendRequestError::Estimate { groups, given });
    }
    let piece = message_piece(id, room);
    let messages = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    let pieces = messages.max(bytes.max(max_message).div_ceil(piece as u64));
    if pieces > room.max_pieces {
        return Err(SendRequestError::TooLarge { pieces, limit: room.max_pieces });
    }
    let budgets = budgets_of(request, counts);
    let lanes = lanes_of(&budgets);
    let mut pool = MessagePool::new(piece as u64, request.order, ids.to_vec(), lanes.clone());
    pool.expect(messages > 0);
    let kind = JobKind::Messages { open_window: false, max_message };
    Ok(Built { kind, bytes, piece, budgets, lanes, pool: Pool::Messages(pool) })
}

#[cfg(test)]
mod tests {
    use laxity_interface::Fraction;
    use proptest::prelude::*;

    use super::*;

    const PER_CHUNK: u64 = 100;

    fn budget(elements: u64, least: f64) -> Budget {
        let least = Fraction::new(least).unwrap();
        let request = SendRequest::tensor(ElementType::U8, elements, least);
        let chunks = elements.div_ceil(PER_CHUNK);
        let short = chunks * PER_CHUNK - elements;
        chunk_budgets(&request, &[chunks], PER_CHUNK, (0, short))[0]
    }

    #[test]
    fn a_short_last_chunk_does_not_make_up_for_a_long_one() {
        // Of 20 chunks one may be lost; with half a chunk less, one would be more than 5 %.
        assert_eq!(budget(2000, 0.95).required, 19);
        assert_eq!(budget(1950, 0.95).required, 20);
        assert_eq!(budget(1950, 0.94).required, 19);
        assert_eq!(budget(1950, 0.0).required, 0);
        assert_eq!(budget(1950, 1.0).required, 20);
        assert_eq!(budget(30, 0.5).required, 1);
        assert_eq!(budget(0, 0.5).required, 0);
    }

    proptest! {
        #[test]
        fn whatever_is_lost_enough_elements_arrive(elements in 0u64..5000, least in 0.0..=1.0) {
            let Budget { total, required, .. } = budget(elements, least);
            let promised = Fraction::new(least).unwrap();
            // The long chunks are what is lost.
            let lost = ((total - required) * PER_CHUNK).min(elements);
            prop_assert!(elements - lost >= promised.of(elements));
            prop_assert!((promised.of(total)..=promised.of(total) + 1).contains(&required));
        }
    }
}
