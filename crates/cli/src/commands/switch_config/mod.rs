//! `laxity switch-config`: the queue layout for slack, in the words of real switches.

mod cumulus;
mod sonic;
mod tc;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use laxity_interface::{Bytes, Rate};
use laxity_switch::{ETHERNET_HEADER, Limit, MAX_QUEUES, QueueLayout, SLACK_CODE_POINTS};

use crate::output::{self, To};

/// Print the switch configuration that slack needs.
///
/// Eight queues per port with strict priority: the first for exact and foreign traffic, with ECN
/// marks and nearly all the buffer; seven tiny ones behind it for traffic with slack, seven packets
/// for the least and one packet for the most patient. Packets ask for a queue by their DSCP.
/// Nothing is changed: read what is printed, then apply it yourself.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  laxity switch-config --for tc --dev eth1 --rate 10Gbps | ssh router sudo sh
  laxity switch-config --for sonic --dev Ethernet0,Ethernet4 > laxity.json
  laxity switch-config --for cumulus --dev swp1-swp32 --mtu 9000 --buffer 2MB")]
pub(crate) struct SwitchConfigArgs {
    /// Whose words to use.
    #[arg(long = "for", value_name = "SWITCH")]
    dialect: Dialect,

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

    /// Above how many waiting packets exact traffic is marked.
    #[arg(long, default_value_t = laxity_switch::SLACK_MARK_PACKETS, value_name = "N")]
    ecn_packets: u32,
}

/// Whose configuration is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Dialect {
    /// A shell script for Linux: htb classes, bfifo leaves, u32 filters.
    Tc,
    /// JSON for SONiC's config_db.
    Sonic,
    /// The two files of NVIDIA Cumulus Linux under datapath/qos.
    Cumulus,
}

/// What the dialects have to say.
struct Plan {
    ports: Vec<String>,
    mtu: Bytes,
    /// How many bytes each queue holds, Ethernet headers included; the first is served first.
    limits: Vec<Bytes>,
    /// Above how many bytes the first queue marks.
    mark: Bytes,
}

impl Plan {
    fn new(args: &SwitchConfigArgs) -> Result<Self> {
        let packet = args.mtu + ETHERNET_HEADER;
        // The tiny queues hold 7 + 6 + … + 1 packets; marks need room above their threshold.
        let tiny = (MAX_QUEUES * (MAX_QUEUES - 1) / 2) as u64;
        let mark = packet * u64::from(args.ecn_packets);
        let least = packet * tiny + mark + packet;
        if args.buffer < least {
            bail!(
                "a buffer of {} is too small for {tiny} packets with slack and {} packets before \
                 marks: give --buffer {least} or more, or fewer --ecn-packets",
                args.buffer,
                args.ecn_packets,
            );
        }
        let layout = QueueLayout::slack_marking(args.buffer, args.mtu, args.ecn_packets);
        let limits = layout.queues.iter().map(|queue| match queue.limit {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(_) | Limit::Shared => unreachable!("this layout counts bytes"),
        });
        let names = args.dev.as_deref().unwrap_or(match args.dialect {
            Dialect::Tc => "eth0",
            Dialect::Sonic => "Ethernet0",
            Dialect::Cumulus => "swp1",
        });
        let ports: Vec<_> = names.split(',').map(|name| name.trim().to_owned()).collect();
        for port in &ports {
            let known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            // What is printed goes into shells and files: nothing that means something there.
            if port.is_empty() || !port.chars().all(known) || port.starts_with('-') {
                bail!(
                    "`{port}` is no name of a port: give letters, digits, `.`, `_` and `-`, \
                     several names separated by commas"
                );
            }
        }
        Ok(Self { ports, mtu: args.mtu, limits: limits.collect(), mark })
    }

    /// A full frame.
    fn packet(&self) -> Bytes {
        self.mtu + ETHERNET_HEADER
    }

    /// The classes with slack: number, code point, and what the queue holds.
    fn slack(&self) -> impl Iterator<Item = (usize, u8, Bytes)> + '_ {
        (1..MAX_QUEUES).map(|class| (class, SLACK_CODE_POINTS[class], self.limits[class]))
    }

    /// The code points that go to the first queue.
    fn exact_points() -> impl Iterator<Item = u8> {
        (0..64).filter(|point| !SLACK_CODE_POINTS[1..].contains(point))
    }
}

/// Real switches serve the queue with the highest number first; ours has number 0.
const fn hardware_queue(class: usize) -> usize {
    MAX_QUEUES - 1 - class
}

/// Runs it.
pub(crate) fn run(args: &SwitchConfigArgs) -> Result<()> {
    let plan = Plan::new(args)?;
    let text = match (args.dialect, args.rate) {
        (Dialect::Tc, Some(rate)) => tc::script(&plan, rate),
        (Dialect::Tc, None) => bail!(
            "tc needs --rate: its queues only fill if it sends slower than the port does; give the \
             port's rate or a little less"
        ),
        (Dialect::Sonic, _) => sonic::config(&plan),
        (Dialect::Cumulus, _) => cumulus::files(&plan),
    };
    output::print(&text, To::Stdout)
}
