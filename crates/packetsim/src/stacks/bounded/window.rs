//! DCTCP's window (SIGCOMM 2010), in packets.

/// The published gain g.
const GAIN: f64 = 1.0 / 16.0;
/// What may leave before anything is known: seed paper 001, §3.1.
const INITIAL: f64 = 10.0;
/// The smallest window after a mark or a loss: that of plain DCTCP, with which the paper compares. With
/// one packet, a lost one would keep all others back, and only the timer would notice.
const LEAST: f64 = 2.0;

/// A window that shrinks by half the share of marked packets, once per round.
#[derive(Clone, Debug)]
pub(super) struct Window {
    packets: f64,
    threshold: f64,
    /// Share of marked packets, smoothed.
    alpha: f64,
    acked: u32,
    marked: u32,
    /// The round ends when the departure of this number is acknowledged.
    round_ends: u64,
    cut: bool,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            packets: INITIAL,
            threshold: f64::INFINITY,
            alpha: 1.0,
            acked: 0,
            marked: 0,
            round_ends: 0,
            cut: false,
        }
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets as u32
    }

    /// A packet arrived; `number` left when it did, `next` is the number of the next to leave.
    pub(super) fn handle_ack(&mut self, marked: bool, number: u64, next: u64) {
        self.acked += 1;
        self.marked += u32::from(marked);
        if marked {
            self.shrink(self.alpha / 2.0);
        } else if !self.cut {
            self.packets += if self.packets < self.threshold { 1.0 } else { 1.0 / self.packets };
        }
        if number >= self.round_ends {
            let share = f64::from(self.marked) / f64::from(self.acked);
            self.alpha += GAIN * (share - self.alpha);
            (self.acked, self.marked, self.cut) = (0, 0, false);
            self.round_ends = next;
        }
    }

    /// Three later packets arrived and this one did not.
    pub(super) fn handle_loss(&mut self) {
        self.shrink(0.5);
    }

    /// Nothing was heard for very long.
    pub(super) fn handle_silence(&mut self) {
        self.threshold = (self.packets / 2.0).max(2.0);
        self.packets = 1.0;
    }

    fn shrink(&mut self, by: f64) {
        if !std::mem::replace(&mut self.cut, true) {
            self.packets = (self.packets * (1.0 - by)).max(LEAST);
            self.threshold = self.packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_first_then_adds_one_per_round() {
        let mut window = Window::new();
        for number in 0..10 {
            window.handle_ack(false, number, 10);
        }
        assert_eq!(window.packets(), 20);
        window.handle_loss();
        assert_eq!(window.packets(), 10);
        window.handle_loss();
        assert_eq!(window.packets(), 10, "once per round");
        window.handle_ack(false, 20, 30);
        for number in 20..30 {
            window.handle_ack(false, number, 40);
        }
        assert!((10..=12).contains(&window.packets()), "{}", window.packets());
    }

    #[test]
    fn few_marks_cut_little() {
        let mut window = Window::new();
        let mut number = 0;
        for _ in 0..200 {
            for at in 0..20 {
                window.handle_ack(at == 0, number, number + 20);
                number += 1;
            }
        }
        assert!((window.alpha - 0.05).abs() < 0.03, "{}", window.alpha);
    }
}
