//! `laxity completions`: for the shell.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{
    args::Cli,
    output::{self, To},
};

/// Print completions for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  laxity completions bash > ~/.local/share/bash-completion/completions/laxity
  laxity completions zsh > ~/.zfunc/_laxity
  laxity completions fish > ~/.config/fish/completions/laxity.fish")]
pub(crate) struct CompletionsArgs {
    /// Which shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs it.
pub(crate) fn run(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "laxity", &mut script);
    output::print(&String::from_utf8_lossy(&script), To::Stdout)
}
