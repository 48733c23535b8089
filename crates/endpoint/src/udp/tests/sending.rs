use std::sync::atomic::Ordering;

use super::*;
use crate::udp::{SendError, send::max_payload};

#[test]
fn every_packet_carries_its_own_marks() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        if !receiver.capabilities().ecn {
            skip("the kernel does not tell the TOS byte");
            continue;
        }
        let marks = [(Ecn::NotEct, 0), (Ecn::Ect0, 46), (Ecn::Ect1, 63), (Ecn::Ce, 1)]
            .map(|(ecn, dscp)| (ecn, Dscp::new(dscp).unwrap()));
        for (ecn, dscp) in marks {
            let parts = [IoSlice::new(b"marked")];
            let batch = Transmission { ecn, dscp, ..batch(receiver.local_addr(), 6, &parts) };
            sender.send(&batch).unwrap();
        }
        let arrived = collect(&receiver, marks.len());
        let seen: Vec<_> = arrived.iter().map(|datagram| (datagram.ecn, datagram.dscp)).collect();
        assert_eq!(seen, marks);
        assert_eq!(arrived[0].from, sender.local_addr());
        assert_eq!(arrived[0].to_local, Some(address.ip()));
        assert!(sender.capabilities().marking);
    }
}

#[test]
fn a_batch_arrives_as_equal_segments_and_keeps_its_marks() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        let (ecn, dscp) = (Ecn::Ect0, Dscp::new(10).unwrap());
        let payload = pattern(20 * 1400 + 7);
        let parts = [IoSlice::new(&payload)];
        let batch = Transmission { ecn, dscp, ..batch(receiver.local_addr(), 1400, &parts) };
        let sent = sender.send(&batch).unwrap();
        assert_eq!(sent, Sent { segments: 21, offloaded: sender.capabilities().gso });
        let arrived = collect(&receiver, 21);
        assert!(arrived.iter().all(|datagram| (datagram.ecn, datagram.dscp) == (ecn, dscp)));
        let lengths: Vec<_> = arrived.iter().map(|datagram| datagram.bytes.len()).collect();
        assert_eq!(lengths, [vec![1400; 20], vec![7]].concat());
        assert!(arrived.iter().flat_map(|datagram| &datagram.bytes).eq(&payload));
    }
}

#[test]
fn batches_of_any_shape_arrive() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        let to = receiver.local_addr();
        // Larger than one system call takes in segments, in bytes, and in slices.
        for (segment_size, segments) in
            [(1, 1), (1, 500), (100, 129), (1400, 64), (1400, 200), (8900, 30), (30_000, 9)]
        {
            for missing in [0, segment_size / 2] {
                let payload = pattern(segment_size * segments - missing);
                send_and_compare(&sender, &receiver, to, segment_size, &payload);
            }
        }
        assert_eq!(sender.capabilities(), open(address).capabilities(), "nothing was given up");
    }
}

#[test]
fn slices_beyond_the_limit_of_a_system_call_are_regrouped() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        let payload = pattern(30 * 1000);
        let parts: Vec<_> = payload.chunks(10).map(IoSlice::new).collect();
        assert!(parts.len() > 2 * 1024);
        sender.send(&batch(receiver.local_addr(), 1000, &parts)).unwrap();
        let arrived = collect(&receiver, 30);
        assert!(arrived.iter().flat_map(|datagram| &datagram.bytes).eq(&payload));
        // But a single datagram cannot be sent in two calls.
        let parts: Vec<_> = payload.chunks(1).map(IoSlice::new).collect();
        let error = sender.send(&batch(receiver.local_addr(), 2000, &parts)).unwrap_err();
        assert!(matches!(error, SendError::Malformed { .. }), "{error}");
    }
}

#[test]
fn the_limits_are_those_of_the_kernel() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        let (to, capabilities) = (receiver.local_addr(), sender.capabilities());
        if !capabilities.gso {
            skip("no segmentation offload");
            continue;
        }
        // The fullest single call, in bytes and in segments: if it were refused, GSO would be given
        // up.
        let segment_size = 1001;
        let most = max_payload(to);
        let sent = send_and_compare(&sender, &receiver, to, segment_size, &pattern(most));
        assert!(sent.offloaded);
        assert_eq!(sender.batch_limit(to, segment_size), 65);
        assert_eq!(sender.batch_limit(to, 10), capabilities.max_segments);
        let payload = pattern(10 * capabilities.max_segments);
        assert!(send_and_compare(&sender, &receiver, to, 10, &payload).offloaded);
        assert_eq!(sender.capabilities(), capabilities);
        // One byte more in one call is refused by the kernel itself.
        let raw = std::net::UdpSocket::bind(address).unwrap();
        crate::udp::sockopt::set(
            std::os::fd::AsFd::as_fd(&raw),
            libc::SOL_UDP,
            libc::UDP_SEGMENT,
            1001,
        )
        .unwrap();
        assert_eq!(raw.send_to(&pattern(most), to).unwrap(), most);
        assert!(raw.send_to(&pattern(most + 1), to).is_err());
    }
}

