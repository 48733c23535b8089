//! What each command does, one module each.

pub(crate) mod bench;
pub(crate) mod completions;
mod connect;
pub(crate) mod controller;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod keygen;
pub(crate) mod lab;
pub(crate) mod man;
mod others;
pub(crate) mod plan;
pub(crate) mod recv;
pub(crate) mod reproduce;
pub(crate) mod send;
pub(crate) mod sim;
mod star;
pub(crate) mod switch_config;
pub(crate) mod train;
pub(crate) mod why;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::Command;

/// Runs a command; errors are printed by `main`.
pub(crate) fn run(command: Command) -> Result<ExitCode> {
    let done = |()| ExitCode::SUCCESS;
    match command {
        Command::Keygen(args) => keygen::run(&args).map(done),
        Command::Send(args) => send::run(&args).map(done),
        Command::Recv(args) => recv::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Demo(args) => demo::run(&args).map(done),
        Command::Bench(args) => bench::run(&args).map(done),
        Command::SwitchConfig(args) => switch_config::run(&args).map(done),
        Command::Plan(args) => plan::run(&args).map(done),
        Command::Sim(args) => sim::run(&args).map(done),
        Command::Reproduce(args) => reproduce::run(&args).map(done),
        Command::Train(args) => train::run(&args).map(done),
        Command::Controller(args) => controller::run(&args).map(done),
        Command::Why(args) => why::run(&args).map(done),
        Command::Completions(args) => completions::run(&args).map(done),
        Command::Man(args) => man::run(&args).map(done),
    }
}
