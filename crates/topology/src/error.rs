//! What can be wrong with a network, and with a way through it.

use laxity_interface::HostNameError;

/// Why a network was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// Two nodes have the same name.
    #[error("there are two nodes named `{name}`: give one of them another name")]
    DuplicateNode {
        /// The name.
        name: String,
    },
    /// A name is not one.
    #[error("`{name}` cannot name a node: {source}")]
    BadName {
        /// The text as given.
        name: String,
        /// What is wrong with it.
        source: HostNameError,
    },
    /// A link ends at a node that is not there.
    #[error("link {from} -> {to}: there is no node `{missing}`; add it to the hosts or switches")]
    MissingNode {
        /// Where the link starts.
        from: String,
        /// Where it ends.
        to: String,
        /// Which of both is missing.
        missing: String,
    },
    /// A link leads from a node to itself.
    #[error("link {node} -> {node} leads from a node to itself: remove it")]
    Loop {
        /// The node.
        node: String,
    },
    /// A link has no capacity.
    #[error("link {from} -> {to} has capacity 0: give it one such as `10Gbps`, or remove it")]
    NoCapacity {
        /// Where the link starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// There is no host of this name.
    #[error("there is no host `{name}` in this network; its hosts are {known}")]
    UnknownHost {
        /// The name as given.
        name: String,
        /// Some names that exist.
        known: String,
    },
    /// There is no link between two nodes.
    #[error("there is no link from `{from}` to `{to}` in this network")]
    UnknownLink {
        /// Where it would start.
        from: String,
        /// Where it would end.
        to: String,
    },
    /// A number that describes the shape makes no sense.
    #[error("{what} is {given}: give {expected}")]
    Shape {
        /// The name of the field.
        what: &'static str,
        /// Its value.
        given: String,
        /// What would be accepted.
        expected: &'static str,
    },
    /// More hosts than routes can be stored for.
    #[error("{hosts} hosts are too many: routes are stored for at most 65535")]
    TooManyHosts {
        /// How many there are.
        hosts: usize,
    },
    /// The text of a file cannot be read.
    #[error("the network cannot be read: {reason}")]
    Text {
        /// What the parser says, with line and column where it knows them.
        reason: String,
    },
}

/// Why there is no way from one host to another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// No path of links that are up leads there.
    #[error(
        "`{to}` cannot be reached from `{from}`: no path of links that are up; {down} are down"
    )]
    Unreachable {
        /// Where the path would start.
        from: String,
        /// Where it would end.
        to: String,
        /// How many links are down.
        down: usize,
    },
    /// One of the ends is a switch.
    #[error("`{node}` is a switch: routes lead from host to host")]
    NotAHost {
        /// The node.
        node: String,
    },
    /// Both ends are one host.
    #[error("a route from `{host}` to itself crosses no link: give two hosts")]
    SameHost {
        /// The host.
        host: String,
    },
}
