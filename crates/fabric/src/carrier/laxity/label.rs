//! What a job's label says: whose it is and what it is.
//!
//! Little endian. What 1 byte, whether a claim follows 1, the sender's rank 4, the envelope 32, the claim.

use crate::{carrier::Envelope, rank::Rank, rendezvous::identity::Claim};

/// What a job is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum What {
    /// A parcel.
    Parcel = 0,
    /// The sender is finished.
    Goodbye = 1,
    /// The sender does not talk to the receiver; the body says why.
    Refusal = 2,
}

/// A job's label.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Label {
    pub(super) what: What,
    pub(super) from: Rank,
    /// Of parcels.
    pub(super) envelope: Option<Envelope>,
    /// Until the other side has heard it.
    pub(super) claim: Option<Claim>,
}

const HEAD: usize = 6;

impl Label {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![self.what as u8, u8::from(self.claim.is_some())];
        bytes.extend_from_slice(&self.from.get().to_le_bytes());
        if let Some(envelope) = &self.envelope {
            bytes.extend_from_slice(&envelope.encode());
        }
        if let Some(claim) = &self.claim {
            bytes.extend_from_slice(&claim.encode());
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else {
            return Err(format!("a label of {} bytes", bytes.len()));
        };
        let what = match head[0] {
            0 => What::Parcel,
            1 => What::Goodbye,
            2 => What::Refusal,
            other => return Err(format!("a job of unknown kind {other}")),
        };
        let from = Rank::new(u32::from_le_bytes(std::array::from_fn(|i| head[2 + i])));
        let (envelope, rest) = match (what, rest.split_at_checked(Envelope::BYTES)) {
            (What::Parcel, Some((envelope, rest))) => {
                let envelope = Envelope::decode(envelope).map_err(|error| error.to_string())?;
                (Some(envelope), rest)
            }
            (What::Parcel, None) => return Err("a parcel without an envelope".into()),
            _ => (None, rest),
        };
        let claim = match head[1] {
            0 => None,
            _ => Some(Claim::decode(rest).ok_or("a claim that is none")?),
        };
        Ok(Self { what, from, envelope, claim })
    }
}

#[cfg(test)]
mod tests {
    use laxity_protocol::ElementType;

    use super::*;
    use crate::{
        carrier::{Channel, Lane, Signature},
        rank::GroupId,
        rendezvous::identity::{Identity, Roster},
    };

    #[test]
    fn labels_survive_and_fit() {
        let channel =
            Channel { lane: Lane::Role, group: GroupId::new(1), sequence: 2, step: 3, part: 4 };
        let signature = Signature { kind: 5, element: ElementType::F64, count: 6 };
        let envelope = Envelope { channel, signature };
        let roster = Roster { job: [0; 16], members: Vec::new() };
        let claim = Identity::new(Rank::new(9)).claim(&roster, Rank::new(1), b"");
        for what in [What::Parcel, What::Goodbye, What::Refusal] {
            for claim in [None, Some(claim)] {
                let envelope = (what == What::Parcel).then_some(envelope);
                let label = Label { what, from: Rank::new(9), envelope, claim };
                let bytes = label.encode();
                assert!(bytes.len() <= 256, "what the transport allows");
                assert_eq!(Label::decode(&bytes), Ok(label));
            }
        }
    }

    #[test]
    fn nonsense_is_named() {
        for bytes in [&b""[..], &[0; 5], &[7; 100], &[0; 6], &[1, 1, 0, 0, 0, 0, 9]] {
            assert!(Label::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}
