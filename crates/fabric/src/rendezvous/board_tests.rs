//! The store without sockets: every answer and every refusal.

use super::*;
use crate::rendezvous::identity::Identity;

const SECOND: Span = Span::from_secs(1);

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

struct Table {
    board: Board,
    now: Time,
}

impl Table {
    fn new() -> Self {
        Self { board: Board::new(BoardLimits::default(), [1; 16]), now: Time::ZERO }
    }

    fn say(&mut self, client: usize, request: Request) -> Vec<(usize, Reply)> {
        let from = address(client as u16);
        self.board.handle_request(self.now, Client(client), from, request);
        self.replies()
    }

    fn replies(&mut self) -> Vec<(usize, Reply)> {
        std::iter::from_fn(|| self.board.poll_reply()).map(|(to, reply)| (to.0, reply)).collect()
    }

    fn register(&mut self, client: usize, rank: u32, world: u32) -> Vec<(usize, Reply)> {
        self.register_over(Transport::Tcp, client, rank, world)
    }

    fn register_over(
        &mut self,
        transport: Transport,
        client: usize,
        rank: u32,
        world: u32,
    ) -> Vec<(usize, Reply)> {
        let token = Identity::new(Rank::new(rank)).token();
        let member = Member { address: address(1000 + client as u16), token };
        self.say(client, Request::Register { rank, world, member, transport })
    }

    fn later(&mut self, by: Span) -> Vec<(usize, Reply)> {
        self.now += by;
        self.board.handle_timeout(self.now);
        self.replies()
    }
}

fn refusal(replies: &[(usize, Reply)]) -> &str {
    match replies {
        [(_, Reply::Refused(why))] => why,
        other => panic!("not one refusal: {other:?}"),
    }
}

#[test]
fn values_are_set_read_added_and_waited_for() {
    let mut table = Table::new();
    let key = || "epoch".to_owned();
    assert_eq!(table.say(1, Request::Get { key: key() }), [(1, Reply::Value(None))]);
    let keys = vec![key(), "seed".into()];
    assert!(table.say(2, Request::Wait { keys: keys.clone(), patience: SECOND }).is_empty());
    assert_eq!(table.say(1, Request::Add { key: key(), by: 3 }), [(1, Reply::Sum(3))]);
    assert_eq!(table.say(1, Request::Add { key: key(), by: -1 }), [(1, Reply::Sum(2))]);
    let set = Request::Set { key: "seed".into(), value: vec![7] };
    let values = Reply::Values(vec![b"2".to_vec(), vec![7]]);
    assert_eq!(table.say(3, set), [(3, Reply::Done), (2, values)]);
    let keys = vec![key(), "never".into()];
    assert!(table.say(2, Request::Wait { keys, patience: SECOND }).is_empty());
    assert_eq!(table.board.poll_timeout(), Some(Time::ZERO + SECOND));
    assert_eq!(table.later(SECOND), [(2, Reply::MissingKeys(vec!["never".into()]))]);
    assert!(refusal(&table.say(1, Request::Add { key: "seed".into(), by: 1 })).contains("number"));
}

#[test]
fn memory_is_bounded() {
    let mut table = Table::new();
    table.board.limits = BoardLimits { total_bytes: 100, value_bytes: 60, ..Default::default() };
    let set = |key: &str, bytes| Request::Set { key: key.into(), value: vec![0; bytes] };
    assert!(refusal(&table.say(1, set("a", 61))).contains("61 bytes"));
    for _ in 0..10 {
        assert_eq!(table.say(1, set("a", 60)), [(1, Reply::Done)], "replaced, not added");
    }
    assert!(refusal(&table.say(1, set("b", 60))).contains("full"));
    assert_eq!(table.say(1, set("b", 38)), [(1, Reply::Done)]);
    assert!(refusal(&table.say(1, set(&"k".repeat(2000), 0))).contains("key of 2000"));
}

#[test]
fn the_roster_comes_when_all_are_there_and_names_who_is_not() {
    let mut table = Table::new();
    assert_eq!(table.register(10, 0, 3), [(10, Reply::Done)]);
    assert_eq!(table.register(12, 2, 3), [(12, Reply::Done)]);
    assert!(table.say(10, Request::Roster { patience: SECOND }).is_empty());
    let present = vec![(0, address(10)), (2, address(12))];
    let missing = Reply::MissingRanks { missing: vec![1], world: 3, present, refused: vec![] };
    assert_eq!(table.later(SECOND), [(10, missing)]);
    assert!(table.say(10, Request::Roster { patience: SECOND }).is_empty());
    let replies = table.register(11, 1, 3);
    let [(11, Reply::Done), (10, Reply::Roster(roster))] = &replies[..] else {
        panic!("{replies:?}");
    };
    let ports: Vec<_> = roster.members.iter().map(|member| member.address.port()).collect();
    assert_eq!(ports, [1010, 1011, 1012], "by rank");
    assert_eq!(table.say(10, Request::Leave), [(10, Reply::Done)]);
    let late = table.say(11, Request::Roster { patience: SECOND });
    assert_eq!(late, [(11, Reply::Roster(roster.clone()))], "though rank 0 has left");
}

