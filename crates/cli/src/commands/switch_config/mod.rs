//! `laxity switch-config`: queue layouts in the words of real switches.

mod cumulus;
mod plan;
mod sonic;
mod tc;

use anyhow::Result;
use clap::{Args, ValueEnum};
use laxity_interface::{Bytes, Layout, Rate};

use self::plan::Plan;
use crate::{
    failure::usage,
    output::{self, To},
};

/// Print the switch configuration that Laxity's classes need.
///
/// Both layouts have eight queues per port with strict priority, and packets ask for a queue by their
/// DSCP. In `shared`, the default, all queues mark (ECN) and share the buffer: whoever has least left
/// to deliver goes first. In `slack`, the NetApprox paper's, the first queue is for exact and foreign
/// traffic, with marks and nearly all the buffer, and seven tiny ones behind it lose what does not
/// fit; hosts have to be told of it. Nothing is changed: read what is printed, then apply it yourself.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  laxity switch-config --for tc --dev eth1 --rate 10Gbps | ssh router sudo sh
  laxity switch-config --for sonic --dev Ethernet0,Ethernet4 > laxity.json
  laxity switch-config --layout slack --for cumulus --dev swp1-swp32 --mtu 9000 --buffer 2MB")]
pub(crate) struct SwitchConfigArgs {
    /// Whose words to use.
    #[arg(long = "for", value_name = "SWITCH")]
    dialect: Dialect,

    /// Which queues: `shared` or `slack`.
    #[arg(long, default_value_t, value_name = "NAME")]
    layout: Layout,

    /// The ports, separated by commas; by default the first one as the switch calls it.
    #[arg(long, value_name = "NAMES")]
    dev: Option<String>,

    /// The rate of the port. Needed for tc, which queues only what it holds back itself.
    #[arg(long)]
    rate: Option<Rate>,

    /// The largest packet, without the Ethernet header.
    #[arg(long, default_value = "1500B", value_name = "SIZE")]
    mtu: Bytes,

    /// The buffer of one port, for all its queues together.
    #[arg(long, default_value = "1MB", value_name = "SIZE")]
    buffer: Bytes,

    /// Above how many waiting packets a queue that marks does.
    #[arg(long, default_value_t = laxity_switch::MARK_PACKETS, value_name = "N")]
    ecn_packets: u32,
}

/// Whose configuration is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Dialect {
    /// A shell script for Linux: htb classes, red or bfifo leaves, u32 filters.
    Tc,
    /// JSON for SONiC's config_db.
    Sonic,
    /// The two files of NVIDIA Cumulus Linux under datapath/qos.
    Cumulus,
}

/// Runs it.
pub(crate) fn run(args: &SwitchConfigArgs) -> Result<()> {
    let plan = Plan::new(args)?;
    let text = match (args.dialect, args.rate) {
        (Dialect::Tc, Some(rate)) => tc::script(&plan, rate),
        (Dialect::Tc, None) => {
            return Err(usage(
                "tc needs --rate: its queues only fill if it sends slower than the port does; give \
                 the port's rate or a little less",
            ));
        }
        (Dialect::Sonic, _) => sonic::config(&plan),
        (Dialect::Cumulus, _) => cumulus::files(&plan),
    };
    output::print(&text, To::Stdout)
}
