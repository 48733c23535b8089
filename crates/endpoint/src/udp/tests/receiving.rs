use super::*;

#[test]
fn a_run_comes_as_one_message_with_its_stride() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        if !(receiver.capabilities().gro && sender.capabilities().gso) {
            skip("no receive offload");
            continue;
        }
        let payload = pattern(9 * 1000 + 13);
        let parts = [IoSlice::new(&payload)];
        sender.send(&batch(receiver.local_addr(), 1000, &parts)).unwrap();
        let mut buffers = RecvBuffers::default();
        wait(&receiver, Interest::Read, None, Some(Duration::from_secs(1))).unwrap();
        assert_eq!(receiver.recv(&mut buffers).unwrap(), 1);
        let received = buffers.iter_mut().next().unwrap();
        assert_eq!((received.stride, received.len(), received.is_empty()), (1000, 10, false));
        assert!(received.datagrams().map(|datagram| &*datagram).eq(payload.chunks(1000)));
        let error = receiver.recv(&mut buffers).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(buffers.iter_mut().count(), 0, "what was there before is gone");
    }
}

#[test]
fn without_offload_datagrams_come_one_by_one() {
    for address in loopbacks() {
        let options = SocketOptions { gro: false, gso: false, ..SocketOptions::default() };
        let sender = Socket::bind(address, &options).unwrap();
        let receiver = Socket::bind(address, &options).unwrap();
        assert!(!receiver.capabilities().gro && !sender.capabilities().gso);
        let sent =
            send_and_compare(&sender, &receiver, receiver.local_addr(), 1400, &pattern(30_000));
        assert!(!sent.offloaded);
        // A sender with offload does not notice.
        let sent = send_and_compare(
            &open(address),
            &receiver,
            receiver.local_addr(),
            1400,
            &pattern(30_000),
        );
        assert_eq!(sent.segments, 22);
    }
}

#[test]
fn several_messages_fill_several_buffers() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        let sizes = [3, 900, 30_000, 1, 44];
        for size in sizes {
            let payload = vec![size as u8; size];
            sender.send(&batch(receiver.local_addr(), size, &[IoSlice::new(&payload)])).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
        let mut buffers = RecvBuffers::new(3, RecvBuffers::WHOLE);
        let mut seen = Vec::new();
        for expected in [3, 2] {
            assert_eq!(receiver.recv(&mut buffers).unwrap(), expected);
            seen.extend(buffers.iter_mut().map(|received| {
                assert!(received.bytes.iter().all(|byte| *byte == received.bytes.len() as u8));
                received.bytes.len()
            }));
        }
        assert_eq!(seen, sizes);
    }
}

#[test]
fn what_does_not_fit_is_counted_and_never_shown_in_half() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        let payload = pattern(2500);
        let parts = [IoSlice::new(&payload)];
        sender.send(&batch(receiver.local_addr(), 2500, &parts)).unwrap();
        sender.send(&batch(receiver.local_addr(), 1000, &parts)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let mut buffers = RecvBuffers::new(8, 1700);
        receiver.recv(&mut buffers).unwrap();
        let whole: Vec<_> = buffers
            .iter_mut()
            .flat_map(|received| received.datagrams().map(|datagram| datagram.to_vec()))
            .collect();
        assert!(whole.iter().zip(payload.chunks(1000)).all(|(seen, sent)| seen == sent));
        if receiver.capabilities().gro && sender.capabilities().gso {
            assert_eq!((whole.len(), buffers.truncated()), (1, 2));
        } else {
            assert_eq!((whole.len(), buffers.truncated()), (3, 1));
        }
    }
}

#[test]
fn drops_are_counted() {
    for address in loopbacks() {
        let small = SocketOptions { recv_buffer: Some(20_000), ..SocketOptions::default() };
        let (sender, receiver) = (open(address), Socket::bind(address, &small).unwrap());
        if !receiver.capabilities().rxq_ovfl {
            skip("the kernel does not tell its drops");
            continue;
        }
        assert!((10_000..=40_000).contains(&receiver.capabilities().recv_buffer));
        let payload = pattern(1400);
        let parts = [IoSlice::new(&payload)];
        let send = || sender.send(&batch(receiver.local_addr(), 1400, &parts)).unwrap();
        for _ in 0..100 {
            send();
        }
        let first = collect(&receiver, 100).len();
        assert!((1..100).contains(&first), "{first} of 100 fitted");
        // The kernel tells of the drops with the next packet.
        send();
        assert_eq!(collect(&receiver, 1).len(), 1);
        assert_eq!(receiver.dropped(), 100 - first as u64);
        // Or when asked.
        for _ in 0..100 {
            send();
        }
        let queue = receiver.queue_state().unwrap();
        assert!(queue.receiving > 0 && queue.receive_limit >= 20_000, "{queue:?}");
        let dropped = receiver.dropped();
        assert!(dropped > 100 - first as u64);
        collect(&receiver, 100);
        assert_eq!(receiver.dropped(), dropped);
    }
}

#[test]
fn an_empty_datagram_is_a_message_without_content() {
    let receiver = open("127.0.0.1:0".parse().unwrap());
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.send_to(&[], receiver.local_addr()).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let mut buffers = RecvBuffers::default();
    assert_eq!(receiver.recv(&mut buffers).unwrap(), 1);
    let received = buffers.iter_mut().next().unwrap();
    assert!(received.is_empty() && received.datagrams().next().is_none());
}
