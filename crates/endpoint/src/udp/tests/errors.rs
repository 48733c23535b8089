use std::{net::Ipv4Addr, process::Command};

use super::*;
use crate::udp::{BindError, SendError, path_mtu};

#[test]
fn error_numbers_have_names() {
    let to: SocketAddr = "192.0.2.9:77".parse().unwrap();
    let kinds = [
        (libc::EAGAIN, "send buffer full after 3 segments to 192.0.2.9:77"),
        (libc::ENOBUFS, "no buffer space in the kernel after 3 segments to 192.0.2.9:77"),
        (libc::ECONNREFUSED, "192.0.2.9:77 refused an earlier datagram"),
        (libc::EPERM, "firewall or routes forbid sending to 192.0.2.9:77"),
        (libc::ENETUNREACH, "no route to 192.0.2.9:77: Network is unreachable"),
        (libc::EMSGSIZE, "segments of 1400 bytes do not fit the path to 192.0.2.9:77"),
        (libc::EBADF, "cannot send to 192.0.2.9:77"),
    ];
    for (errno, expected) in kinds {
        let error = SendError::classify(errno, to, 3, 1400);
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!((error.to(), error.sent()), (to, 3));
        let transient = [libc::EAGAIN, libc::ENOBUFS, libc::ECONNREFUSED].contains(&errno);
        assert_eq!(error.is_transient(), transient);
    }
}

#[test]
fn contradictions_are_refused_before_the_kernel_sees_them() {
    let socket = open("127.0.0.1:0".parse().unwrap());
    let parts = [IoSlice::new(b"abc")];
    let good = batch(socket.local_addr(), 3, &parts);
    let errors = [
        Transmission { segment_size: 0, ..good },
        Transmission { total: 4, ..good },
        Transmission { to: "[2001:db8::1]:5".parse().unwrap(), ..good },
        Transmission { from: "::1".parse().ok(), ..good },
    ]
    .map(|batch| socket.send(&batch).unwrap_err());
    assert!(matches!(errors[0], SendError::Malformed { .. }));
    assert!(matches!(errors[1], SendError::Malformed { .. }));
    assert!(matches!(errors[2], SendError::WrongFamily { .. }));
    assert!(matches!(errors[3], SendError::WrongSource { .. }));
    let nothing = Transmission { parts: &[], total: 0, ..good };
    assert_eq!(socket.send(&nothing).unwrap().segments, 0);
    assert_eq!(collect(&socket, 1), [], "nothing is not an empty datagram");
}

#[test]
fn an_ipv6_only_socket_does_not_reach_ipv4() {
    let options = SocketOptions { only_v6: true, ..SocketOptions::default() };
    let Ok(socket) = Socket::bind("[::]:0".parse().unwrap(), &options) else {
        return skip("no IPv6");
    };
    assert!(socket.capabilities().ecn && socket.capabilities().no_fragment);
    let peer = open("127.0.0.1:0".parse().unwrap());
    let parts = [IoSlice::new(b"abc")];
    let error = socket.send(&batch(peer.local_addr(), 3, &parts)).unwrap_err();
    assert!(matches!(error, SendError::WrongFamily { .. }), "{error}");
}

#[test]
fn a_port_in_use_is_named() {
    let first = open("127.0.0.1:0".parse().unwrap());
    let error = Socket::bind(first.local_addr(), &SocketOptions::default()).unwrap_err();
    assert!(matches!(error, BindError::Bind { .. }));
    assert!(error.to_string().contains(&first.local_addr().to_string()), "{error}");
}

#[test]
fn a_datagram_too_large_for_the_path_is_no_reason_to_give_up_features() {
    for address in loopbacks() {
        let socket = open(address);
        let before = socket.capabilities();
        let payload = pattern(70_000);
        let parts = [IoSlice::new(&payload)];
        for segment_size in [65_530, 70_000] {
            let error = socket.send(&batch(socket.local_addr(), segment_size, &parts)).unwrap_err();
            assert!(matches!(error, SendError::TooLarge { sent: 0, .. }), "{error}");
        }
        assert_eq!(socket.capabilities(), before);
    }
}

