//! Progress on stderr, where that is a terminal and somebody may look.

use std::{borrow::Cow, io::IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

use crate::wait::TICK;

/// A bar of bytes.
pub(crate) fn bytes(total: u64, what: impl Into<Cow<'static, str>>) -> ProgressBar {
    let template = "{msg}  {wide_bar}  {percent:>3} %  {binary_bytes} of {binary_total_bytes}  \
                    {binary_bytes_per_sec}  {eta}";
    visible(ProgressBar::new(total), template).with_message(what)
}

/// A bar of things to be done.
pub(crate) fn count(total: u64, what: impl Into<Cow<'static, str>>) -> ProgressBar {
    let bar = visible(ProgressBar::new(total), "{msg}  {wide_bar}  {pos} of {len}  {eta} left");
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar.with_message(what)
}

/// A sign of life where nobody knows how long it takes.
pub(crate) fn spinner(what: impl Into<Cow<'static, str>>) -> ProgressBar {
    let bar = visible(ProgressBar::new_spinner(), "{spinner} {msg}  {elapsed}").with_message(what);
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}

/// A count of bytes of which nobody knows how many there will be.
pub(crate) fn stream(what: impl Into<Cow<'static, str>>) -> ProgressBar {
    let template = "{spinner} {msg}  {binary_bytes}  {binary_bytes_per_sec}  {elapsed}";
    visible(ProgressBar::new_spinner(), template).with_message(what)
}

fn visible(bar: ProgressBar, template: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━─"))
}
