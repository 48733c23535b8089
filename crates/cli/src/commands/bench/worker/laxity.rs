//! Laxity, as an application would use it: one endpoint per host, buffers posted before the data comes,
//! one thread per flow.

use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use laxity_endpoint::{Endpoint, Finish, Fraction, Key, Outgoing, Peer};

use super::{
    Cue, Ended, Shared,
    clock::{now_ns, sleep_until},
    message::{Arrival, Event, LaxitySettings, Load, Receive, Send, Totals, Transport, Window},
};

/// Jobs of a stream that are under way at a time: the next one is there when one ends.
const AHEAD: usize = 2;
/// How often the receiver of a stream looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);

/// This host's endpoint for one run.
pub(super) fn bind(settings: &LaxitySettings, address: IpAddr) -> Result<Endpoint> {
    let builder = Endpoint::builder().layout(settings.layout);
    let builder = match settings.key {
        Some(key) => builder.key(Key::new(key)),
        None => builder.insecure(),
    };
    builder.bind((address, 0).into()).with_context(|| format!("cannot open a port on {address}"))
}

/// Receives one job per sender, or streams of them.
pub(super) fn receive(
    shared: &Arc<Shared>,
    endpoint: &Endpoint,
    receive: &Receive,
    cues: &mpsc::Receiver<Cue>,
) -> Ended {
    match receive.load {
        Load::Once => receive_once(shared, endpoint, receive)?,
        Load::Stream => {
            shared.tell(&Event::Ready);
            let Ok(Cue::Start(window)) = cues.recv() else { return Ok(Totals::default()) };
            receive_stream(shared, endpoint, receive, window)?;
            return until_close(cues);
        }
    }
    // First the start, which the posted buffers did not need, then the end.
    match cues.recv() {
        Ok(Cue::Start(_)) => until_close(cues),
        _ => Ok(Totals::default()),
    }
}

fn until_close(cues: &mpsc::Receiver<Cue>) -> Ended {
    while let Ok(Cue::Start(_)) = cues.recv() {}
    Ok(Totals::default())
}

fn receive_once(shared: &Arc<Shared>, endpoint: &Endpoint, receive: &Receive) -> Result<()> {
    let bytes = usize::try_from(receive.bytes)?;
    let flows: Vec<_> = (0..receive.senders)
        .map(|_| {
            let (shared, endpoint) = (shared.clone(), endpoint.clone());
            let mut buffer = shared.buffer(bytes);
            std::thread::spawn(move || {
                let report = endpoint.recv_into(&mut buffer[..bytes]);
                let at_ns = now_ns();
                shared.give_back(buffer);
                shared.complete.fetch_add(1, Ordering::Relaxed);
                let report = report.context("a job did not arrive")?;
                Ok::<_, anyhow::Error>(Arrival {
                    at_ns,
                    bytes: report.bytes,
                    delivered: report.fraction(),
                })
            })
        })
        .collect();
    shared.tell(&Event::Ready);
    let mut arrivals = Vec::new();
    for flow in flows {
        arrivals.push(flow.join().map_err(|_| anyhow!("a receiver panicked"))??);
    }
    shared.tell(&Event::Received { tag: receive.tag, arrivals });
    Ok(())
}

fn receive_stream(
    shared: &Arc<Shared>,
    endpoint: &Endpoint,
    receive: &Receive,
    window: Window,
) -> Result<()> {
    let bytes = usize::try_from(receive.bytes)?;
    let over = Arc::new(AtomicBool::new(false));
    // What one piece carries, as jobs say when they are opened.
    let per_piece = Arc::new(AtomicU64::new(0));
    let flows: Vec<_> = (0..receive.senders * AHEAD)
        .map(|_| {
            let (shared, endpoint) = (shared.clone(), endpoint.clone());
            let (over, per_piece) = (over.clone(), per_piece.clone());
            std::thread::spawn(move || {
                let mut buffer = shared.buffer(bytes);
                while !over.load(Ordering::Relaxed) {
                    let Ok(job) = endpoint.accept_timeout(LOOK) else { continue };
                    per_piece.store(u64::from(job.open().piece), Ordering::Relaxed);
                    // Jobs under way when the stream ends are cancelled by their sender.
                    if job.receive_into(&mut buffer[..bytes]).is_ok() {
                        shared.complete.fetch_add(1, Ordering::Relaxed);
                    }
                }
                shared.give_back(buffer);
            })
        })
        .collect();
    sleep_until(window.from_ns);
    let before = endpoint.stats().pieces_placed;
    sleep_until(window.until_ns);
    let pieces = endpoint.stats().pieces_placed - before;
    over.store(true, Ordering::Relaxed);
    for flow in flows {
        flow.join().map_err(|_| anyhow!("a receiver panicked"))?;
    }
    // Nothing at all is a result too: a port may serve others first.
    let bytes = pieces * per_piece.load(Ordering::Relaxed);
    let arrival = Arrival { at_ns: window.until_ns, bytes, delivered: 1.0 };
    shared.tell(&Event::Received { tag: receive.tag, arrivals: vec![arrival] });
    Ok(())
}

/// Connects, waits for the start, sends.
pub(super) fn send(
    shared: &Shared,
    endpoint: &Endpoint,
    send: &Send,
    cues: &mpsc::Receiver<Cue>,
) -> Ended {
    let Transport::Laxity(settings) = &send.transport else { bail!("not Laxity") };
    let peer = endpoint
        .connect(send.to)
        .with_context(|| format!("cannot connect to {} by Laxity", send.to))?;
    let data = shared.buffer(usize::try_from(send.bytes)?);
    shared.tell(&Event::Ready);
    let Ok(Cue::Start(window)) = cues.recv() else { return Ok(Totals::default()) };
    let repeated = match send.load {
        Load::Once => {
            sleep_until(window.start_ns);
            let job = describe(Outgoing::bytes(&data[..send.bytes as usize]), settings, send)?;
            let report = peer.send(job);
            shared.give_back(data);
            report.with_context(|| format!("a job to {} failed", send.to))?.repeated
        }
        Load::Stream => send_stream(&peer, data.into(), settings, send, window)?,
    };
    let _ = cues.recv();
    Ok(Totals { repeated, ..Totals::default() })
}

fn describe<'a>(job: Outgoing<'a>, settings: &LaxitySettings, send: &Send) -> Result<Outgoing<'a>> {
    Ok(job
        .min_delivery(Fraction::new(settings.min_delivery)?)
        .finish(if settings.enough { Finish::Enough } else { Finish::FirstPass })
        .time_limit(Duration::from_millis(send.limit_ms)))
}

fn send_stream(
    peer: &Peer,
    data: Bytes,
    settings: &LaxitySettings,
    send: &Send,
    window: Window,
) -> Result<u64> {
    sleep_until(window.start_ns);
    let data = data.slice(..send.bytes as usize);
    let mut repeated = 0;
    let mut under_way = VecDeque::new();
    while now_ns() < window.until_ns {
        while under_way.len() < AHEAD {
            let job = describe(Outgoing::shared::<u8>(data.clone()), settings, send)?;
            under_way.push_back(peer.start(&job)?);
        }
        let oldest = under_way.front().is_some_and(laxity_endpoint::SendHandle::is_finished);
        if let Some(job) = oldest.then(|| under_way.pop_front()).flatten() {
            repeated += job.wait().context("a job of the stream failed")?.repeated;
        } else {
            // Short against a job, and another job is under way meanwhile.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    // Dropping what is under way cancels it.
    Ok(repeated)
}
