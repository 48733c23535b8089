//! The paper's models (tables 2, 3 and 5), with what it does not print: sizes and computing.

/// A model that is trained.
#[derive(Debug)]
pub(super) struct Model {
    /// As the paper abbreviates it.
    pub(super) name: &'static str,
    /// Numbers that are trained, 4 bytes each.
    pub(super) parameters: u64,
    /// Multiplications and additions of a batch, forwards and backwards.
    pub(super) operations: f64,
    /// Operations a second that it reaches.
    pub(super) speed: f64,
    /// How much of an update may get lost (table 3).
    pub(super) bound: f64,
    /// Tail over mean job completion under TCP (table 1).
    pub(super) tail: f64,
    /// How we came to the size and the operations.
    pub(super) why: &'static str,
}

impl Model {
    /// Bytes of an update.
    pub(super) fn bytes(&self) -> u64 {
        self.parameters * 4
    }

    /// Computing of one batch.
    pub(super) fn compute_ms(&self) -> f64 {
        self.operations / self.speed * 1e3
    }
}

/// In the order of the paper's tables.
pub(super) const MODELS: [Model; 4] = [
    Model {
        name: "RNN",
        parameters: 718_173,
        operations: 6.0 * 32.0 * (335_872.0 * 16.0 + 382_301.0 * 59.0),
        speed: 1e11,
        bound: 0.10,
        tail: 1.10,
        why: "LSTM sequence to sequence by characters, 256 units, 71 and 93 characters, 16 and 59 steps; 0.1 Tflop/s, for \
              its steps wait for each other",
    },
    Model {
        name: "MLP",
        parameters: 536_110,
        operations: 6.0 * 32.0 * 536_110.0,
        speed: 1e12,
        bound: 0.15,
        tail: 1.77,
        why: "1000 words, 512 hidden units, 46 topics; 1 Tflop/s",
    },
    Model {
        name: "MF",
        parameters: 9_746 * 64,
        operations: 12.0 * 256.0 * 64.0,
        speed: 1e12,
        bound: 0.35,
        tail: 1.93,
        why: "6040 users and 3706 films, rank 64; 1 Tflop/s",
    },
    Model {
        name: "CNN",
        parameters: 270_000,
        operations: 6.0 * 32.0 * 41e6,
        speed: 1e12,
        bound: 0.15,
        tail: 1.32,
        why: "ResNet-20 for 32 by 32 pixels, 41 million multiplications; 1 Tflop/s",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lstm_has_as_many_numbers_as_its_layers() {
        let lstm = |inputs: u64| 4 * (256 * (inputs + 256) + 256);
        let all = lstm(71) + lstm(93) + 257 * 93;
        assert_eq!(MODELS[0].parameters, all);
        assert_eq!(MODELS[1].parameters, 1001 * 512 + 513 * 46);
    }
}
