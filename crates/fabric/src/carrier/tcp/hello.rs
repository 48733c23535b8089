//! How two ranks find out that they are the right ones. No socket.
//!
//! The caller says who it is and whom it wants, with a number used once; the callee answers with a
//! number of its own, the proof that it has the job's key, and its signed claim to its rank; the caller
//! proves the same; the callee says welcome, or why not. Everything said so far goes into every proof, so
//! nothing can be used twice. After this the bytes are not protected: who does not trust the wire uses
//! Laxity's own carrier.

use std::{net::SocketAddr, sync::Arc};

use crate::{
    rank::Rank,
    rendezvous::{
        identity::{Claim, ClaimError, Identity, Roster},
        secret::{MAC_BYTES, NONCE_BYTES, Secret, random},
    },
};

const MAGIC: &[u8; 4] = b"LXFB";
/// Magic, kind, length.
const HEAD: usize = 7;
/// The longest refusal.
const MAX_TEXT: usize = 1000;

/// Who this is, for all conversations.
#[derive(Debug)]
pub(crate) struct Credentials {
    pub(crate) identity: Identity,
    pub(crate) roster: Roster,
    pub(crate) secret: Secret,
}

/// What one side has to do.
#[derive(Debug)]
pub(super) enum Step {
    /// Wait for more.
    Wait,
    /// Write this, then wait.
    Say(Vec<u8>),
    /// The other side is who it says it is. The callee still has to say welcome or not.
    Known(Rank),
    /// The callee has a connection with this rank already, or is about to.
    Already,
    /// It is not to be talked to; if there is something to say, say it before closing.
    Refuse {
        /// For the other side.
        say: Vec<u8>,
        /// For this side.
        why: String,
    },
}

/// One side of the conversation.
#[derive(Debug)]
pub(super) struct Hello {
    me: Arc<Credentials>,
    at: SocketAddr,
    stage: Stage,
    transcript: Vec<u8>,
}

#[derive(Debug)]
enum Stage {
    /// A caller that waits for the challenge of this rank.
    Calling(Rank),
    /// A caller that has proved itself.
    Proved(Rank),
    /// A callee that waits for the first word.
    Listening,
    /// A callee that waits for the proof of this rank.
    Challenged(Rank),
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Word {
    Hello = 1,
    Challenge = 2,
    Proof = 3,
    Welcome = 4,
    Refused = 5,
    Already = 6,
}

/// The last word of a callee that takes the connection.
pub(super) fn welcome() -> Vec<u8> {
    word(Word::Welcome, &[])
}

/// The last word of a callee that has another connection with the caller.
pub(super) fn already() -> Vec<u8> {
    word(Word::Already, &[])
}

fn word(kind: Word, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_le_bytes();
    [&MAGIC[..], &[kind as u8], &length, body].concat()
}

impl Hello {
    /// A caller, and its first word.
    pub(super) fn call(me: Arc<Credentials>, to: Rank, at: SocketAddr) -> (Self, Vec<u8>) {
        let nonce: [u8; NONCE_BYTES] = random();
        let (from, world) = (me.identity.rank(), me.roster.world());
        let numbers = [from.get(), to.get(), world].map(u32::to_le_bytes).concat();
        let first = word(Word::Hello, &[&numbers[..], &nonce].concat());
        let transcript = first.clone();
        (Self { me, at, stage: Stage::Calling(to), transcript }, first)
    }

    /// A callee.
    pub(super) fn listen(me: Arc<Credentials>, at: SocketAddr) -> Self {
        Self { me, at, stage: Stage::Listening, transcript: Vec::new() }
    }

