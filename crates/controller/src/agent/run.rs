//! The thread that keeps in touch: connects, says what is to be said, hears what is told, and begins
//! again when the controller is gone.

use std::{sync::Arc, time::Duration};

use tokio::time::{MissedTickBehavior, interval, sleep};

use super::{
    AgentOptions, Attached, Shared,
    access::{AttendError, Conversation, said},
    backoff::Backoff,
};
use crate::{
    auth::random,
    wire::{self, to_host::Word},
};

/// How often the controller is told what has been sent.
const PROGRESS: Duration = Duration::from_millis(50);

pub(super) async fn run(options: AgentOptions, shared: Arc<Shared>) {
    let mut backoff = Backoff::new(options.backoff.0, options.backoff.1);
    loop {
        let talk = talk(&options, &shared, &mut backoff);
        let error = tokio::select! {
            error = talk => error,
            () = shared.stop.notified() => return,
        };
        let refused = matches!(error, AttendError::Refused { .. } | AttendError::Stranger { .. });
        shared.state().handle_away(shared.now(), error.to_string(), refused);
        shared.changed.notify_all();
        let wait = backoff.next(u32::from_le_bytes(random()));
        tokio::select! {
            () = sleep(wait.to_std()) => {}
            () = shared.stop.notified() => return,
        }
    }
}

/// One conversation, to its end.
async fn talk(options: &AgentOptions, shared: &Shared, backoff: &mut Backoff) -> AttendError {
    let hello = wire::Hello {
        name: options.name.to_string(),
        addresses: options.addresses.clone(),
        up_bps: options.up.map(|rate| rate.as_bps()),
        down_bps: options.down.map(|rate| rate.as_bps()),
        ..Default::default()
    };
    let talk = match options.access.attend(hello, Some(&options.keys)).await {
        Ok(talk) => talk,
        Err(error) => return error,
    };
    backoff.reset();
    let Conversation { say, mut hear, welcome, controller } = talk;
    let attached = Attached { controller, incarnation: welcome.incarnation };
    shared.state().handle_attached(shared.now(), attached);
    shared.changed.notify_all();
    shared.work.notify_one();
    let mut progress = interval(PROGRESS);
    progress.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let gone = |why: &str| options.access.unreachable(why);
    loop {
        tokio::select! {
            heard = hear.message() => match heard {
                Ok(Some(wire::ToHost { word: Some(Word::Refused(refused)) })) => {
                    return options.access.refused(refused);
                }
                Ok(Some(wire::ToHost { word })) => {
                    if let Some(word) = word {
                        shared.state().handle_word(shared.now(), word);
                        shared.changed.notify_all();
                    }
                }
                Ok(None) => return gone("it closed the connection"),
                Err(status) => return gone(status.message()),
            },
            () = shared.work.notified() => {}
            _ = progress.tick() => {
                while let Ok(room) = say.try_reserve() {
                    let Some(word) = shared.state().poll_progress() else { break };
                    room.send(said(word));
                }
            }
        }
        // What finds no room waits for the next turn: hearing goes on meanwhile.
        while let Ok(room) = say.try_reserve() {
            let Some(word) = shared.state().poll_word() else { break };
            room.send(said(word));
        }
    }
}
