//! How a controller is reached, and the first words of every conversation.

use std::{error::Error as _, time::Duration};

use laxity_fabric::rendezvous::Secret;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Streaming,
    transport::{Channel, Endpoint},
};

use crate::{
    auth::{HostKeys, Opening, random},
    tls,
    wire::{
        self, FromHost, LONGEST, ToHost, controller_client::ControllerClient, from_host,
        to_host::Word,
    },
};

/// How long a connection and the first words may take.
const OPENING: Duration = Duration::from_secs(5);
/// How often a silent controller is asked whether it lives, and how long the answer may take.
const KEEPALIVE: Duration = Duration::from_secs(2);
/// Words that wait for the connection.
const WORDS: usize = 64;

/// Where a controller is and how to know it.
#[derive(Clone, Debug)]
pub struct Access {
    /// Its address: a name or an IP address, and the port.
    pub controller: String,
    /// The job's key.
    pub secret: Secret,
    /// Its certificate as PEM; without one nothing is encrypted, which the controller must also want.
    pub certificate: Option<Vec<u8>>,
}

/// Why there is no conversation with a controller.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttendError {
    /// It cannot be reached.
    #[error("controller at {at} cannot be reached: {why}")]
    Unreachable {
        /// Its address.
        at: String,
        /// What was seen.
        why: String,
    },
    /// It took too long.
    #[error("controller at {at} did not answer within {} s", OPENING.as_secs())]
    Silent {
        /// Its address.
        at: String,
    },
    /// It said no.
    #[error("controller at {at} refused: {what}")]
    Refused {
        /// Its address.
        at: String,
        /// What it said, with both sides.
        what: String,
    },
    /// It is not the controller of this job.
    #[error("{what}")]
    Stranger {
        /// Why, with both sides.
        what: String,
    },
}

/// A conversation that both sides have proved to belong to.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) say: mpsc::Sender<FromHost>,
    pub(super) hear: Streaming<ToHost>,
    pub(super) welcome: wire::Welcome,
    pub(super) controller: String,
}

pub(super) fn said(word: from_host::Word) -> FromHost {
    FromHost { word: Some(word) }
}

impl Access {
    /// Begins a conversation, as a host with keys or as somebody who asks.
    pub(super) async fn attend(
        &self,
        hello: wire::Hello,
        keys: Option<&HostKeys>,
    ) -> Result<Conversation, AttendError> {
        let silent = |_| AttendError::Silent { at: self.controller.clone() };
        tokio::time::timeout(OPENING, self.begin(hello, keys)).await.map_err(silent)?
    }

    async fn begin(
        &self,
        hello: wire::Hello,
        keys: Option<&HostKeys>,
    ) -> Result<Conversation, AttendError> {
        let channel = self.channel().await?;
        let mut client = ControllerClient::new(channel)
            .max_decoding_message_size(LONGEST)
            .max_encoding_message_size(LONGEST);
        let (say, words) = mpsc::channel(WORDS);
        let opening = Opening::new(&self.secret, keys, random(), hello);
        // CORRECTNESS: there is room for the first word.
        let _ = say.try_send(opening.hello());
        let hear = client.attend(ReceiverStream::new(words)).await;
        let mut hear = hear.map_err(|status| self.unreachable(status.message()))?.into_inner();
        let challenge = match self.next(&mut hear).await? {
            Word::Challenge(challenge) => challenge,
            other => return Err(self.stranger(&format!("it began with {}", kind(&other)))),
        };
        let proof = opening.proof(&self.controller, &challenge);
        let proof = proof.map_err(|what| AttendError::Stranger { what })?;
        let gone = |_| self.unreachable("it closed the connection");
        say.send(proof).await.map_err(gone)?;
        match self.next(&mut hear).await? {
            Word::Welcome(welcome) => {
                Ok(Conversation { say, hear, welcome, controller: challenge.name })
            }
            other => Err(self.stranger(&format!("it answered a proof with {}", kind(&other)))),
        }
    }

    async fn channel(&self) -> Result<Channel, AttendError> {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{}", self.controller));
        let why = |error: tonic::transport::Error| self.unreachable(&chain(&error));
        let mut endpoint = endpoint
            .map_err(why)?
            .connect_timeout(OPENING)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE)
            .keep_alive_while_idle(true);
        if let Some(certificate) = &self.certificate {
            endpoint = endpoint.tls_config(tls::client(certificate)).map_err(why)?;
        }
        endpoint.connect().await.map_err(why)
    }

    async fn next(&self, hear: &mut Streaming<ToHost>) -> Result<Word, AttendError> {
        let heard = hear.message().await;
        match heard.map_err(|status| self.unreachable(status.message()))?.and_then(|it| it.word) {
            Some(Word::Refused(refused)) => Err(self.refused(refused)),
            Some(word) => Ok(word),
            None => Err(self.unreachable("it closed the connection")),
        }
    }

    pub(super) fn refused(&self, refused: wire::Refused) -> AttendError {
        AttendError::Refused { at: self.controller.clone(), what: refused.what }
    }

    pub(super) fn unreachable(&self, why: &str) -> AttendError {
        // A controller with TLS only hangs up on whoever speaks without.
        let hint = match self.certificate {
            None if why.contains("connect error") => "",
            None => "; it may expect TLS: give its certificate, or start it with --insecure",
            Some(_) => "",
        };
        AttendError::Unreachable { at: self.controller.clone(), why: format!("{why}{hint}") }
    }

    fn stranger(&self, what: &str) -> AttendError {
        let what = format!("{} is no controller that this version knows: {what}", self.controller);
        AttendError::Stranger { what }
    }
}

fn kind(word: &Word) -> &'static str {
    match word {
        Word::Challenge(_) => "a challenge",
        Word::Welcome(_) => "a welcome",
        Word::Refused(_) => "a refusal",
        Word::Plans(_) => "plans",
        Word::Job(_) => "an answer about a job",
        Word::Role(_) => "a word of a role",
        Word::Answer(_) => "an answer",
    }
}

/// An error with everything behind it.
fn chain(error: &tonic::transport::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text += &format!(": {more}");
        }
        cause = error.source();
    }
    text
}
