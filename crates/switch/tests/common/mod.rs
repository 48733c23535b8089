//! A star of hosts under a virtual clock.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use laxity_interface::{Dscp, Ecn, Rate, Span, Time};
use laxity_switch::{Change, Fabric, HostId, MacAddress, PortConfig, PortCounters, QueueCounters};

/// A frame's bytes: Ethernet, IPv4 with a right checksum, UDP ports, filled up to `size`.
pub fn udp(from: u16, to: u16, size: usize, dscp: u8, ecn: Ecn, port: u16) -> Vec<u8> {
    assert!(size >= 42);
    let mut bytes = vec![0; size];
    bytes[..6].copy_from_slice(&MacAddress::of_host(to).0);
    bytes[6..12].copy_from_slice(&MacAddress::of_host(from).0);
    bytes[12..14].copy_from_slice(&[8, 0]);
    let ip = &mut bytes[14..];
    ip[0] = 0x45;
    ip[1] = Dscp::new(dscp).unwrap().with_ecn(ecn);
    ip[2..4].copy_from_slice(&((size - 14) as u16).to_be_bytes());
    ip[8] = 64;
    ip[9] = 17;
    ip[12..16].copy_from_slice(&[198, 18, 0, from as u8 + 1]);
    ip[16..20].copy_from_slice(&[198, 18, 0, to as u8 + 1]);
    let sum = checksum(&ip[..20]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip[20..22].copy_from_slice(&port.to_be_bytes());
    bytes
}

/// The Internet checksum: 0 over a header whose checksum is right.
pub fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A frame that came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    pub host: usize,
    pub at: Time,
    pub bytes: Vec<u8>,
}

impl Arrival {
    /// The UDP source port, by which tests tell frames apart.
    pub fn port(&self) -> u16 {
        u16::from_be_bytes([self.bytes[34], self.bytes[35]])
    }

    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.bytes[15])
    }
}

/// A fabric and what came out of it.
pub struct World {
    pub fabric: Fabric,
    pub arrivals: Vec<Arrival>,
}

impl World {
    /// Hosts around one switch; downlinks as given, uplinks without delay or rate.
    pub fn star(hosts: u16, seed: u64, down: &PortConfig) -> Self {
        let mut builder = Fabric::builder(seed);
        let switch = builder.add_switch();
        for number in 0..hosts {
            let host = builder.add_host(MacAddress::of_host(number));
            builder.connect(host, switch, PortConfig::default(), down.clone());
        }
        Self { fabric: builder.build().unwrap(), arrivals: Vec::new() }
    }

    pub fn send(&mut self, at: Time, from: u16, bytes: &[u8]) {
        let frame = self.fabric.frame(bytes);
        self.fabric.handle_frame(at, HostId::new(u32::from(from)), frame);
    }

    pub fn change(&mut self, at: Time, change: Change) {
        self.fabric.handle_change(at, change);
    }

    /// Takes out everything that arrives until `end`.
    pub fn run_until(&mut self, end: Time) {
        while let Some(now) = self.fabric.poll_timeout().filter(|now| *now <= end) {
            self.take(now);
        }
        self.take(end);
    }

    /// Takes out everything there is.
    pub fn run(&mut self) {
        while let Some(now) = self.fabric.poll_timeout() {
            self.take(now);
        }
    }

    fn take(&mut self, now: Time) {
        while let Some((host, frame, at)) = self.fabric.poll_frame(now) {
            assert!(at <= now);
            let bytes = frame.bytes().to_vec();
            self.arrivals.push(Arrival { host: host.index(), at, bytes });
            self.fabric.recycle(frame);
        }
    }

    pub fn times(&self) -> Vec<Time> {
        self.arrivals.iter().map(|arrival| arrival.at).collect()
    }

    pub fn ports(&self) -> Vec<u16> {
        self.arrivals.iter().map(Arrival::port).collect()
    }

    /// Counters of the port to a host.
    pub fn down(&self, host: u32) -> PortCounters {
        let port = self.fabric.downlink(HostId::new(host));
        self.fabric.counters().ports[port.index()].clone()
    }

    pub fn queue(&self, host: u32, queue: usize) -> QueueCounters {
        self.down(host).queues[queue]
    }
}

pub fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// 100 Mbit/s: a frame of 1226 bytes, 1250 on the wire, takes 100 µs.
pub fn slow() -> PortConfig {
    PortConfig::new(Rate::from_mbps(100), Span::ZERO)
}

/// A frame from host 0 to host 1 that takes 100 µs at [`slow`].
pub fn hundred(port: u16, dscp: u8) -> Vec<u8> {
    udp(0, 1, 1226, dscp, Ecn::NotEct, port)
}
