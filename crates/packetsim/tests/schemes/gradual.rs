//! Messages that become ready one by one.

use laxity_interface::{Fraction, Span, Time};
use laxity_packetsim::{
    CONTROL, Flow, HEADER, HostId, Limits, Messages, Observer, Outcome, Ready, Schedule, Scheme,
    Simulation, TraceEvent, World, ideal_time, stacks::approx::Approx,
};
use laxity_topology::Topology;

use crate::world::{LINE, flow, losses, run, scheme, setup};

/// Messages of so many bytes, the first at the start, the others after this gap each.
fn gradual(from: u16, to: u16, (count, bytes): (u32, u32), gap: Span, min: f64) -> Flow {
    let times = (0..u64::from(count)).map(|at| gap * at).collect();
    Flow { ready: Ready::Each(times), ..flow(from, to, (count, bytes), min) }
}

/// What left the hosts: when, which flow, kind, size, bytes of the stream, payload that was left out.
#[derive(Default)]
struct Departures {
    seen: Vec<Departure>,
    from_hosts: Vec<bool>,
}

struct Departure {
    at: Time,
    from: HostId,
    size: u32,
    part: (u32, u32),
    hole: u64,
}

impl Observer for Departures {
    fn on_event(&mut self, at: Time, event: &TraceEvent<'_>) {
        if let TraceEvent::Sent { link, packet } = event
            && self.from_hosts[link.index()]
        {
            let (from, size, part) = (packet.from, packet.size, packet.part);
            let hole = if packet.body.is_some() { packet.acknowledged } else { 0 };
            self.seen.push(Departure { at, from, size, part, hole });
        }
    }
}

fn watched(scheme: Scheme, hosts: u32, flows: &[(Time, Flow)]) -> (Outcome, Departures) {
    let setup = setup(scheme, hosts, 1);
    let base_rtt = Simulation::new(&setup, |_| Vec::new()).unwrap().base_rtt();
    let world = World { line_rate: LINE, base_rtt, hosts: hosts as usize };
    let stacks = |host| vec![scheme.stack(host, setup.seed, &world)];
    let mut simulation = Simulation::new(&setup, stacks).unwrap();
    let net = &setup.topology;
    let from_hosts = net.links().iter().map(|link| net.host_index(link.from).is_some()).collect();
    let mut departures = Departures { from_hosts, ..Departures::default() };
    let limits = Limits::until(Time::ZERO + Span::from_secs(10));
    let mut driver = Schedule::new(flows.to_vec());
    (simulation.run_observed(&mut driver, limits, &mut departures), departures)
}

/// How many messages a scheme needs of a flow, in the order in which they become ready, and which of
/// them is the last one needed where nothing gets lost.
fn last_needed(scheme: Scheme, flow: &Flow) -> u32 {
    let count = flow.messages.count();
    let needed = flow.min_delivery.of(u64::from(count)) as u32;
    match scheme.approx() {
        Some(Approx::Whole) => count - 1,
        // A sample that is spread evenly ends with the last message.
        Some(Approx::SampleSend) => count - 1,
        _ => needed - 1,
    }
}

#[test]
fn without_contention_a_flow_ends_when_its_last_message_has_arrived() {
    // Each message is over the network before the next is ready. Aeolus waits for credits: see below.
    let gap = Span::from_us(30);
    for scheme in Scheme::ALL.iter().filter(|scheme| !scheme.to_string().starts_with("aeolus")) {
        for min in [0.5, 1.0] {
            let flow = gradual(1, 0, (12, 700), gap, min);
            let (outcome, departures) = watched(*scheme, 2, &[(Time::ZERO, flow.clone())]);
            let ready = Time::ZERO + gap * u64::from(last_needed(*scheme, &flow));
            let last = departures.seen.iter().rfind(|seen| seen.size > 700 && seen.at <= ready);
            let last = last.unwrap_or_else(|| panic!("{scheme}: nothing was sent"));
            assert_eq!(last.at, ready, "{scheme}, {min}: it leaves when it is ready");
            let way = ideal_time(&setup(*scheme, 2, 1), [last.size], HostId(1), HostId(0));
            let done = &outcome.done[0];
            assert_eq!(done.finished, ready + way, "{scheme}, {min}");
            assert!(!done.short && outcome.drops == 0 && outcome.tally.timeouts == 0, "{scheme}");
            assert_eq!(outcome.tally.again, 0, "{scheme}, {min}");
        }
    }
}

