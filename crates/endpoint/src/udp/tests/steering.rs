use super::*;
use crate::udp::{BindError, bind_group, loopback};

#[test]
fn the_first_byte_of_the_connection_id_chooses_the_socket() {
    for address in loopbacks() {
        let (sockets, steered) = bind_group(address, &SocketOptions::default(), 3).unwrap();
        if !steered {
            skip("the kernel does not take the program");
            continue;
        }
        let to = sockets[0].local_addr();
        assert!(sockets.iter().all(|socket| socket.local_addr() == to));
        let sender = open(address);
        for id in 0..=255 {
            let packet = [0xff, id, 0xee, 0xdd, 0xcc];
            sender.send(&batch(to, packet.len(), &[IoSlice::new(&packet)])).unwrap();
        }
        // A batch goes where its first packet goes.
        let packets: Vec<u8> = (0..40).flat_map(|i| [i, 200, 1, 2, 3, 4]).collect();
        sender.send(&batch(to, 6, &[IoSlice::new(&packets)])).unwrap();
        for (index, socket) in sockets.iter().enumerate() {
            let batched = if index == 200 % 3 { 40 } else { 0 };
            let own = (0..=255_usize).filter(|id| id % 3 == index).count();
            let arrived = collect(socket, own + batched);
            assert_eq!(arrived.len(), own + batched);
            assert!(arrived.iter().all(|datagram| usize::from(datagram.bytes[1]) % 3 == index));
        }
    }
}

#[test]
fn a_packet_too_short_to_choose_goes_to_the_first() {
    let address = "127.0.0.1:0".parse().unwrap();
    let (sockets, steered) = bind_group(address, &SocketOptions::default(), 4).unwrap();
    if !steered {
        return skip("the kernel does not take the program");
    }
    for _ in 0..20 {
        // A port of its own each time: without the program they would spread.
        open(address).send(&batch(sockets[0].local_addr(), 1, &[IoSlice::new(b"x")])).unwrap();
    }
    assert_eq!(collect(&sockets[0], 20).len(), 20);
}

#[test]
fn a_group_has_a_size() {
    let address = "127.0.0.1:0".parse().unwrap();
    for count in [0, 257] {
        let error = bind_group(address, &SocketOptions::default(), count).unwrap_err();
        assert!(matches!(error, BindError::Group { .. }), "{error}");
    }
}

#[test]
fn the_probe_finds_what_the_tests_find() {
    for address in loopbacks() {
        let report = loopback(address.is_ipv6(), &SocketOptions::default()).unwrap();
        println!("{report:?}");
        assert!(report.delivered);
        assert_eq!(report.offloaded, report.capabilities.gso);
        if report.capabilities.ecn {
            assert!(report.marks_kept);
        }
    }
    let limits = crate::udp::kernel_limits();
    println!("{limits:?}\n{:?}", crate::udp::clock().unwrap());
    assert!([1, 64, 128].contains(&limits.max_segments));
}
