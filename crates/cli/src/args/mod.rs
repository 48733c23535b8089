//! The command line: what there is, and what commands have in common.

mod network;

use clap::{Parser, Subcommand};

pub(crate) use network::{KeyArgs, NetworkArgs};

use crate::commands::{
    bench, completions, controller, demo, doctor, keygen, lab, man, plan, recv, reproduce, send,
    sim, switch_config, train, why,
};

/// Send data that may lose a stated part, and never more.
///
/// Laxity is a network layer for jobs that have slack. Say how much of the data must arrive, and
/// the transport spends the rest to finish sooner: packets that the job can do without are not
/// waited for. Both sides are told exactly what is missing.
#[derive(Debug, Parser)]
#[command(
    name = "laxity",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = AFTER
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER: &str = "\
To begin with:
  laxity keygen laxity.key                 # once; copy the file to both machines
  laxity recv out.bin --bind :7000 --key-file laxity.key
  laxity send in.bin --to HOST:7000 --key-file laxity.key --min-delivery 99%

Units: sizes `25MiB`, `1400B`; times `200us`, `1.5s`; rates `10Gbps`; fractions `0.95`, `95%`.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

/// Everything `laxity` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Keygen(keygen::KeygenArgs),
    Send(send::SendArgs),
    Recv(recv::RecvArgs),
    Doctor(doctor::DoctorArgs),
    Lab(lab::LabArgs),
    Demo(demo::DemoArgs),
    Bench(bench::BenchArgs),
    SwitchConfig(switch_config::SwitchConfigArgs),
    Plan(plan::PlanArgs),
    Sim(sim::SimArgs),
    Reproduce(reproduce::ReproduceArgs),
    Train(Box<train::TrainArgs>),
    Controller(Box<controller::ControllerArgs>),
    Why(why::WhyArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_contradicts_nowhere() {
        Cli::command().debug_assert();
    }
}