#[test]
fn aeolus_waits_for_a_credit_and_wastes_others() {
    // Messages rarer than two round trips (9 us here): credits have to be asked for each time.
    let gap = Span::from_us(100);
    let flow = gradual(1, 0, (12, 700), gap, 1.0);
    let (outcome, _) = watched(scheme("aeolus"), 2, &[(Time::ZERO, flow)]);
    let ready = Time::ZERO + gap * 11;
    let late = outcome.done[0].finished.since(ready);
    // A request, a credit and the packet: one and a half round trips.
    let way = |size| ideal_time(&setup(scheme("aeolus"), 2, 1), [size], HostId(1), HostId(0));
    assert_eq!(late, way(CONTROL) * 2 + way(700 + HEADER));
    assert_eq!(outcome.tally.timeouts, 0);
    let wasted = outcome.tally.wasted_credits;
    assert!(wasted > 11, "{wasted}");
    // All at once there is always something to send but at the end.
    let at_once =
        run(scheme("aeolus"), 2, &[(Time::ZERO, crate::world::flow(1, 0, (400, 700), 1.0))]);
    assert!(at_once.tally.wasted_credits < wasted, "{}", at_once.tally.wasted_credits);
}

#[test]
fn nothing_leaves_before_it_is_ready() {
    // Faster and slower than the line (700 bytes take 152 ns), and three senders to one receiver.
    for gap in [Span::from_ns(60), Span::from_ns(400), Span::from_us(2)] {
        let flows: Vec<_> =
            (1..=3).map(|from| (Time::ZERO, gradual(from, 0, (80, 700), gap, 0.6))).collect();
        for scheme in Scheme::ALL {
            let (outcome, departures) = watched(*scheme, 4, &flows);
            assert_eq!(outcome.done.len(), 3, "{scheme}");
            let sampled = scheme.approx() == Some(Approx::SampleSend);
            let streams =
                scheme.approx().is_some() || ["udp", "bounded"].contains(&&*scheme.to_string());
            let mut pieces = [0u64; 4];
            for seen in &departures.seen {
                let ready = |message: u64| Time::ZERO + gap * message;
                if streams && seen.part.1 > 0 {
                    let last = u64::from((seen.part.0 + seen.part.1 - 1) / 700);
                    // Of five messages three are sampled: 1, 3, 4.
                    let message = match sampled {
                        true => last / 3 * 5 + [1, 3, 4][last as usize % 3],
                        false => last,
                    };
                    assert!(
                        seen.at >= ready(message),
                        "{scheme}: {message} at {}",
                        seen.at.since(Time::ZERO)
                    );
                }
                // Payload of 700 bytes is left out of simulated packets: one message each.
                if seen.hole == 700 && outcome.drops == 0 {
                    let own = &mut pieces[usize::from(seen.from.0)];
                    assert!(seen.at >= ready(*own), "{scheme}: {own}");
                    *own += 1;
                }
            }
            let carried = departures.seen.iter().filter(|seen| seen.part.1 > 0 || seen.hole > 0);
            assert!(carried.count() > 50, "{scheme}: something was looked at");
        }
    }
}