    /// Takes the next word from the front of what was heard.
    pub(super) fn handle(&mut self, heard: &mut Vec<u8>) -> Step {
        let start = heard.len().min(MAGIC.len());
        if heard[..start] != MAGIC[..start] {
            return self.stranger("does not speak this language");
        }
        let Some(head) = heard.first_chunk::<HEAD>() else { return Step::Wait };
        let length = usize::from(u16::from_le_bytes([head[5], head[6]]));
        if length > MAX_TEXT {
            return self.stranger("says too much");
        }
        if heard.len() < HEAD + length {
            return Step::Wait;
        }
        let whole: Vec<u8> = heard.drain(..HEAD + length).collect();
        let (kind, body) = (whole[4], &whole[HEAD..]);
        if kind == Word::Refused as u8 {
            let why = String::from_utf8_lossy(body).into_owned();
            return Step::Refuse { say: Vec::new(), why };
        }
        match self.stage {
            Stage::Listening if kind == Word::Hello as u8 => self.handle_hello(&whole),
            Stage::Calling(to) if kind == Word::Challenge as u8 => self.handle_challenge(to, body),
            Stage::Challenged(from) if kind == Word::Proof as u8 => {
                match self.check(from, body, b"caller") {
                    Ok(()) => Step::Known(from),
                    Err(why) => refuse(why),
                }
            }
            Stage::Proved(to) if kind == Word::Welcome as u8 => Step::Known(to),
            Stage::Proved(_) if kind == Word::Already as u8 => Step::Already,
            _ => self.stranger("says things out of turn"),
        }
    }

    fn handle_hello(&mut self, whole: &[u8]) -> Step {
        let body = &whole[HEAD..];
        if body.len() != 12 + NONCE_BYTES {
            return self.stranger("says hello in another way; is it of another version?");
        }
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| body[at + i]));
        let (from, to, world) = (Rank::new(number(0)), Rank::new(number(4)), number(8));
        let (at, here, ours) = (self.at, self.me.identity.rank(), self.me.roster.world());
        if world != ours {
            return refuse(format!(
                "{from} at {at} says that there are {world} ranks, {here} knows {ours}; give all the \
                 same WORLD_SIZE"
            ));
        }
        if to != here {
            return refuse(ClaimError::Elsewhere { rank: from, at, wanted: to, here }.to_string());
        }
        self.transcript.extend_from_slice(whole);
        self.transcript.extend_from_slice(&random::<NONCE_BYTES>());
        let nonce = self.transcript[whole.len()..].to_vec();
        let proof = self.proof(from, b"callee");
        self.stage = Stage::Challenged(from);
        Step::Say(word(Word::Challenge, &[nonce, proof].concat()))
    }

    fn handle_challenge(&mut self, to: Rank, body: &[u8]) -> Step {
        let Some((nonce, proof)) = body.split_first_chunk::<NONCE_BYTES>() else {
            return self.stranger("answers in another way; is it of another version?");
        };
        self.transcript.extend_from_slice(nonce);
        if let Err(why) = self.check(to, proof, b"callee") {
            return refuse(why);
        }
        self.stage = Stage::Proved(to);
        Step::Say(word(Word::Proof, &self.proof(to, b"caller")))
    }

    fn proof(&self, to: Rank, role: &[u8]) -> Vec<u8> {
        let me = &self.me;
        let claim = me.identity.claim(&me.roster, to, &self.transcript).encode();
        let mac = me.secret.mac(&[b"laxity tcp", role, &self.transcript, &claim]);
        [&claim[..], &mac].concat()
    }

    fn check(&self, other: Rank, proof: &[u8], role: &[u8]) -> Result<(), String> {
        let (at, me) = (self.at, &self.me);
        let strange = || format!("{other} at {at} proves itself in another way; another version?");
        if proof.len() != Claim::BYTES + MAC_BYTES {
            return Err(strange());
        }
        let (claim, mac) = proof.split_at(Claim::BYTES);
        if !me.secret.proves(&[b"laxity tcp", role, &self.transcript, claim], mac) {
            return Err(format!(
                "{other} at {at} does not have the key of {}; do all ranks use the same \
                 LAXITY_KEY_FILE?",
                me.identity.rank()
            ));
        }
        let claim = Claim::decode(claim).ok_or_else(strange)?;
        if claim.from != other {
            return Err(format!("{other} at {at} signs as {}", claim.from));
        }
        let here = me.identity.rank();
        me.roster.check(&claim, at, here, &self.transcript).map_err(|error| error.to_string())
    }

    fn stranger(&self, what: &str) -> Step {
        Step::Refuse { say: Vec::new(), why: format!("{} {what}", self.at) }
    }
}

fn refuse(why: String) -> Step {
    let mut text = why.clone();
    while text.len() > MAX_TEXT {
        text.pop();
    }
    Step::Refuse { say: word(Word::Refused, text.as_bytes()), why }
}

#[cfg(test)]
mod tests {
    use laxity_protocol::Key;

    use super::*;
    use crate::rendezvous::identity::Member;

