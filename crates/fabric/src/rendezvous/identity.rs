//! Who a rank is, and how it proves it.
//!
//! Each process makes a pair of Ed25519 keys when it starts and publishes the public half, its token,
//! beside its address. Whoever claims to be a rank signs that claim for the one it talks to: a rank can
//! read every token in the store, and still cannot sign for another.

use std::net::SocketAddr;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use super::secret::random;
use crate::rank::Rank;

/// The public half of a rank's key pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Token([u8; 32]);

/// What every rank knows of each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Roster {
    /// Tells this job from another that the same machines run with the same key.
    pub job: [u8; 16],
    /// By rank.
    pub members: Vec<Member>,
}

/// One rank as others know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Member {
    /// Where its carrier listens.
    pub address: SocketAddr,
    /// What it signs with.
    pub token: Token,
}

/// This process: its rank and the secret half of its token.
#[derive(Debug)]
pub struct Identity {
    rank: Rank,
    pair: Ed25519KeyPair,
}

/// "I am rank `from` and talk to rank `to`", signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Claim {
    pub(crate) from: Rank,
    pub(crate) to: Rank,
    pub(crate) token: Token,
    pub(crate) signature: [u8; 64],
}

/// Why a claim is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// There is no such rank.
    #[error("{rank} at {at} does not exist in a world of {world}; is its WORLD_SIZE another?")]
    Unknown {
        /// Who it says it is.
        rank: Rank,
        /// Where it is.
        at: SocketAddr,
        /// Ranks there are.
        world: usize,
    },
    /// It wants to talk to somebody else.
    #[error("{rank} at {at} wanted {wanted} and reached {here}; is its list of addresses old?")]
    Elsewhere {
        /// Who it says it is.
        rank: Rank,
        /// Where it is.
        at: SocketAddr,
        /// Whom it wanted.
        wanted: Rank,
        /// Who this is.
        here: Rank,
    },
    /// It shows a token that is not that rank's.
    #[error(
        "{rank} at {at} presented the token of {owner}; {rank} registered from {registered}; give \
         every process a RANK of its own and start all of them anew"
    )]
    Token {
        /// Who it says it is.
        rank: Rank,
        /// Where it is.
        at: SocketAddr,
        /// Whose token it is.
        owner: String,
        /// Where the rank itself is.
        registered: SocketAddr,
    },
    /// It shows that rank's token but cannot sign with it.
    #[error(
        "{rank} at {at} presented the token of {rank} but cannot sign with it; {rank} registered \
         from {registered}; somebody plays its part"
    )]
    Signature {
        /// Who it says it is.
        rank: Rank,
        /// Where it is.
        at: SocketAddr,
        /// Where the rank itself is.
        registered: SocketAddr,
    },
}

impl Identity {
    /// A new one for this rank.
    ///
    /// # Panics
    /// If the operating system has no random bytes, without which nothing here is safe.
    pub fn new(rank: Rank) -> Self {
        let pair =
            Ed25519KeyPair::from_seed_unchecked(&random::<32>()).expect("any 32 bytes are a seed");
        Self { rank, pair }
    }

    /// Whose it is.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// What to publish.
    pub fn token(&self) -> Token {
        let mut token = [0; 32];
        token.copy_from_slice(self.pair.public_key().as_ref());
        Token(token)
    }

    /// Claims this rank before another. `context` ties the claim to one conversation where its bytes
    /// could be overheard.
    pub(crate) fn claim(&self, roster: &Roster, to: Rank, context: &[u8]) -> Claim {
        let mut signature = [0; 64];
        let text = text(roster, self.rank, to, context);
        signature.copy_from_slice(self.pair.sign(&text).as_ref());
        Claim { from: self.rank, to, token: self.token(), signature }
    }
}

impl Roster {
    /// How many ranks there are.
    pub fn world(&self) -> u32 {
        self.members.len() as u32
    }

    /// A rank.
    pub fn member(&self, rank: Rank) -> Option<&Member> {
        self.members.get(rank.index())
    }

