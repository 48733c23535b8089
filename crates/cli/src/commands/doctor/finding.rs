//! One thing that was looked at.

use laxity_report::Row;

/// How it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::commands) enum Status {
    /// As it should be.
    Ok,
    /// It works, but slower or less surely.
    Warn,
    /// It does not work.
    Fail,
}

/// What was looked at, how it is, what was found, what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::commands) struct Finding {
    check: &'static str,
    pub(in crate::commands) status: Status,
    found: String,
    remedy: Option<String>,
}

impl Finding {
    /// As it should be.
    pub(in crate::commands) fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, status: Status::Ok, found: found.into(), remedy: None }
    }

    /// Not as it should be, and what to do about it.
    pub(in crate::commands) fn warn(
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { status: Status::Warn, remedy: Some(remedy.into()), ..Self::ok(check, found) }
    }

    /// In the way of any work, and what to do about it.
    pub(in crate::commands) fn fail(
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { status: Status::Fail, ..Self::warn(check, found, remedy) }
    }

    /// As it should be if `good`, else a warning.
    pub(in crate::commands) fn ok_if(
        good: bool,
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        if good { Self::ok(check, found) } else { Self::warn(check, found, remedy) }
    }

    /// As a row of the report.
    pub(in crate::commands) fn row(self) -> Row {
        let status = match self.status {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "fail",
        };
        Row::new()
            .with("check", self.check)
            .with("status", status)
            .with("found", self.found)
            .with("remedy", self.remedy)
    }
}