/// Runs `ip`, `tc` or the like; false if that did not work.
fn tool(line: &str) -> bool {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

/// A thread with a network of its own: a card of MTU 1500 and 1 Mbit/s that leads nowhere.
fn in_a_slow_network(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: no pointers; moves only this thread, which ends with the test.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return skip("no privilege to make a network namespace");
            }
            let ready = tool("ip link set lo up")
                && tool("ip link add slow mtu 1500 type veth peer name far")
                && tool("ip link set far up")
                && tool("ip link set slow up")
                && tool("ip address add 10.99.0.1/24 dev slow")
                && tool("ip route add prohibit 10.98.0.0/24")
                && tool("tc qdisc add dev slow root tbf rate 1mbit burst 10kb limit 10mb");
            if ready { test() } else { skip("no ip, tc, veth or tbf here") }
        });
    });
}

#[test]
fn a_full_send_buffer_would_block_and_says_how_far_it_got() {
    in_a_slow_network(|| {
        let options = SocketOptions { send_buffer: Some(200_000), ..SocketOptions::default() };
        for gso in [true, false] {
            let options = SocketOptions { gso, ..options.clone() };
            let socket = Socket::bind((Ipv4Addr::UNSPECIFIED, 0).into(), &options).unwrap();
            let to = "10.99.0.2:9".parse().unwrap();
            assert!(tool("ip neigh replace 10.99.0.2 lladdr 02:00:00:00:00:01 dev slow"));
            let payload = pattern(600 * 1400);
            let parts = [IoSlice::new(&payload)];
            let error = socket.send(&batch(to, 1400, &parts)).unwrap_err();
            assert!(matches!(error, SendError::WouldBlock { .. }), "{error}");
            assert!((20..600).contains(&error.sent()), "{error}");
            println!("gso {gso}: {} of 600 fit 200 kB", error.sent());
            let queue = socket.queue_state().unwrap();
            assert!(queue.sending > queue.send_limit / 2, "{queue:?}");
            let ready =
                wait(&socket, Interest::ReadWrite, None, Some(Duration::from_millis(1))).unwrap();
            assert!(!ready.writable);
            assert_eq!(socket.capabilities().gso, gso, "a full buffer is no refusal");
        }
    });
}

#[test]
fn an_interface_limits_the_size_and_a_route_the_peers() {
    in_a_slow_network(|| {
        let socket = open((Ipv4Addr::UNSPECIFIED, 0).into());
        let send = |to: &str, segment_size, length| {
            let payload = pattern(length);
            let parts = [IoSlice::new(&payload)];
            socket.send(&batch(to.parse().unwrap(), segment_size, &parts))
        };
        let before = socket.capabilities();
        assert!(before.no_fragment);
        assert_eq!(path_mtu("10.99.0.2:9".parse().unwrap()).unwrap(), 1500);
        assert_eq!(send("10.99.0.2:9", 1472, 1472).unwrap().segments, 1);
        assert_eq!(send("10.99.0.2:9", 1472, 2 * 1472).unwrap().segments, 2);
        for length in [1473, 2 * 1473] {
            let error = send("10.99.0.2:9", 1473, length).unwrap_err();
            assert!(matches!(error, SendError::TooLarge { segment_size: 1473, .. }), "{error}");
        }
        let error = send("10.98.0.2:9", 100, 100).unwrap_err();
        assert!(matches!(error, SendError::Forbidden { .. }), "{error}");
        let error = send("10.97.0.2:9", 100, 1000).unwrap_err();
        assert!(matches!(error, SendError::Unreachable { .. }), "{error}");
        assert_eq!(socket.capabilities(), before);
    });
}
