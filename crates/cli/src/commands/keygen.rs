//! `laxity keygen`: a new key.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Result;
use clap::Args;
use laxity_report::Row;

use crate::{
    keys,
    output::{self, To},
};

/// Make a key that both sides share.
///
/// The key has 256 bits of the operating system's randomness. Whoever has it may join; nobody else
/// can join, read, inject, replay or stop anything. Copy the file to every machine over a channel
/// that you trust, such as scp.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  laxity keygen                        # writes laxity.key, readable by you only
  laxity keygen - | ssh host 'umask 077; cat > laxity.key'")]
pub(crate) struct KeygenArgs {
    /// Where to write it (mode 0600); `-` prints it.
    #[arg(value_name = "FILE", default_value = "laxity.key")]
    file: PathBuf,

    /// Replace an existing file. Whoever has the old key is locked out.
    #[arg(long)]
    force: bool,

    /// Print what was made as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(args: &KeygenArgs) -> Result<()> {
    let started = Instant::now();
    let key = keys::generate()?;
    let printed = args.file == Path::new("-");
    if !printed {
        keys::write(&args.file, &key, args.force)?;
    }
    let (file, id) = (args.file.display().to_string(), keys::id_text(&key));
    if args.json {
        let mut row = Row::new().with("file", file.as_str()).with("key_id", id);
        if printed {
            row = row.with("key", key.to_text());
        }
        return output::emit(&output::report(started).row(row), true, To::Stdout, &[]);
    }
    if printed {
        return output::print(&format!("{}\n", key.to_text()), To::Stdout);
    }
    let text = format!(
        "wrote {file} (key id {id})\n\
         copy it to the other side, then give both --key-file {file} or set LAXITY_KEY_FILE\n"
    );
    output::print(&text, To::Stdout)
}