    /// Checks the claim of somebody at `at` who talks to `here`.
    pub(crate) fn check(
        &self,
        claim: &Claim,
        at: SocketAddr,
        here: Rank,
        context: &[u8],
    ) -> Result<(), ClaimError> {
        let rank = claim.from;
        let Some(member) = self.member(rank) else {
            return Err(ClaimError::Unknown { rank, at, world: self.members.len() });
        };
        if claim.to != here {
            return Err(ClaimError::Elsewhere { rank, at, wanted: claim.to, here });
        }
        let registered = member.address;
        if member.token != claim.token {
            let owner = self.members.iter().position(|member| member.token == claim.token);
            let owner = owner.map_or_else(
                || "nobody in this job".to_owned(),
                |owner| Rank::new(owner as u32).to_string(),
            );
            return Err(ClaimError::Token { rank, at, owner, registered });
        }
        UnparsedPublicKey::new(&ED25519, claim.token.0)
            .verify(&text(self, rank, here, context), &claim.signature)
            .map_err(|_| ClaimError::Signature { rank, at, registered })
    }
}

impl Claim {
    /// Length in bytes.
    pub(crate) const BYTES: usize = 4 + 4 + 32 + 64;

    /// As bytes.
    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.from.get().to_le_bytes());
        bytes[4..8].copy_from_slice(&self.to.get().to_le_bytes());
        bytes[8..40].copy_from_slice(&self.token.0);
        bytes[40..].copy_from_slice(&self.signature);
        bytes
    }

    /// From bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let rank =
            |at: usize| Rank::new(u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i])));
        Some(Self {
            from: rank(0),
            to: rank(4),
            token: Token(std::array::from_fn(|i| bytes[8 + i])),
            signature: std::array::from_fn(|i| bytes[40 + i]),
        })
    }
}

/// What is signed.
fn text(roster: &Roster, from: Rank, to: Rank, context: &[u8]) -> Vec<u8> {
    let (from, to) = (from.get().to_le_bytes(), to.get().to_le_bytes());
    [b"laxity rank claim", &roster.job[..], &from, &to, context].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> (Vec<Identity>, Roster) {
        let ids: Vec<_> = (0..3).map(|rank| Identity::new(Rank::new(rank))).collect();
        let members = ids
            .iter()
            .map(|id| {
                let address = format!("10.0.0.{}:4000", id.rank().get()).parse().expect("address");
                Member { address, token: id.token() }
            })
            .collect();
        (ids, Roster { job: [9; 16], members })
    }

    #[test]
    fn a_claim_holds_for_its_own_rank_peer_and_conversation_only() {
        let (ids, roster) = three();
        let at = "10.0.0.1:9".parse().expect("address");
        let claim = ids[1].claim(&roster, Rank::new(2), b"now");
        let claim = Claim::decode(&claim.encode()).expect("as written");
        assert_eq!(roster.check(&claim, at, Rank::new(2), b"now"), Ok(()));
        for (here, context) in [(0, &b"now"[..]), (2, b"then")] {
            assert!(roster.check(&claim, at, Rank::new(here), context).is_err());
        }
        let replayed = Claim { to: Rank::new(0), ..claim };
        let error =
            roster.check(&replayed, at, Rank::new(0), b"now").expect_err("signed for rank 2");
        assert!(matches!(error, ClaimError::Signature { .. }), "{error}");
    }

    #[test]
    fn who_plays_another_is_told_both_sides() {
        let (ids, roster) = three();
        let at = "10.0.0.9:2000".parse().expect("address");
        let mut claim = ids[1].claim(&roster, Rank::new(0), b"");
        claim.from = Rank::new(2);
        let error = roster.check(&claim, at, Rank::new(0), b"").expect_err("rank 1 is not rank 2");
        let text = error.to_string();
        assert!(
            text.starts_with(
                "rank 2 at 10.0.0.9:2000 presented the token of rank 1; rank 2 registered from \
                 10.0.0.2:4000"
            ),
            "{text}"
        );
        let stranger = Identity::new(Rank::new(2)).claim(&roster, Rank::new(0), b"");
        let error = roster.check(&stranger, at, Rank::new(0), b"").expect_err("not in the roster");
        assert!(error.to_string().contains("the token of nobody in this job"), "{error}");
        let unknown = Identity::new(Rank::new(7)).claim(&roster, Rank::new(0), b"");
        let error = roster.check(&unknown, at, Rank::new(0), b"").expect_err("a world of 3");
        assert!(error.to_string().contains("rank 7 at 10.0.0.9:2000"), "{error}");
    }
}
