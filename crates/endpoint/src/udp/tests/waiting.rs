use std::{sync::Arc, thread, time::Instant};

use super::*;
use crate::udp::{Ready, Waker, tighten_timer_slack};

const LONG: Option<Duration> = Some(Duration::from_secs(20));

#[test]
fn a_packet_ends_the_wait() {
    for address in loopbacks() {
        let (sender, receiver) = (open(address), open(address));
        let waker = Waker::new().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(10));
                sender.send(&batch(receiver.local_addr(), 2, &[IoSlice::new(b"hi")])).unwrap();
            });
            let ready = wait(&receiver, Interest::Read, Some(&waker), LONG).unwrap();
            assert_eq!(ready, Ready { readable: true, ..Ready::default() });
        });
        let ready = wait(&receiver, Interest::ReadWrite, Some(&waker), LONG).unwrap();
        assert_eq!(ready, Ready { readable: true, writable: true, woken: false });
    }
}

#[test]
fn another_thread_ends_the_wait() {
    let socket = open("127.0.0.1:0".parse().unwrap());
    let waker = Arc::new(Waker::new().unwrap());
    let other = Arc::clone(&waker);
    let waking = thread::spawn(move || {
        thread::sleep(Duration::from_millis(10));
        other.wake();
        other.wake();
    });
    let started = Instant::now();
    let ready = wait(&socket, Interest::Read, Some(&waker), LONG).unwrap();
    assert_eq!(ready, Ready { woken: true, ..Ready::default() });
    assert!(started.elapsed() < Duration::from_secs(10));
    waking.join().unwrap();
    // The second wake may have come before or after; once taken, nothing is left of either.
    waker.take();
    assert!(!waker.take());
    let nothing = wait(&socket, Interest::Read, Some(&waker), Some(Duration::ZERO)).unwrap();
    assert!(nothing.is_timeout());
    // A wake while nobody waits ends the next wait.
    waker.wake();
    assert!(wait(&socket, Interest::Read, Some(&waker), LONG).unwrap().woken);
}

#[test]
fn an_event_without_a_flag_is_not_seen_twice() {
    let socket = open("127.0.0.1:0".parse().unwrap());
    let waker = Waker::new().unwrap();
    // What a waker leaves behind that was overtaken between its flag and its event.
    waker.wake();
    waker.pretend_unset();
    assert!(wait(&socket, Interest::Read, Some(&waker), LONG).unwrap().woken);
    let nothing = wait(&socket, Interest::Read, Some(&waker), Some(Duration::ZERO)).unwrap();
    assert!(nothing.is_timeout());
}

#[test]
fn no_wake_is_lost_between_threads() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let socket = open("127.0.0.1:0".parse().unwrap());
    let (waker, posted) = (Waker::new().unwrap(), AtomicU64::new(0));
    const POSTS: u64 = 20_000;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..POSTS / 2 {
                    posted.fetch_add(1, Ordering::Relaxed);
                    waker.wake();
                }
            });
        }
        // Relaxed on purpose: the waker has to carry the order.
        while posted.load(Ordering::Relaxed) < POSTS {
            let ready = wait(&socket, Interest::Read, Some(&waker), LONG).unwrap();
            assert!(ready.woken, "a wake was lost");
        }
    });
}

#[test]
fn time_is_kept_below_a_millisecond() {
    let socket = open("127.0.0.1:0".parse().unwrap());
    tighten_timer_slack().unwrap();
    let nap = Duration::from_micros(150);
    let mut best = Duration::MAX;
    for _ in 0..50 {
        let started = Instant::now();
        assert!(wait(&socket, Interest::Read, None, Some(nap)).unwrap().is_timeout());
        let slept = started.elapsed();
        assert!(slept >= nap, "{slept:?}");
        best = best.min(slept);
    }
    // The best, since the machine may be busy with other things.
    assert!(best < Duration::from_micros(900), "{best:?}");
}
