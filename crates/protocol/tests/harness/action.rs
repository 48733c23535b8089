//! What applications do at planned times.

use laxity_interface::{GroupId, Span};
use laxity_protocol::{RecvId, ResetCode, SendRequestError};

use super::World;

/// One thing to do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Node connects to node.
    Connect(usize, usize),
    /// Starts the job with this index.
    Start(usize),
    /// Adds a message to a job's window.
    Push(usize, GroupId, u64),
    /// Closes a job's window.
    CloseWindow(usize),
    /// Makes room for a job.
    Claim(usize, RecvId),
    /// The sender of the job with this index does not want it any more.
    CancelSend(usize),
    /// The receiver does not.
    CancelRecv(usize, RecvId, ResetCode),
    /// A node ends its connection to another.
    Close(usize, usize),
    /// A node dies: it neither sends nor reacts from now on.
    Kill(usize),
    /// A node's host does not run it for a while.
    Stall(usize, Span),
}

impl World {
    /// Does one planned thing.
    pub(super) fn act(&mut self, action: Action) {
        let now = self.now;
        let node = match action {
            Action::Stall(node, span) => return self.stall(node, span),
            Action::Connect(from, to) => {
                let address = self.nodes[to].address;
                let peer = self.nodes[from].endpoint.connect(now, address);
                let peer = peer.expect("tests stay below limits");
                self.nodes[from].peers.insert(peer, to);
                from
            }
            Action::Start(index) => {
                self.start(index);
                self.jobs[index].from
            }
            Action::Push(index, group, size) => {
                let job = &mut self.jobs[index];
                let from = job.from;
                if let Some(id) = job.id
                    && self.nodes[from].endpoint.push(id, group, size).is_ok()
                {
                    job.note_message(group, size);
                }
                from
            }
            Action::CloseWindow(index) => {
                let job = &self.jobs[index];
                if let Some(id) = job.id {
                    // A window that has failed is no longer open.
                    let _ = self.nodes[job.from].endpoint.close_window(id);
                }
                job.from
            }
            Action::Claim(node, id) => {
                self.nodes[node].endpoint.claim(now, id);
                node
            }
            Action::CancelSend(index) => {
                let job = &self.jobs[index];
                if let Some(id) = job.id {
                    self.nodes[job.from].endpoint.cancel_send(id);
                }
                job.from
            }
            Action::CancelRecv(node, id, code) => {
                self.nodes[node].endpoint.cancel_recv(now, id, code);
                node
            }
            Action::Close(node, other) => {
                if let Some(peer) = self.peer(node, other) {
                    self.nodes[node].endpoint.close(now, peer);
                }
                node
            }
            Action::Kill(node) => {
                self.nodes[node].alive = false;
                node
            }
        };
        if self.nodes[node].alive {
            self.drain(node);
        }
    }

    fn start(&mut self, index: usize) {
        let now = self.now;
        let (from, to) = (self.jobs[index].from, self.jobs[index].to);
        if !self.nodes[from].alive {
            return;
        }
        let peer = self.peer(from, to).expect("planned when connected");
        let job = &mut self.jobs[index];
        match self.nodes[from].endpoint.send(now, peer, &job.request) {
            Ok(id) => (job.id, job.started) = (Some(id), Some(now)),
            Err(SendRequestError::NoSuchPeer) => job.skipped = true,
            Err(SendRequestError::TooManyJobs(_)) => {
                (job.skipped, job.overbooked) = (true, true);
            }
            Err(error) => panic!("job {index} cannot start: {error}"),
        }
        if let Some(after) = job.cancel_send {
            self.plan(now + after, Action::CancelSend(index));
        }
        let job = &self.jobs[index];
        if !job.is_window() {
            return;
        }
        let (pushes, close_at) = (job.pushes.clone(), job.close_at);
        for (after, group, size) in pushes {
            self.plan(now + after, Action::Push(index, group, size));
        }
        self.plan(now + close_at, Action::CloseWindow(index));
    }
}
