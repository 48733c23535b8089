//! Counters, declared once: the struct, its names for reports and its sum come from one list.

macro_rules! counters {
    ($(#[$outer:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name { $($(#[$doc])* pub $field: u64,)* }

        impl $name {
            /// Every counter with its name.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field),)*].into_iter()
            }
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

counters! {
    /// What an endpoint has done since it started. Every counter only grows.
    pub struct Stats {
        /// Datagrams handed to the network.
        packets_sent,
        /// Bytes in them.
        bytes_sent,
        /// Datagrams that came in, whatever became of them.
        packets_received,
        /// Bytes in them.
        bytes_received,
        /// Received datagrams that are no packet of this protocol.
        dropped_malformed,
        /// Received packets for a connection that does not exist.
        dropped_unknown,
        /// Received packets that failed authentication or their checksum.
        dropped_unauthentic,
        /// Received packets whose number came before.
        dropped_replayed,
        /// Received packets from an address the connection does not belong to.
        dropped_spoofed,
        /// Received payload packets that could not be taken: job unknown, no room. They are not
        /// acknowledged and come again.
        dropped_unplaced,
        /// Pieces of payload sent, repeats included.
        pieces_sent,
        /// Pieces of payload sent again; counted when their job ends.
        pieces_repeated,
        /// Payload packets received and placed.
        pieces_placed,
        /// Payload packets received a second time.
        pieces_duplicate,
        /// Packets found lost.
        packets_lost,
        /// Packets found lost that turned out to have arrived.
        packets_late,
        /// Packets that were marked by a congested switch (as acknowledgements report).
        packets_marked,
        /// Acknowledgements of packets that were never sent.
        acks_refused,
        /// Probes sent because nothing was heard.
        probes,
        /// Jobs that were sent and kept their promise.
        jobs_sent,
        /// Jobs that were received and kept their promise.
        jobs_received,
        /// Jobs that ended with an error, in either direction.
        jobs_failed,
        /// Connections that came about.
        peers_connected,
        /// Connections that ended because the peer fell silent.
        peers_dead,
        /// Hello packets refused.
        hellos_refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_and_sums_agree() {
        let mut stats = Stats { packets_sent: 2, jobs_failed: 1, ..Stats::default() };
        stats += stats;
        let named: Vec<_> = stats.iter().filter(|(_, value)| *value > 0).collect();
        assert_eq!(named, [("packets_sent", 4), ("jobs_failed", 2)]);
    }
}
