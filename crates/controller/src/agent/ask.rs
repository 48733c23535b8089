//! Questions of people and tools.

use std::time::Duration;

use super::access::{Access, AttendError, said};
use crate::wire::{self, Answer, ask::About, from_host, to_host::Word};

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no conversation.
    #[error(transparent)]
    Attend(#[from] AttendError),
    /// The answer did not come.
    #[error("controller at {at} did not answer the question within {} s", LIMIT.as_secs())]
    Late {
        /// Its address.
        at: String,
    },
    /// The operating system says no.
    #[error("cannot ask: {0}")]
    Io(#[from] std::io::Error),
}

/// Why `JOB`, `JOB/FLOW`, a training job or `TRAINING/RANK:UPDATE` goes as it does.
pub fn ask_why(access: &Access, what: &str) -> Result<Answer, AskError> {
    ask(access, About::Why(what.to_owned()))
}

/// What there is: hosts, jobs, links, training jobs.
pub fn ask_overview(access: &Access) -> Result<Answer, AskError> {
    ask(access, About::Overview(wire::Overview {}))
}

fn ask(access: &Access, about: About) -> Result<Answer, AskError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let hello = wire::Hello { name: "who asks".into(), ..Default::default() };
        let mut talk = access.attend(hello, None).await?;
        let question = wire::Ask { number: 1, about: Some(about) };
        let gone = |why: &str| AskError::from(access.unreachable(why));
        let say = said(from_host::Word::Ask(question));
        talk.say.send(say).await.map_err(|_| gone("it closed the connection"))?;
        let answer = async {
            loop {
                match talk.hear.message().await {
                    Ok(Some(wire::ToHost { word: Some(Word::Answer(answer)) })) => {
                        return Ok(answer);
                    }
                    Ok(Some(wire::ToHost { word: Some(Word::Refused(refused)) })) => {
                        return Err(access.refused(refused).into());
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => return Err(gone("it closed the connection")),
                    Err(status) => return Err(gone(status.message())),
                }
            }
        };
        let late = |_| AskError::Late { at: access.controller.clone() };
        tokio::time::timeout(LIMIT, answer).await.map_err(late)?
    })
}