    fn address(rank: u32) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, rank as u8], 4000))
    }

    fn world(ranks: u32, key: u8) -> Vec<Arc<Credentials>> {
        let ids: Vec<_> = (0..ranks).map(|rank| Identity::new(Rank::new(rank))).collect();
        let members =
            ids.iter().map(|id| Member { address: address(id.rank().get()), token: id.token() });
        let roster = Roster { job: [1; 16], members: members.collect() };
        let secret = Secret::Key(Key::new([key; 32]));
        ids.into_iter()
            .map(|identity| {
                Arc::new(Credentials { identity, roster: roster.clone(), secret: secret.clone() })
            })
            .collect()
    }

    /// How the conversation ends for the caller and the callee.
    fn talk(caller: &Arc<Credentials>, callee: &Arc<Credentials>, to: u32) -> (Step, Step) {
        let (mut a, first) = Hello::call(caller.clone(), Rank::new(to), address(to));
        let mut b = Hello::listen(callee.clone(), "10.0.0.9:2000".parse().expect("address"));
        let mut heard = first;
        loop {
            let (mut answer, end) = match b.handle(&mut heard) {
                Step::Say(answer) => (answer, None),
                Step::Known(rank) => (welcome(), Some(Step::Known(rank))),
                Step::Refuse { say, why } => (say, Some(Step::Refuse { say: Vec::new(), why })),
                other => panic!("{other:?}"),
            };
            match (a.handle(&mut answer), end) {
                (Step::Say(next), None) => heard = next,
                (step, Some(end)) => return (step, end),
                (step @ Step::Refuse { .. }, None) => return (step, Step::Wait),
                other => panic!("{other:?}"),
            }
        }
    }

    fn why(step: &Step) -> &str {
        match step {
            Step::Refuse { why, .. } => why,
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn two_of_one_job_know_each_other() {
        let ranks = world(3, 1);
        let (caller, callee) = talk(&ranks[2], &ranks[0], 0);
        assert!(matches!(caller, Step::Known(rank) if rank == Rank::new(0)));
        assert!(matches!(callee, Step::Known(rank) if rank == Rank::new(2)));
    }

    #[test]
    fn another_key_another_world_and_another_rank_are_named() {
        let ranks = world(3, 1);
        let (caller, _) = talk(&world(3, 2)[2], &ranks[0], 0);
        assert!(
            why(&caller).starts_with("rank 0 at 10.0.0.0:4000 does not have the key of rank 2")
        );
        let (caller, callee) = talk(&world(4, 1)[2], &ranks[0], 0);
        assert_eq!(why(&caller), why(&callee));
        assert!(why(&caller).contains("rank 2 at 10.0.0.9:2000 says that there are 4 ranks"));
        let (caller, _) = talk(&ranks[2], &ranks[1], 0);
        assert!(why(&caller).contains("wanted rank 0 and reached rank 1"), "{}", why(&caller));
    }

    #[test]
    fn who_plays_another_rank_is_told_both_sides() {
        let ranks = world(3, 1);
        let impostor = Arc::new(Credentials {
            identity: Identity::new(Rank::new(2)),
            roster: ranks[0].roster.clone(),
            secret: ranks[0].secret.clone(),
        });
        let (caller, callee) = talk(&impostor, &ranks[0], 0);
        assert_eq!(why(&caller), why(&callee));
        assert!(
            why(&caller).starts_with(
                "rank 2 at 10.0.0.9:2000 presented the token of nobody in this job; rank 2 \
                 registered from 10.0.0.2:4000"
            ),
            "{}",
            why(&caller)
        );
    }

    #[test]
    fn garbage_is_refused_without_an_answer() {
        let ranks = world(2, 1);
        for garbage in [&b"GET / HTTP/1.1\r\n"[..], b"LXFB\x01\xff\xff", b"LXFB\x03\0\0", b"L\0"] {
            let mut hello = Hello::listen(ranks[0].clone(), address(1));
            match hello.handle(&mut garbage.to_vec()) {
                Step::Refuse { say, why } => {
                    assert!(say.is_empty());
                    assert!(why.contains("10.0.0.1:4000"), "{why}");
                }
                other => panic!("{other:?}"),
            }
        }
        let mut hello = Hello::listen(ranks[0].clone(), address(1));
        assert!(matches!(hello.handle(&mut b"LXF".to_vec()), Step::Wait));
    }
}
