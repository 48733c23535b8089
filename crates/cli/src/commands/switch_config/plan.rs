//! What the dialects have to say: a layout as ports, queues, limits and marks.

use anyhow::Result;
use laxity_interface::{Bytes, Layout};
use laxity_switch::{ETHERNET_HEADER, Limit, MAX_QUEUES, QueueLayout, SLACK_CODE_POINTS};

use super::{Dialect, SwitchConfigArgs};
use crate::failure::usage;

/// The smallest packet size that IPv4 links have to carry.
const LEAST_MTU: Bytes = Bytes::new(576);

/// What is to be said.
pub(super) struct Plan {
    pub(super) layout: Layout,
    pub(super) ports: Vec<String>,
    mtu: Bytes,
    /// The buffer of a port.
    pub(super) buffer: Bytes,
    /// The queues, the one that is served first first.
    pub(super) queues: Vec<Queue>,
    /// Above how many bytes queues that mark do.
    pub(super) mark: Bytes,
}

/// One queue.
pub(super) struct Queue {
    /// How many bytes it holds, Ethernet headers included; what is left of the buffer if none.
    pub(super) limit: Option<Bytes>,
    pub(super) marks: bool,
}

impl Plan {
    pub(super) fn new(args: &SwitchConfigArgs) -> Result<Self> {
        if args.rate.is_some_and(|rate| rate.as_bps() < 1_000_000) {
            return Err(usage("--rate must be at least 1Mbps"));
        }
        if args.mtu < LEAST_MTU || args.ecn_packets == 0 {
            return Err(usage(format!(
                "--mtu must be at least {LEAST_MTU}, and --ecn-packets at least 1"
            )));
        }
        let packet = args.mtu + ETHERNET_HEADER;
        let mark = packet * u64::from(args.ecn_packets);
        // The tiny queues hold 7 + 6 + … + 1 packets; marks need room above their threshold.
        let tiny = match args.layout {
            Layout::Slack => (MAX_QUEUES * (MAX_QUEUES - 1) / 2) as u64,
            Layout::Shared => 0,
            Layout::Single => {
                return Err(usage(
                    "the layout `single` is what switches have without any configuration: give \
                     --layout shared or --layout slack",
                ));
            }
        };
        let least = packet * tiny + mark + packet;
        if args.buffer < least {
            return Err(usage(format!(
                "a buffer of {} is too small for {} packets before marks{}: give --buffer {least} \
                 or more, or fewer --ecn-packets",
                args.buffer,
                args.ecn_packets,
                if tiny > 0 { format!(" and {tiny} packets with slack") } else { String::new() },
            )));
        }
        let layout = QueueLayout::named(args.layout, args.buffer, args.mtu, args.ecn_packets);
        let queues = layout.queues.iter().map(|queue| Queue {
            limit: match queue.limit {
                Limit::Bytes(bytes) => Some(bytes),
                Limit::Shared => None,
                Limit::Packets(_) => unreachable!("these layouts count bytes"),
            },
            marks: queue.ecn.is_some(),
        });
        let ports = ports(args)?;
        let (mtu, buffer) = (args.mtu, args.buffer);
        Ok(Self { layout: args.layout, ports, mtu, buffer, queues: queues.collect(), mark })
    }

    /// A full frame.
    pub(super) fn packet(&self) -> Bytes {
        self.mtu + ETHERNET_HEADER
    }

    /// The classes behind the first: number and code point.
    pub(super) fn classes() -> impl Iterator<Item = (usize, u8)> {
        SLACK_CODE_POINTS.into_iter().enumerate().skip(1)
    }

    /// The code points that go to the first queue.
    pub(super) fn first_points() -> impl Iterator<Item = u8> {
        (0..64).filter(|point| !SLACK_CODE_POINTS[1..].contains(point))
    }

    /// What it is for, as a first line of a file.
    pub(super) fn title(&self) -> String {
        let (layout, about) = (self.layout, self.layout.about());
        format!("Layout `{layout}` ({about}), by `laxity switch-config`.")
    }
}

fn ports(args: &SwitchConfigArgs) -> Result<Vec<String>> {
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
            return Err(usage(format!(
                "`{port}` is no name of a port: give letters, digits, `.`, `_` and `-`, several \
                 names separated by commas"
            )));
        }
    }
    Ok(ports)
}

/// Real switches serve the queue with the highest number first; ours has number 0.
pub(super) const fn hardware_queue(class: usize) -> usize {
    MAX_QUEUES - 1 - class
}