#[test]
fn refused_segmentation_is_noticed_and_the_bytes_still_arrive() {
    for address in loopbacks() {
        for errno in [libc::EIO, libc::EINVAL, libc::EMSGSIZE, libc::ENOPROTOOPT] {
            let (sender, receiver) = (open(address), open(address));
            let to = receiver.local_addr();
            if !sender.capabilities().gso {
                skip("no segmentation offload to refuse");
                continue;
            }
            sender.pretend.gso.store(errno, Ordering::Relaxed);
            // A single datagram needs no segmentation and says nothing about it.
            assert!(!send_and_compare(&sender, &receiver, to, 1400, &pattern(1400)).offloaded);
            assert!(sender.capabilities().gso);
            let sent = send_and_compare(&sender, &receiver, to, 1400, &pattern(150 * 1400 + 5));
            assert!(!sent.offloaded);
            let after = sender.capabilities();
            assert!(!after.gso && after.marking);
            assert_eq!((after.max_segments, sender.batch_limit(to, 1400)), (1, 1));
            send_and_compare(&sender, &receiver, to, 1400, &pattern(3 * 1400));
        }
    }
}

#[test]
fn refused_marks_are_given_up_and_segmentation_is_not() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        let before = sender.capabilities();
        sender.pretend.marking.store(libc::EINVAL, Ordering::Relaxed);
        send_and_compare(&sender, &receiver, receiver.local_addr(), 1400, &pattern(14_000));
        let after = sender.capabilities();
        assert_eq!((after.gso, after.marking), (before.gso, false));
        let sent =
            send_and_compare(&sender, &receiver, receiver.local_addr(), 1400, &pattern(14_000));
        assert_eq!(sent.offloaded, before.gso);
    }
}

#[test]
fn a_dual_stack_socket_speaks_both() {
    let Ok(dual) = Socket::bind("[::]:0".parse().unwrap(), &SocketOptions::default()) else {
        return skip("no IPv6");
    };
    let port = dual.local_addr().port();
    for address in loopbacks() {
        let plain = open(address);
        let (dscp, ecn) = (Dscp::new(21).unwrap(), Ecn::Ect1);
        let payload = pattern(5 * 1200);
        let parts = [IoSlice::new(&payload)];
        let there = Transmission { dscp, ecn, ..batch((address.ip(), port).into(), 1200, &parts) };
        plain.send(&there).unwrap();
        let arrived = collect(&dual, 5);
        assert_eq!(arrived.len(), 5);
        assert_eq!(arrived[0].from, plain.local_addr(), "IPv4 peers have plain IPv4 addresses");
        assert_eq!(arrived[0].to_local, Some(address.ip()));
        assert_eq!((arrived[0].dscp, arrived[0].ecn), (dscp, ecn));
        // And back, from the address that was asked.
        let from = arrived[0].to_local;
        let back = Transmission { dscp, ecn, from, ..batch(arrived[0].from, 1200, &parts) };
        dual.send(&back).unwrap();
        let arrived = collect(&plain, 5);
        assert_eq!(arrived.len(), 5);
        assert_eq!(arrived[4].from, (address.ip(), port).into());
        assert_eq!((arrived[4].dscp, arrived[4].ecn), (dscp, ecn));
    }
}

#[test]
fn the_source_address_can_be_chosen() {
    let receiver = open("127.0.0.1:0".parse().unwrap());
    let sender = open("0.0.0.0:0".parse().unwrap());
    let parts = [IoSlice::new(b"hello")];
    let from = "127.0.0.77".parse().ok();
    sender.send(&Transmission { from, ..batch(receiver.local_addr(), 5, &parts) }).unwrap();
    assert_eq!(collect(&receiver, 1)[0].from.ip(), from.unwrap());
}
