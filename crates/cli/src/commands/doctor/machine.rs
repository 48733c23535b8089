//! Cores, kernel, clock and timers.

use std::time::Duration;

use laxity_endpoint::{Cipher, CipherChoice, Ciphers, udp};

use super::finding::Finding;

/// The clock is read for every packet.
const SLOW_READ: Duration = Duration::from_nanos(250);
/// Round trips in a rack take tens of microseconds.
const COARSE_STEP: Duration = Duration::from_micros(1);
/// Pacing sleeps between batches; what comes later than this leaves gaps on a fast link.
const LATE: Duration = Duration::from_micros(300);

/// Looks at the machine.
pub(super) fn look() -> Vec<Finding> {
    let mut findings = vec![cores(), kernel(), encryption()];
    findings.extend(clock());
    findings
}

fn cores() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Finding::ok_if(
        cores > 1,
        "cores",
        format!("{cores} available"),
        "give the process a second core: I/O and the application then do not wait for each other",
    )
}

fn kernel() -> Finding {
    let limits = udp::kernel_limits();
    match limits.release {
        Some(release) => Finding::ok("kernel", format!("Linux {release}")),
        None => {
            Finding::warn("kernel", "unknown: /proc is hidden", "mount /proc to see the limits")
        }
    }
}

fn encryption() -> Finding {
    let best = Ciphers::offered(CipherChoice::Fastest).best();
    Finding::ok_if(
        best != Cipher::Aes256Gcm,
        "encryption",
        format!("{best}, where the peer has it too"),
        "the processor has no instructions for AES: expect encryption to cost more than all the \
         rest; on wires that only you can reach, --insecure does without",
    )
}

fn clock() -> Vec<Finding> {
    let report = match udp::clock() {
        Ok(report) => report,
        Err(error) => {
            let remedy = "allow UDP on loopback: timers are tried out on a socket there";
            return vec![Finding::fail("clock", format!("cannot be measured: {error}"), remedy)];
        }
    };
    let (step, cost) = (report.step, report.read_cost);
    let (median, worst) = (report.sleep_late_median, report.sleep_late_worst);
    vec![
        Finding::ok_if(
            step <= COARSE_STEP && cost <= SLOW_READ,
            "clock",
            format!("steps of {step:?}, {cost:?} a reading"),
            "use the processor's clock: `echo tsc > \
             /sys/devices/system/clocksource/clocksource0/current_clocksource`",
        ),
        Finding::ok_if(
            median <= LATE,
            "sleep",
            format!("200µs end {median:?} late (median), {worst:?} (worst of 21)"),
            "leave a core idle for the I/O thread, and see that the kernel has high-resolution timers",
        ),
    ]
}
