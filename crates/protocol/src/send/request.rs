//! What an application asks for when it sends.

use laxity_interface::{Finish, Fraction, GroupId, Span};

use crate::wire::ElementType;

/// A group of a job: how much of it must arrive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GroupSpec {
    /// The application's name for it.
    pub id: GroupId,
    /// The fraction that must arrive; 1 means everything.
    pub min_delivery: Fraction,
}

/// In which order a job's messages leave. Tensors do not care: chunks are placed by index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MessageOrder {
    /// Fewest remaining bytes first; what got lost is sent again only if the budget needs it. Exact
    /// groups keep their order all the same.
    #[default]
    FewestRemaining,
    /// Fewest remaining bytes first, new messages and lost ones alike (NetApprox' MRDF as written,
    /// §4.3). A message that lost something counts against the budget until it has arrived.
    FewestRemainingOfAll,
    /// As handed in, for messages that depend on each other.
    Given,
    /// As handed in; once all have been sent everything that got lost, until the receiver says that
    /// it has enough (the papers' ATP_Base and ATP_RC).
    LostLast,
}

/// What is sent.
#[derive(Clone, PartialEq, Debug)]
pub enum Payload {
    /// One vector, cut into chunks.
    Tensor {
        /// What it holds.
        element: ElementType,
        /// How many.
        elements: u64,
        /// From which element on which group counts, ascending, starting at 0. A chunk that touches
        /// several groups belongs to the strictest. Empty: everything belongs to the first group.
        groups: Vec<(u64, GroupId)>,
    },
    /// Separate messages: group and size of each.
    Messages {
        /// In the order of the application.
        sizes: Vec<(GroupId, u64)>,
        /// More will follow: an estimate of how many messages each group (in the order of
        /// [`SendRequest::groups`]) will have in the end. Empty: this is all.
        estimate: Vec<u64>,
        /// The largest message that may follow.
        max_message: u64,
    },
    /// Separate messages that follow one by one, of which it is known how many there will be. Because
    /// the counts are final from the start, such a job can end before its last message is there.
    Announced {
        /// How many messages each group (in the order of [`SendRequest::groups`]) will have.
        counts: Vec<u64>,
        /// Bytes of all of them, or more.
        bytes: u64,
        /// The largest of them.
        max_message: u64,
    },
}

/// A job to send.
#[derive(Clone, PartialEq, Debug)]
pub struct SendRequest {
    /// What.
    pub payload: Payload,
    /// How much of it must arrive.
    pub groups: Vec<GroupSpec>,
    /// When it counts as finished.
    pub finish: Finish,
    /// After this long it ends with what it has, if that is enough.
    pub deadline: Option<Span>,
    /// After this long it fails. `None`: the endpoint's default.
    pub time_limit: Option<Span>,
    /// Smaller goes first.
    pub priority: u32,
    /// Share among jobs of equal priority and deadline.
    pub weight: f64,
    /// Order of messages.
    pub order: MessageOrder,
    /// Whatever the receiving application should know, at most 256 bytes.
    pub label: Vec<u8>,
}

impl SendRequest {
    /// A tensor of which `min_delivery` must arrive.
    pub fn tensor(element: ElementType, elements: u64, min_delivery: Fraction) -> Self {
        Self::new(Payload::Tensor { element, elements, groups: Vec::new() }, min_delivery)
    }

    /// Messages of which `min_delivery` must arrive.
    pub fn messages(sizes: impl IntoIterator<Item = u64>, min_delivery: Fraction) -> Self {
        let sizes = sizes.into_iter().map(|size| (GroupId(0), size)).collect();
        let payload = Payload::Messages { sizes, estimate: Vec::new(), max_message: 0 };
        Self::new(payload, min_delivery)
    }

    /// So many messages that follow one by one, of which `min_delivery` must arrive: `bytes` together,
    /// none larger than `max_message`.
    pub fn announced(count: u64, bytes: u64, max_message: u64, min_delivery: Fraction) -> Self {
        Self::new(Payload::Announced { counts: vec![count], bytes, max_message }, min_delivery)
    }

    fn new(payload: Payload, min_delivery: Fraction) -> Self {
        Self {
            payload,
            groups: vec![GroupSpec { id: GroupId(0), min_delivery }],
            finish: Finish::default(),
            deadline: None,
            time_limit: None,
            priority: 0,
            weight: 1.0,
            order: MessageOrder::default(),
            label: Vec::new(),
        }
    }
}

/// Why a job cannot be sent as asked.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendRequestError {
    /// The peer is not known, or no longer.
    #[error("no such peer: it was never connected or the connection has ended")]
    NoSuchPeer,
    /// The handshake is not through.
    #[error("the peer is not connected yet: wait for the Connected event")]
    NotConnected,
    /// A job needs a group, and not too many.
    #[error("a job has 1 to 64 groups, not {0}")]
    Groups(usize),
    /// Two groups share a name.
    #[error("group {} is listed twice", .0.0)]
    DuplicateGroup(GroupId),
    /// A message or element range names a group that is not listed.
    #[error("group {} is used but not listed among the job's groups", .0.0)]
    UnknownGroup(GroupId),
    /// Element ranges must ascend from 0.
    #[error("element ranges of groups must start at 0 and ascend; see the one at element {0}")]
    Ranges(u64),
    /// Too much for one job.
    #[error(
        "a job of {pieces} packets is over the limit of {limit}; split it or use larger datagrams"
    )]
    TooLarge {
        /// Packets it would take.
        pieces: u64,
        /// Packets a job may take.
        limit: u64,
    },
    /// A window was opened for shorter messages.
    #[error("a message of {size} bytes is over the {limit} bytes its window was opened for")]
    MessageTooLong {
        /// Its bytes.
        size: u64,
        /// The largest it may have.
        limit: u64,
    },
    /// Groups and label do not fit one packet.
    #[error("the job's groups and label take {0} bytes, more than a packet has; use fewer groups")]
    Introduction(usize),
    /// The label is too long.
    #[error("a label has at most 256 bytes, not {0}")]
    Label(usize),
    /// Shares must be positive.
    #[error("weight must be a positive number, not {0}")]
    Weight(f64),
    /// The peer has enough to do.
    #[error("{0} jobs to this peer are under way already; wait for one to end")]
    TooManyJobs(usize),
    /// The window is not open.
    #[error("this job is not an open window, or it was closed already")]
    NotOpen,
    /// A job has exactly the messages that it announced.
    #[error(
        "this is not what the job announced: {messages} messages and {bytes} bytes are left of that"
    )]
    Announced {
        /// Messages of the group that have not come.
        messages: u64,
        /// Bytes of all groups that have not come.
        bytes: u64,
    },
    /// The estimate must cover every group.
    #[error("an estimate needs one number per group: {groups} groups, {given} numbers")]
    Estimate {
        /// Groups of the job.
        groups: usize,
        /// Numbers given.
        given: usize,
    },
}
