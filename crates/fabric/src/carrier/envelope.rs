//! What a parcel says about itself.

use laxity_protocol::ElementType;

use crate::rank::GroupId;

/// Which stream of work a parcel belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Lane {
    /// A collective's own steps.
    Collective = 0,
    /// `send` and `recv` between two ranks.
    Direct = 1,
    /// Words of parameter-server roles.
    Role = 2,
    /// Agreement between ranks after a loss.
    Repair = 3,
}

/// Names one parcel between two ranks: no two parcels of one pair in one direction share it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Channel {
    /// What kind of work.
    pub lane: Lane,
    /// The group that works together.
    pub group: GroupId,
    /// The number of the operation in its group; or the tag of a direct parcel.
    pub sequence: u64,
    /// The step inside the operation.
    pub step: u32,
    /// The part of the data.
    pub part: u32,
}

/// What the sender takes the operation to be, so that two ranks that disagree find out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// Which operation, with its options, as the layer above numbers them.
    pub kind: u16,
    /// Type of the elements.
    pub element: ElementType,
    /// Elements in the whole operation (not in this parcel).
    pub count: u64,
}

/// Goes with every parcel, exactly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// Which parcel.
    pub channel: Channel,
    /// Of what operation.
    pub signature: Signature,
}

/// Why bytes are no envelope.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// Not as long as an envelope.
    #[error("an envelope has {want} bytes, not {0}", want = Envelope::BYTES)]
    Length(usize),
    /// A number that means nothing.
    #[error("an envelope names {what} {value}, which does not exist; is the other side newer?")]
    Unknown {
        /// Which field.
        what: &'static str,
        /// Its value.
        value: u8,
    },
}

impl Envelope {
    /// Length in bytes.
    pub const BYTES: usize = 32;

    /// As bytes, little endian.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (channel, signature) = (&self.channel, &self.signature);
        bytes[0] = channel.lane as u8;
        bytes[1] = signature.element as u8;
        bytes[2..4].copy_from_slice(&signature.kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&channel.group.get().to_le_bytes());
        bytes[8..16].copy_from_slice(&channel.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&channel.step.to_le_bytes());
        bytes[20..24].copy_from_slice(&channel.part.to_le_bytes());
        bytes[24..32].copy_from_slice(&signature.count.to_le_bytes());
        bytes
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let bytes: &[u8; Self::BYTES] =
            bytes.try_into().map_err(|_| EnvelopeError::Length(bytes.len()))?;
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let lane = match bytes[0] {
            0 => Lane::Collective,
            1 => Lane::Direct,
            2 => Lane::Role,
            3 => Lane::Repair,
            value => return Err(EnvelopeError::Unknown { what: "lane", value }),
        };
        let element = ElementType::from_byte(bytes[1])
            .ok_or(EnvelopeError::Unknown { what: "element type", value: bytes[1] })?;
        Ok(Self {
            channel: Channel {
                lane,
                group: GroupId::new(u32_at(4)),
                sequence: u64_at(8),
                step: u32_at(16),
                part: u32_at(20),
            },
            signature: Signature {
                kind: u16::from_le_bytes([bytes[2], bytes[3]]),
                element,
                count: u64_at(24),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Envelope {
        Envelope {
            channel: Channel {
                lane: Lane::Direct,
                group: GroupId::new(7),
                sequence: 1 << 40,
                step: 3,
                part: u32::MAX,
            },
            signature: Signature { kind: 515, element: ElementType::Bf16, count: 25_000_000 },
        }
    }

    #[test]
    fn an_envelope_survives_the_wire() {
        assert_eq!(Envelope::decode(&example().encode()), Ok(example()));
    }

    #[test]
    fn nonsense_is_named() {
        let mut bytes = example().encode();
        bytes[0] = 9;
        let error = Envelope::decode(&bytes).expect_err("there is no lane 9");
        assert!(error.to_string().contains("lane 9"), "{error}");
        assert_eq!(Envelope::decode(&bytes[..31]), Err(EnvelopeError::Length(31)));
    }
}
