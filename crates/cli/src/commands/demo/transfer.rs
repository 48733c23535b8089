//! One sender, one receiver, one emulated link.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use laxity_endpoint::{DeliveryReport, Endpoint, Finish, Fraction, Key, Missing, Outgoing, Peer};
use laxity_interface::Span;
use laxity_lab::{EmbeddedLink, Path};

/// A pair of endpoints in this process with a link between them.
pub(super) struct Pair {
    peer: Peer,
    data: bytes::Bytes,
    reports: mpsc::Receiver<Result<DeliveryReport>>,
    // In this order: the sender says goodbye while the link still carries it.
    _sender: Endpoint,
    link: EmbeddedLink,
}

/// How a transfer went.
pub(super) struct Outcome {
    /// From the call to send until the receiver's last word.
    pub(super) elapsed: Duration,
    /// Part of the tensor that arrived.
    pub(super) delivered: f64,
    /// How late the emulated link was, at the 99th percentile of its packets.
    pub(super) late: Span,
}

/// Datagrams as on an ordinary Ethernet, although loopback would carry larger ones.
const DATAGRAM: u16 = 1472;

impl Pair {
    pub(super) fn start(path: &Path, seed: u64, elements: usize) -> Result<Self> {
        let key = Key::new(*b"laxity demo: not a secret at all");
        let bind = || {
            Endpoint::builder()
                .key(key.clone())
                .max_datagram(DATAGRAM)
                .bind("127.0.0.1:0".parse().expect("an address"))
        };
        let (receiver, sender) = (bind()?, bind()?);
        let link = EmbeddedLink::start(receiver.local_addr(), path, seed)?;
        let (tell, reports) = mpsc::channel();
        std::thread::spawn(move || receive(&receiver, elements, &tell));
        let peer = sender.connect(link.address()).context("the demo's own receiver is gone")?;
        let numbers: Vec<u8> = (0..elements).flat_map(|at| value(at).to_le_bytes()).collect();
        Ok(Self { peer, data: numbers.into(), reports, _sender: sender, link })
    }

    /// Sends the tensor once; `progress` hears how much has arrived.
    pub(super) fn transfer(
        &self,
        min_delivery: Fraction,
        enough: bool,
        mut progress: impl FnMut(f64),
    ) -> Result<Outcome> {
        let finish = if enough { Finish::Enough } else { Finish::FirstPass };
        let job = Outgoing::shared::<f32>(self.data.clone())
            .min_delivery(min_delivery)
            .finish(finish)
            .time_limit(Duration::from_secs(60));
        let before = self.link.totals();
        let started = Instant::now();
        let handle = self.peer.start(&job)?;
        while !handle.is_finished() {
            if let Some(so_far) = handle.progress() {
                progress(so_far.received as f64 / so_far.total.max(1) as f64);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let sent = handle.wait()?;
        let elapsed = sent.elapsed.to_std().min(started.elapsed());
        let received = self.reports.recv().context("the demo's own receiver is gone")??;
        ensure!(received.missing == sent.missing, "both sides must agree on what is missing");
        ensure!(sent.fraction() >= min_delivery.get(), "less than promised was delivered");
        let late = self.link.totals().lateness.since(&before.lateness).percentile(0.99);
        Ok(Outcome { elapsed, delivered: sent.fraction(), late })
    }
}

/// The element at a place: checkable, and never zero.
fn value(at: usize) -> f32 {
    (at % 8191 + 1) as f32
}

fn receive(endpoint: &Endpoint, elements: usize, tell: &mpsc::Sender<Result<DeliveryReport>>) {
    let mut buffer = vec![0f32; elements];
    loop {
        buffer.fill(0.0);
        let outcome = endpoint
            .recv_into(&mut buffer)
            .map_err(anyhow::Error::from)
            .and_then(|report| check(&buffer, report));
        if tell.send(outcome).is_err() {
            return;
        }
    }
}

/// Every number that is not reported missing must be there, and right.
fn check(buffer: &[f32], report: DeliveryReport) -> Result<DeliveryReport> {
    let Missing::Elements(missing) = &report.missing else {
        anyhow::bail!("a tensor was sent and messages came");
    };
    let mut holes = missing.iter().peekable();
    for (at, number) in buffer.iter().enumerate() {
        while holes.next_if(|hole| hole.1 <= at as u64).is_some() {}
        let hole = holes.peek().is_some_and(|hole| hole.0 <= at as u64);
        let expect = if hole { 0.0 } else { value(at) };
        ensure!(*number == expect, "element {at} is {number}, not {expect}");
    }
    Ok(report)
}