#[test]
fn promises_are_kept_where_messages_come_one_by_one() {
    let mut flows = Vec::new();
    for (at, gap_ns) in [(0u64, 50), (3, 300), (5, 4000), (7, 20), (7, 900)] {
        for from in 1..5u16 {
            let shape = ([7, 60, 200][usize::from(from) % 3], [300, 1400, 4000][at as usize % 3]);
            let gap = Span::from_ns(gap_ns * u64::from(from));
            let to = (from + 1 + at as u16 % 3) % 5;
            flows.push((Time::ZERO + Span::from_us(at), gradual(from, to, shape, gap, 0.7)));
        }
    }
    let topology = Topology::leaf_spine(2, 2, 3, LINE, 2, Span::from_us(1)).unwrap();
    for scheme in Scheme::ALL {
        for loss in [0.0, 0.02] {
            let mut setup = setup(*scheme, 6, 3);
            setup.topology = topology.clone();
            if loss > 0.0 {
                setup.faults.push(losses(loss));
            }
            let outcome = crate::world::run_on(*scheme, &setup, &flows);
            assert_eq!(outcome.done.len(), flows.len(), "{scheme} {:?}", outcome.unfinished);
            for done in &outcome.done {
                let flow = &flows[done.flow.index()].1;
                let promised = match scheme.approx() {
                    Some(Approx::Whole) => u64::from(done.messages),
                    _ => flow.min_delivery.of(u64::from(done.messages)),
                };
                if ["udp", "bounded"].contains(&&*scheme.to_string()) {
                    continue;
                }
                assert!(!done.short, "{scheme}: {done:?}");
                assert!(u64::from(done.delivered) >= promised, "{scheme}: {done:?}");
                let each = u64::from(flow.messages.size(0));
                assert_eq!(done.bytes, u64::from(done.delivered) * each, "{scheme}: {done:?}");
            }
            let again = crate::world::run_on(*scheme, &setup, &flows);
            assert_eq!(outcome.trace_hash, again.trace_hash, "{scheme}");
        }
    }
}

/// All messages ready at the start, told one by one, is what it is when told at once.
#[test]
fn no_gaps_at_all_is_the_same_as_at_once() {
    let sizes: Vec<u32> = (0..300).map(|at| 1 + at * 37 % 2900).collect();
    let of = |from, ready| Flow {
        messages: Messages::Sizes(sizes.clone().into()),
        ready,
        min_delivery: Fraction::new(0.8).unwrap(),
        ..flow(from, 0, (1, 1), 1.0)
    };
    let all = |ready: &Ready| -> Vec<_> {
        (1..=4).map(|from| (Time::ZERO, of(from, ready.clone()))).collect()
    };
    let zero = Ready::Each(vec![Span::ZERO; sizes.len()].into());
    for name in
        ["dctcp", "dctcp-es", "dctcp-plain-ss", "dctcp-prio-es", "udp", "bounded", "pfabric-ss"]
    {
        let once = run(scheme(name), 5, &all(&Ready::AtOnce));
        let told = run(scheme(name), 5, &all(&zero));
        assert_eq!(once.trace_hash, told.trace_hash, "{name}");
        assert_eq!(once.done, told.done, "{name}");
    }
}

/// ATP_Base sends lost packets again "after sending out all packets" (§7.1.3); MRDF chooses among new and
/// lost ones (§4.3).
#[test]
fn lost_messages_wait_for_the_last_one_in_atp_base_only() {
    let gap = Span::from_us(20);
    let flows = [(Time::ZERO, gradual(1, 0, (40, 700), gap, 0.9))];
    let ends = |name: &str| {
        let mut setup = setup(scheme(name), 2, 4);
        setup.faults.push(losses(0.1));
        let outcome = crate::world::run_on(scheme(name), &setup, &flows);
        assert!(outcome.drops > 3, "{name}");
        outcome.done[0].finished
    };
    // 36 of 40 have to arrive; the last is ready after 780 us.
    let all_ready = Time::ZERO + gap * 39;
    assert!(ends("atp-base") > all_ready);
    assert!(ends("atp-mrdf") < all_ready && ends("laxity") < all_ready);
}
