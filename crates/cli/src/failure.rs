//! Errors for people: what failed, why, how far it got, what to do.

use std::{
    fmt,
    io::{self, Write},
    process::ExitCode,
};

/// What was being done when it failed, as context of an error.
#[derive(Debug)]
pub(crate) struct Note {
    what: String,
    so_far: Option<String>,
    remedy: Option<String>,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Adds a [`Note`] to whatever went wrong.
pub(crate) trait Explain<T> {
    /// What failed and what to do about it.
    fn explain(self, what: impl Into<String>, remedy: impl Into<String>) -> anyhow::Result<T>;

    /// What failed, how far it had got, and what to do about it.
    fn explain_progress(
        self,
        what: impl Into<String>,
        so_far: Option<String>,
        remedy: impl Into<String>,
    ) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Explain<T> for Result<T, E> {
    fn explain(self, what: impl Into<String>, remedy: impl Into<String>) -> anyhow::Result<T> {
        self.explain_progress(what, None, remedy)
    }

    fn explain_progress(
        self,
        what: impl Into<String>,
        so_far: Option<String>,
        remedy: impl Into<String>,
    ) -> anyhow::Result<T> {
        self.map_err(|error| {
            let error = error.into();
            // Who says nothing new leaves what was said before.
            let within = error.downcast_ref::<Note>();
            let so_far = so_far.or_else(|| within?.so_far.clone());
            let remedy = Some(remedy.into()).filter(|text| !text.is_empty());
            let remedy = remedy.or_else(|| within?.remedy.clone());
            error.context(Note { what: what.into(), so_far, remedy })
        })
    }
}

/// The command line asks for something that cannot be: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error of usage.
pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    Usage(text.into()).into()
}

/// Whoever read our output had enough of it: no failure of ours.
#[derive(Debug)]
pub(crate) struct NobodyReads;

impl fmt::Display for NobodyReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whoever read the output has gone")
    }
}

impl std::error::Error for NobodyReads {}

/// A signal came: exit code 128 and its number.
#[derive(Debug)]
pub(crate) struct Interrupted {
    /// Its number.
    pub(crate) signal: i32,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.signal == libc::SIGINT { "interrupted" } else { "told to stop" })
    }
}

impl std::error::Error for Interrupted {}

/// Prints an error to stderr and says how to exit.
pub(crate) fn print(error: &anyhow::Error) -> ExitCode {
    if is_unread(error) {
        return ExitCode::SUCCESS;
    }
    // Where nobody can be told, such as on a terminal that has gone, the exit code still tells.
    let _ = io::stderr().write_all(describe(error).as_bytes());
    exit_code(error)
}

/// An error in full.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    let mut text = format!("error: {said}\n");
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Many errors name their cause themselves.
        if !said.contains(&cause) {
            text += &format!("  because: {cause}\n");
            said = cause;
        }
    }
    if let Some(note) = error.downcast_ref::<Note>() {
        for (heading, line) in [("so far:  ", &note.so_far), ("try:     ", &note.remedy)] {
            if let Some(line) = line {
                text += &format!("  {heading}{line}\n");
            }
        }
    }
    text
}

/// Whether a signal is behind an error.
pub(crate) fn is_interrupt(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Interrupted>().is_some()
}

/// What ended a command that has something to show: that is shown first, and then it is still an error.
/// What ends one before there is anything to show is passed on at once.
pub(crate) fn shown_when_stopped(
    ended: anyhow::Result<()>,
    something: bool,
) -> anyhow::Result<Option<anyhow::Error>> {
    match ended {
        Ok(()) => Ok(None),
        Err(error) if something => {
            let what = error.to_string();
            let within = error.downcast_ref::<Note>().and_then(|note| note.so_far.as_deref());
            let so_far = match within {
                Some(within) => format!("{within}; what there was before is shown"),
                None => "what there was until then is shown".to_owned(),
            };
            Ok(Err::<(), _>(error).explain_progress(what, Some(so_far), "").err())
        }
        Err(error) => Err(error),
    }
}

/// What to do about an error, where somebody said.
pub(crate) fn remedy_of(error: &anyhow::Error) -> Option<&str> {
    error.downcast_ref::<Note>()?.remedy.as_deref()
}

fn exit_code(error: &anyhow::Error) -> ExitCode {
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        return ExitCode::from(128 + interrupted.signal as u8);
    }
    ExitCode::from(if error.downcast_ref::<Usage>().is_some() { 2 } else { 1 })
}

/// Whether only the reader of our output is behind an error. A connection that breaks is not.
fn is_unread(error: &anyhow::Error) -> bool {
    error.root_cause().is::<NobodyReads>()
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let error = io::Error::other("no route");
        let error = Err::<(), _>(error).context("cannot bind a:1: no route").context("no port");
        let text = describe(&error.unwrap_err());
        assert_eq!(text, "error: no port\n  because: cannot bind a:1: no route\n");
    }

    #[test]
    fn a_connection_that_breaks_is_a_failure_and_a_reader_that_goes_is_none() {
        let broken = anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(!is_unread(&broken.context("a transfer")));
        assert!(is_unread(&anyhow::Error::from(NobodyReads).context("cannot print")));
    }

    #[test]
    fn an_error_says_what_why_how_far_and_what_to_do() {
        let cause = Err::<(), _>(io::Error::other("the cable fell out"));
        let so_far = Some("3 of 4 MiB".to_owned());
        let error = cause.explain_progress("cannot send `x` to a:1", so_far, "plug it in again");
        let expected = "error: cannot send `x` to a:1\n  because: the cable fell out\n  \
                        so far:  3 of 4 MiB\n  try:     plug it in again\n";
        assert_eq!(describe(&error.unwrap_err()), expected);
    }

    #[test]
    fn what_was_said_deeper_inside_is_not_lost() {
        let inner =
            Err::<(), _>(io::Error::other("full")).explain("cannot write", "free some space");
        let outer = inner.explain("cannot receive", "").unwrap_err();
        assert_eq!(remedy_of(&outer), Some("free some space"));
        assert!(describe(&outer).contains("because: cannot write\n  because: full"));
    }

    #[test]
    fn what_there_is_to_show_is_shown_whatever_ended_it() {
        let failed = || Err(anyhow::Error::new(io::Error::other("a worker died")));
        assert!(shown_when_stopped(failed(), false).is_err(), "nothing to show");
        assert!(shown_when_stopped(Ok(()), true).unwrap().is_none());
        let error = shown_when_stopped(failed(), true).unwrap().unwrap();
        let expected = "error: a worker died\n  so far:  what there was until then is shown\n";
        assert_eq!(describe(&error), expected);
        let inner = failed().explain_progress("cannot send", Some("1 of 2 MiB".to_owned()), "wait");
        let text = describe(&shown_when_stopped(inner, true).unwrap().unwrap());
        assert!(text.contains("1 of 2 MiB; what there was before is shown"), "{text}");
        assert!(text.contains("try:     wait"), "{text}");
    }

    #[test]
    fn codes_survive_context() {
        let wrapped = |error: anyhow::Error| Err::<(), _>(error).explain("a", "b").unwrap_err();
        let code = |error| format!("{:?}", exit_code(&wrapped(error)));
        assert_eq!(code(usage("no")), format!("{:?}", ExitCode::from(2)));
        let signal = Interrupted { signal: 2 };
        assert_eq!(code(signal.into()), format!("{:?}", ExitCode::from(130)));
        assert_eq!(code(io::Error::other("x").into()), format!("{:?}", ExitCode::from(1)));
    }
}
