//! Helpers of the endpoint's integration tests.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{JoinHandle, Thread},
    time::Duration,
};

use laxity_endpoint::{Builder, Endpoint, Fraction, Key};

/// A builder with the tests' key.
pub fn keyed() -> Builder {
    Endpoint::builder().key(Key::new([42; 32]))
}

/// An endpoint on loopback.
pub fn bind(builder: Builder) -> Endpoint {
    builder.bind("127.0.0.1:0".parse().unwrap()).unwrap()
}

/// A pair of them.
pub fn pair() -> (Endpoint, Endpoint) {
    (bind(keyed()), bind(keyed()))
}

/// A fraction.
pub fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

/// Runs `work` in a thread, and fails the test instead of hanging if it takes too long.
pub fn within<T: Send + 'static>(seconds: u64, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = std::sync::mpsc::channel();
    let thread: JoinHandle<()> = std::thread::spawn(move || drop(tell.send(work())));
    match told.recv_timeout(Duration::from_secs(seconds)) {
        Ok(value) => value,
        Err(_) if thread.is_finished() => panic!("the work panicked: {:?}", thread.join()),
        Err(_) => panic!("still busy after {seconds} s"),
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor there is: proves that no particular runtime is needed.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Bytes of this process that are in memory now.
pub fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}
