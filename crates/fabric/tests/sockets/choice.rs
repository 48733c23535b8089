//! Which steps a transport is good at.

use laxity_fabric::{
    Algorithm, Communicator, Group, Operation, Options, ReduceOp, choose, rendezvous::Transport,
};
use laxity_interface::Bytes;
use laxity_protocol::ElementType;

use crate::common::world;

/// How two ranks would reduce a long tensor exactly.
fn chosen(transport: Transport) -> Algorithm {
    let all = world(2, transport, |fabric| {
        let ranks = Communicator::new(fabric, 2);
        let network = ranks.engine().network();
        let (sum, eight) = (Operation::AllReduce(ReduceOp::Sum), Group::world(8));
        let (size, options) = (Bytes::new(25_000_000), Options::default());
        choose(sum, &eight, ElementType::F32, size, &options, &network).0
    });
    assert_eq!(all[0], all[1], "ranks must choose alike");
    all[0].clone()
}

#[test]
fn long_tensors_go_round_over_tcp_and_straight_to_their_owners_over_laxity() {
    assert_eq!(chosen(Transport::Tcp), Algorithm::Ring);
    assert_eq!(chosen(Transport::Laxity), Algorithm::Transpose);
}
