//! What an operation is, as ranks compare it.

use std::fmt;

use laxity_protocol::ElementType;

use crate::{
    carrier::Signature,
    chance::Chance,
    loss::{Importance, LossPolicy},
    options::{Algorithm, OnLoss, Operation, Options, ReduceOp},
};

/// An operation as another rank sees it in a parcel's signature: enough to notice that two ranks do
/// not mean the same, and to say in what.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    kind: u16,
    count: u64,
}

const OPERATIONS: [&str; 10] = [
    "all_reduce",
    "reduce_scatter",
    "reduce",
    "all_gather",
    "broadcast",
    "gather",
    "scatter",
    "all_to_all",
    "barrier",
    "send or recv",
];
const REDUCE: [ReduceOp; 5] =
    [ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max, ReduceOp::Product];
const ELEMENTS: [ElementType; 7] = [
    ElementType::U8,
    ElementType::I32,
    ElementType::I64,
    ElementType::F16,
    ElementType::Bf16,
    ElementType::F32,
    ElementType::F64,
];
const ALGORITHMS: [&str; 4] = ["transpose", "ring", "halving-doubling", "tree"];

impl Shape {
    /// The shape of an operation. `algorithm` is the one that was chosen.
    pub(crate) fn new(
        operation: Operation,
        algorithm: &Algorithm,
        element: ElementType,
        count: usize,
        options: &Options,
    ) -> Self {
        let number = match operation {
            Operation::AllReduce(_) => 0,
            Operation::ReduceScatter(_) => 1,
            Operation::Reduce(..) => 2,
            Operation::AllGather => 3,
            Operation::Broadcast(_) => 4,
            Operation::Gather(_) => 5,
            Operation::Scatter(_) => 6,
            Operation::AllToAll => 7,
            Operation::Barrier => 8,
            Operation::Send(..) | Operation::Recv(..) => 9,
        };
        let verb = match operation.reduce_op() {
            Some(op) => number * 5 + REDUCE.iter().position(|one| *one == op).unwrap_or(0) as u16,
            None => 12 + number, // 3 folding operations times 5 are 0 to 14; 3 to 9 become 15 to 21.
        };
        let element = ELEMENTS.iter().position(|one| *one == element).unwrap_or(0) as u16;
        let way = match algorithm {
            Algorithm::Auto | Algorithm::Transpose => 0,
            Algorithm::Ring => 1,
            Algorithm::HalvingDoubling => 2,
            Algorithm::Tree(_) => 3,
        };
        let check = check(operation, algorithm, options);
        Self { kind: verb | element << 5 | way << 8 | check << 10, count: count as u64 }
    }

    /// The shape that a parcel's signature names.
    pub(crate) fn of(signature: &Signature) -> Self {
        Self { kind: signature.kind, count: signature.count }
    }

    /// The signature of a parcel of such an operation, whose own elements may be of another type.
    pub(crate) fn signature(self, element: ElementType) -> Signature {
        Signature { kind: self.kind, element, count: self.count }
    }

    /// Its two numbers.
    pub(crate) fn numbers(self) -> (u16, u64) {
        (self.kind, self.count)
    }

    /// From its two numbers.
    pub(crate) fn from_numbers(kind: u16, count: u64) -> Self {
        Self { kind, count }
    }
}

/// Six bits that differ, most likely, if ranks give different roots or options.
fn check(operation: Operation, algorithm: &Algorithm, options: &Options) -> u16 {
    let root = match operation {
        Operation::Broadcast(root)
        | Operation::Reduce(_, root)
        | Operation::Gather(root)
        | Operation::Scatter(root) => u64::from(root.get()),
        _ => 0,
    };
    if matches!(operation, Operation::Send(..) | Operation::Recv(..)) {
        return 0; // The receiver need not know what the sender allows to be lost.
    }
    let mut words = vec![root, u64::from(options.hadamard), options.segment as u64];
    match &options.importance {
        Importance::Uniform(least) => words.extend([0, least.get().to_bits()]),
        Importance::ByRange(table) => {
            words.push(1);
            for (range, least) in table.iter() {
                words.extend([range.start as u64, range.end as u64, least.get().to_bits()]);
            }
        }
        Importance::ByMagnitude { classes, above, block } => {
            words.extend([2, above.get().to_bits(), *block as u64]);
            for (threshold, least) in classes.iter() {
                words.extend([threshold.to_bits(), least.get().to_bits()]);
            }
        }
    }
    words.push(match options.policy {
        LossPolicy::Zero => 0,
        LossPolicy::MeanOfReceived => 1,
        LossPolicy::Stale { .. } => 2,
        LossPolicy::Feedback { .. } => 3,
    });
    words.push(match options.on_loss {
        OnLoss::Fail => 0,
        OnLoss::Continue { at_least } => 1 + at_least as u64,
    });
    if let Algorithm::Tree(parents) = algorithm {
        words.extend(parents.iter().map(|parent| parent.map_or(0, |at| at as u64 + 1)));
    }
    (Chance::new(&words).bits() & 63) as u16
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, element) = ((self.kind & 31) as usize, (self.kind >> 5 & 7) as usize);
        let (way, check) = ((self.kind >> 8 & 3) as usize, self.kind >> 10);
        let element = ELEMENTS.get(element).map_or("unknown", |element| element.name());
        let count = self.count;
        if verb < 15 {
            let (operation, op) = (OPERATIONS[verb / 5], REDUCE[verb % 5].name());
            write!(f, "{operation} ({op}) of {count} {element}")?;
        } else {
            let operation = OPERATIONS.get(verb - 12).unwrap_or(&"an unknown operation");
            write!(f, "{operation} of {count} {element}")?;
        }
        write!(f, " by {}, root and options {check:02}", ALGORITHMS[way])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Rank;

    #[test]
    fn a_shape_says_what_differs() {
        let options = Options::default();
        let shape = |operation, element, count| {
            Shape::new(operation, &Algorithm::Ring, element, count, &options)
        };
        let all = [
            (
                shape(Operation::AllReduce(ReduceOp::Mean), ElementType::F32, 5),
                "all_reduce (mean) of 5 f32",
            ),
            (
                shape(Operation::Reduce(ReduceOp::Product, Rank::new(1)), ElementType::F64, 5),
                "reduce (product) of 5 f64",
            ),
            (shape(Operation::AllGather, ElementType::U8, 0), "all_gather of 0 u8"),
            (
                shape(Operation::Send(Rank::new(1), 4), ElementType::Bf16, 7),
                "send or recv of 7 bf16",
            ),
        ];
        for (shape, text) in all {
            assert!(shape.to_string().starts_with(text), "{shape}");
            assert!(shape.to_string().contains("by ring"), "{shape}");
            assert_eq!(Shape::of(&shape.signature(ElementType::U8)), shape);
        }
    }

    #[test]
    fn other_roots_are_noticed() {
        let shape = |root| {
            let operation = Operation::Broadcast(Rank::new(root));
            Shape::new(operation, &Algorithm::Auto, ElementType::U8, 1, &Options::default())
        };
        let differ = (0..64).filter(|root| shape(*root) != shape(64)).count();
        assert!(differ >= 60, "six bits tell most of them apart: {differ} of 64");
    }
}
