//! The loop: the next event, and what follows from it.

use laxity_interface::Time;
use laxity_topology::Routes;

use super::{
    Limits, Outcome, Simulation, Stopped,
    network::{NO_HOST, Watch},
};
use crate::{
    flow::{Driver, Flow, FlowId},
    kernel::{Class, Handle},
    series::{Sample, Series},
    stack::Tally,
    trace::{Observer, TraceEvent},
};

/// A simulation while it runs.
pub(super) struct Run<'a> {
    sim: &'a mut Simulation,
    driver: &'a mut dyn Driver,
    watch: Watch<'a>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        sim: &'a mut Simulation,
        driver: &'a mut dyn Driver,
        watch: Option<&'a mut dyn Observer>,
    ) -> Self {
        Self { sim, driver, watch }
    }

    pub(super) fn run(mut self, limits: Limits) -> Outcome {
        let stopped = self.go(limits);
        self.outcome(stopped)
    }

    pub(super) fn go(&mut self, limits: Limits) -> Stopped {
        let last = self.sim.events.saturating_add(limits.max_events);
        let until = limits.until.as_ps();
        self.drive();
        loop {
            if self.driver.is_done() {
                return Stopped::Driver;
            }
            // Flows end rarely: the driver is asked again only when one has, or its time has come.
            loop {
                let Some(event) = self.sim.net.next_event() else { return Stopped::Idle };
                if event.time > until {
                    self.sim.net.now = self.sim.net.now.max(until);
                    return Stopped::Until;
                }
                if self.sim.events == last {
                    return Stopped::Events;
                }
                debug_assert!(event.time >= self.sim.net.now, "time goes forward");
                self.sim.events += 1;
                self.sim.net.now = event.time;
                let target = event.target();
                match event.class() {
                    Class::Arrive => self.arrive(target),
                    Class::Free => self.free(target),
                    class => {
                        self.sim.net.queue.pop();
                        if self.rare(class, target) {
                            break;
                        }
                    }
                }
                if !self.sim.common.done.is_empty() {
                    break;
                }
            }
            self.drive();
        }
    }

    /// A packet has arrived at the end of a link.
    #[inline]
    fn arrive(&mut self, at: u32) {
        let handle = self.sim.net.take_arrived(at);
        self.enter(at, handle);
    }

    /// A packet comes into the node at the end of a link.
    #[inline]
    fn enter(&mut self, at: u32, handle: Handle) {
        let sim = &mut *self.sim;
        let index = match sim.net.lines[at as usize].end() {
            Ok(switch) => return sim.net.forward(switch, handle, &mut self.watch),
            Err(host) => host,
        };
        let packet = sim.net.pool.take(handle);
        sim.net.delivered += 1;
        let host = &mut sim.hosts[index];
        if let Some(observer) = &mut self.watch {
            let delivered = TraceEvent::Delivered { host: host.id, packet: &packet };
            observer.on_event(sim.net.time(), &delivered);
        }
        let stack = usize::from(packet.stack);
        host.call(stack, &mut sim.common, &mut sim.net, &mut self.watch, |stack, cx| {
            stack.handle_packet(packet, cx);
        });
    }

    /// A line is free and packets wait for it.
    #[inline]
    fn free(&mut self, at: u32) {
        let sim = &mut *self.sim;
        sim.net.free(at, &mut self.watch);
        let host = sim.net.lines[at as usize].from_host;
        if host != NO_HOST {
            sim.hosts[host as usize].pump(&mut sim.common, &mut sim.net, &mut self.watch);
        }
    }

    /// Everything that does not happen to every packet. True if the driver's time has come.
    fn rare(&mut self, class: Class, target: u32) -> bool {
        let sim = &mut *self.sim;
        match class {
            Class::Late => {
                let at = sim.net.pool.arrives(target) as u32;
                self.enter(at, target);
            }
            Class::Timer => {
                let (host, stack) = sim.timers[target as usize];
                let host = &mut sim.hosts[usize::from(host)];
                let stack = usize::from(stack);
                if host.timer_is_due(stack, &mut sim.net) {
                    let act = |stack: &mut dyn crate::Stack, cx: &mut crate::Context<'_>| {
                        stack.handle_timeout(cx);
                    };
                    host.call(stack, &mut sim.common, &mut sim.net, &mut self.watch, act);
                }
            }
            Class::Driver => {
                if sim.driver_armed == sim.net.now {
                    sim.driver_armed = u64::MAX;
                }
                return true;
            }
            Class::Fault => self.change(target),
            Class::Sample => self.sample(),
            Class::Free | Class::Arrive => unreachable!("handled by the loop"),
        }
        false
    }

    /// A link goes down or comes up, or routes notice it.
    fn change(&mut self, at: u32) {
        let sim = &mut *self.sim;
        let change = sim.changes[at as usize];
        if !change.routes {
            return sim.net.rules[change.link.index()].set_down(change.down);
        }
        match change.down {
            true => sim.net.topology.fail(change.link),
            false => sim.net.topology.restore(change.link),
        }
        sim.net.routes = Routes::new(&sim.net.topology);
    }

    fn sample(&mut self) {
        let sim = &mut *self.sim;
        let Some((setup, series)) = &mut sim.series else { return };
        for own in &mut series.links {
            let line = &sim.net.lines[own.link.index()];
            let queues = std::array::from_fn(|queue| line.port.queue_bytes(queue));
            own.samples.push(Sample { queues, packets: line.port.packets(), sent: line.sent });
        }
        // Samples alone keep nothing alive.
        if !sim.net.queue.is_empty() {
            sim.net.queue.push(sim.net.now + setup.interval.as_ps(), Class::Sample, 0);
        }
    }

    /// Tells the driver what ended and starts what it wants, until neither is left.
    fn drive(&mut self) {
        loop {
            let now = self.sim.net.time();
            for done in std::mem::take(&mut self.sim.common.done) {
                let index = done.flow.index();
                assert!(!self.sim.finished[index], "{:?} ended twice", done.flow);
                self.sim.finished[index] = true;
                self.sim.net.hash.add(u64::from(done.flow.0) << 32 ^ done.finished.as_ps());
                if let Some(observer) = &mut self.watch {
                    observer.on_event(now, &TraceEvent::Finished { done: &done });
                }
                self.driver.handle_done(&done);
                self.sim.collected.push(done);
            }
            let Some(flow) = self.driver.poll_flow(now) else { break };
            self.start(flow);
        }
        if let Some(due) = self.driver.poll_timeout() {
            let sim = &mut *self.sim;
            let due = due.as_ps();
            assert!(due > sim.net.now, "the driver's time has come and it starts nothing");
            if due < sim.driver_armed {
                sim.driver_armed = due;
                sim.net.queue.push(due, Class::Driver, 0);
            }
        }
    }

    fn start(&mut self, flow: Flow) {
        let sim = &mut *self.sim;
        if let Some(fault) = flow.fault() {
            panic!("{fault}: {flow:?}");
        }
        let id = FlowId(sim.common.flows.len() as u32);
        if let Some(observer) = &mut self.watch {
            observer.on_event(sim.net.time(), &TraceEvent::Started { id, flow: &flow });
        }
        let (host, stack) = (flow.from.index(), usize::from(flow.stack));
        sim.common.flows.push((sim.net.time(), flow));
        sim.finished.push(false);
        let host = &mut sim.hosts[host];
        host.call(stack, &mut sim.common, &mut sim.net, &mut self.watch, |stack, cx| {
            stack.handle_start(id, cx);
        });
    }

    fn outcome(self, stopped: Stopped) -> Outcome {
        let sim = self.sim;
        let open = sim.finished.iter().enumerate().filter(|(_, finished)| !**finished);
        let mut tally = Tally::default();
        for stack in sim.hosts.iter().flat_map(|host| &host.stacks) {
            tally += stack.tally();
        }
        let series = sim.series.as_mut().map(|(setup, series)| {
            let fresh = Series::new(setup, sim.net.time());
            std::mem::replace(series, fresh)
        });
        Outcome {
            done: std::mem::take(&mut sim.collected),
            unfinished: open.map(|(flow, _)| FlowId(flow as u32)).collect(),
            end: Time::from_ps(sim.net.now),
            events: sim.events,
            packet_hops: sim.net.hops,
            sent: sim.net.sent,
            delivered: sim.net.delivered,
            drops: sim.net.drops.total(),
            drops_by_reason: sim.net.drops,
            under_way: sim.net.pool.len() as u64,
            marks: sim.net.marks,
            trimmed: sim.net.trimmed,
            trace_hash: sim.net.hash.get(),
            tally,
            stopped,
            series,
        }
    }
}