#[test]
fn two_of_one_rank_and_another_world_are_refused_with_both_sides() {
    let mut table = Table::new();
    table.register(10, 0, 3);
    let replies = table.register(11, 0, 3);
    let why = refusal(&replies);
    for part in ["10.0.0.1:11 (listening at 10.0.0.1:1011)", "10.0.0.1:10 (listening", "rank 0"] {
        assert!(why.contains(part), "{why}");
    }
    let replies = table.register(12, 1, 4);
    let why = refusal(&replies);
    assert!(why.contains("rank 1 at 10.0.0.1:12 says that there are 4"), "{why}");
    assert!(why.contains("10.0.0.1:10 said 3"), "{why}");
    assert!(refusal(&table.register(13, 3, 3)).contains("ranks 0 to 2"));
    let replies = table.register_over(Transport::Laxity, 14, 2, 3);
    let why = refusal(&replies);
    let both = ["rank 2 at 10.", " uses the transport laxity, rank 0 at 10.", " uses tcp; "];
    assert!(both.iter().all(|part| why.contains(part)), "{why}");
    // Those who wait for it hear of that, until it comes.
    table.say(10, Request::Roster { patience: SECOND });
    let [(10, Reply::MissingRanks { refused, .. })] = &table.later(SECOND)[..] else {
        panic!("rank 0 waited in vain");
    };
    assert_eq!(refused.len(), 2, "rank 1 was of another world");
    assert_eq!(refused[1], why);
    assert_eq!(table.register(14, 2, 3), [(14, Reply::Done)]);
    table.say(10, Request::Roster { patience: SECOND });
    let late = table.later(SECOND);
    assert!(matches!(&late[..], [(10, Reply::MissingRanks { refused, .. })] if refused.len() == 1));
}

/// Who wanted to be a rank that is registered has nothing to do with that one being late.
#[test]
fn who_is_late_at_a_barrier_is_not_told_of_as_turned_away() {
    let mut table = Table::new();
    table.register(10, 0, 2);
    table.register(11, 1, 2);
    refusal(&table.register(12, 1, 2));
    table.say(10, Request::Barrier { name: "b".into(), patience: SECOND });
    let late = table.later(SECOND);
    let [(10, Reply::MissingRanks { missing, refused, .. })] = &late[..] else {
        panic!("{late:?}");
    };
    assert_eq!((&missing[..], &refused[..]), (&[1][..], &[][..]));
}

#[test]
fn the_host_of_the_store_is_named_as_ranks_know_it() {
    let mut table = Table::new();
    let store = "node0:29500".to_owned();
    table.board.expect(Expects { world: 2, transport: Transport::Tcp, store });
    let replies = table.register_over(Transport::Laxity, 11, 1, 2);
    let why = refusal(&replies);
    assert!(why.contains("the store's host at node0:29500 uses tcp; "), "{why}");
    let replies = table.register(11, 1, 3);
    let why = refusal(&replies);
    assert!(why.contains("are 3 ranks, the store's host at node0:29500 said 2"), "{why}");
}

#[test]
fn a_rank_that_dies_early_can_be_replaced_and_one_that_dies_late_is_told() {
    let mut table = Table::new();
    table.register(10, 0, 2);
    table.board.handle_gone(table.now, Client(10), "connection reset");
    assert!(table.replies().is_empty());
    assert_eq!(table.register(20, 0, 2), [(20, Reply::Done)]);
    assert_eq!(table.register(11, 1, 2), [(11, Reply::Done)]);
    assert!(table.say(11, Request::Watch).is_empty());
    table.board.handle_gone(table.now, Client(20), "connection reset");
    let replies = table.replies();
    let [(11, Reply::Gone { rank: 0, left: false, reason })] = &replies[..] else {
        panic!("{replies:?}");
    };
    assert!(reason.contains("10.0.0.1:1020") && reason.contains("connection reset"), "{reason}");
    assert_eq!(table.say(30, Request::Watch).len(), 1, "who comes late hears it too");
    assert!(refusal(&table.register(31, 0, 2)).contains("has lost"));
}

#[test]
fn a_barrier_waits_for_all_who_have_not_left() {
    let mut table = Table::new();
    for rank in 0..3 {
        table.register(10 + rank as usize, rank, 3);
    }
    let barrier = || Request::Barrier { name: "end".into(), patience: SECOND };
    assert!(refusal(&table.say(99, barrier())).contains("register"));
    assert!(table.say(10, barrier()).is_empty());
    let replies = table.later(SECOND);
    let [(10, Reply::MissingRanks { missing, .. })] = &replies[..] else { panic!("{replies:?}") };
    assert_eq!(missing, &[1, 2]);
    assert!(table.say(10, barrier()).is_empty());
    assert!(table.say(11, barrier()).is_empty());
    let replies = table.say(12, barrier());
    assert_eq!(replies.len(), 3);
    assert!(replies.iter().all(|(_, reply)| *reply == Reply::Done));
    assert_eq!(table.say(12, Request::Leave), [(12, Reply::Done)]);
    assert!(table.say(10, barrier()).is_empty());
    assert_eq!(table.say(11, barrier()).len(), 2, "rank 2 has left in peace");
    assert!(table.say(10, barrier()).is_empty());
    table.board.handle_gone(table.now, Client(11), "reset");
    assert!(refusal(&table.replies()).contains("rank 1 at 10.0.0.1:1011 (lost)"));
}
