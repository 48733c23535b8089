//! Every word survives the wire, and nothing else is taken for one.

use laxity_interface::{Fraction, Rate, Span};
use proptest::prelude::*;

use super::*;
use crate::roles::codec::{Reader, WordError, Writer};

fn rank() -> impl Strategy<Value = Rank> {
    any::<u32>().prop_map(Rank::new)
}

fn update() -> impl Strategy<Value = UpdateId> {
    (rank(), any::<u64>()).prop_map(|(worker, number)| UpdateId { worker, number })
}

fn version() -> impl Strategy<Value = Version> {
    (any::<u32>(), any::<u64>()).prop_map(|(epoch, commits)| Version { epoch, commits })
}

fn span() -> impl Strategy<Value = Span> {
    any::<u64>().prop_map(Span::from_ps)
}

fn number() -> impl Strategy<Value = f64> {
    0.0..f64::MAX
}

fn role() -> impl Strategy<Value = RoleKind> {
    prop::sample::select(&RoleKind::ALL[..])
}

fn reason() -> impl Strategy<Value = Reason> {
    prop_oneof![
        span().prop_map(|ends| Reason::Direct { ends }),
        (rank(), span(), span()).prop_map(|(at, ready, free)| Reason::Summed { at, ready, free }),
        (any::<u64>(), any::<u64>()).prop_map(|(delay, bound)| Reason::TooStale { delay, bound }),
        (span(), span()).prop_map(|(takes, usual)| Reason::HoldsUp { takes, usual }),
        (version(), version()).prop_map(|(version, now)| Reason::RoundOver { version, now }),
        (rank(), any::<u64>(), rank(), any::<u64>())
            .prop_map(|(worker, sent, server, held)| Reason::Shape { worker, sent, server, held }),
        Just(Reason::Overlap),
        Just(Reason::Decided),
        Just(Reason::NotFinite),
        any::<u32>().prop_map(|epoch| Reason::Deposed { epoch }),
        Just(Reason::SchedulerAway),
        Just(Reason::NoPlan),
        (rank(), span()).prop_map(|(server, waited)| Reason::ServerGone { server, waited }),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let through = (rank(), any::<u64>(), span()).prop_map(|(aggregator, sum, give_up)| Through {
        aggregator,
        sum: SumId(sum),
        give_up,
    });
    let rate = prop::option::of(any::<u64>().prop_map(Rate::bps));
    let send = (span(), rate, any::<u32>(), prop::option::of(through))
        .prop_map(|(after, rate, place, through)| Action::Send { after, rate, place, through });
    prop_oneof![send, Just(Action::Drop)]
}

fn updates() -> impl Strategy<Value = Vec<UpdateId>> {
    prop::collection::vec(update(), 0..5)
}

fn refused() -> impl Strategy<Value = Refused> {
    (update(), reason()).prop_map(|(update, reason)| Refused { update, reason })
}

fn member() -> impl Strategy<Value = Member> {
    (update(), version(), number(), any::<u64>()).prop_map(|(update, version, norm, lost)| Member {
        update,
        version,
        norm,
        lost,
    })
}

fn decided() -> impl Strategy<Value = DecidedOf> {
    (rank(), any::<u64>(), prop::collection::vec(any::<u64>(), 0..5))
        .prop_map(|(worker, floor, above)| DecidedOf { worker, floor, above })
}

fn of_workers() -> impl Strategy<Value = Word> {
    prop_oneof![
        (update(), rank(), any::<u64>(), number(), version()).prop_map(
            |(update, server, bytes, norm, version)| {
                Word::Announce(Announce { update, server, bytes, norm, version })
            }
        ),
        (update(), version(), number(), 0.0..=1.0, rank(), prop::option::of(any::<u64>()))
            .prop_map(|(update, version, norm, least, server, sum)| {
                let min_delivery = Fraction::new(least).expect("a fraction");
                let sum = sum.map(SumId);
                Word::Update(Update { update, version, norm, min_delivery, server, sum })
            }),
        (any::<u64>(), version(), any::<u64>())
            .prop_map(|(request, at_least, clock)| Word::Get(Get { request, at_least, clock })),
        prop::option::of(any::<u64>()).prop_map(Word::Clock),
        (rank(), any::<u64>())
            .prop_map(|(to, rate)| Word::Measured(Measured { to, rate: Rate::bps(rate) })),
        (any::<u64>(), prop::collection::vec(member(), 0..5))
            .prop_map(|(sum, members)| Word::Sum(Sum { sum: SumId(sum), members })),
    ]
}

fn of_servers() -> impl Strategy<Value = Word> {
    prop_oneof![
        (update(), version(), any::<u64>()).prop_map(|(update, version, delay)| {
            Word::Committed(Committed { update, version, delay })
        }),
        refused().prop_map(Word::Refused),
        (version(), updates(), prop::collection::vec(refused(), 0..3)).prop_map(
            |(version, committed, refused)| {
                Word::Progress(Progress { version, committed, refused })
            }
        ),
        (any::<u64>(), version(), updates(), any::<(u64, u64)>()).prop_map(
            |(request, version, then, (first, of))| {
                let asked = |one: UpdateId| Asked { worker: one.worker, request: one.number };
                let then = then.into_iter().map(asked).collect();
                Word::Model(Model { request, version, first, of, then })
            }
        ),
        (version(), version(), updates()).prop_map(|(before, version, members)| Word::Step(Step {
            before,
            version,
            members
        })),
        (version(), any::<u64>(), prop::collection::vec(decided(), 0..3)).prop_map(
            |(version, elements, decided)| Word::Snapshot(Snapshot { version, elements, decided })
        ),
    ]
}

fn of_others() -> impl Strategy<Value = Word> {
    prop_oneof![
        (role(), any::<bool>(), prop::option::of(any::<u64>()), version()).prop_map(
            |(role, sync, staleness, version)| {
                Word::Register(Register { role, sync, staleness, version })
            }
        ),
        prop::collection::vec((rank(), any::<u64>()), 0..4).prop_map(|hosts| {
            let strength = |(host, bps)| Strength { host, rate: Rate::bps(bps) };
            Word::Hosts(hosts.into_iter().map(strength).collect())
        }),
        (update(), action(), reason()).prop_map(|(update, action, reason)| Word::Entry(Entry {
            update,
            action,
            reason
        })),
        (any::<u64>(), rank(), updates(), span()).prop_map(|(sum, server, members, bound)| {
            Word::Gather(Gather { sum: SumId(sum), server, members, bound })
        }),
        Just(Word::Join),
        version().prop_map(Word::Stored),
        (role(), version(), number()).prop_map(|(role, version, apart)| Word::Beat(Beat {
            role,
            version,
            apart
        })),
        (rank(), version()).prop_map(|(of, version)| Word::Promoted(Promoted { of, version })),
    ]
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![of_workers(), of_servers(), of_others()]
}

fn encoded(word: &Word) -> Vec<u8> {
    let mut writer = Writer::default();
    word.encode(&mut writer);
    writer.finish()
}

fn decoded(bytes: &[u8]) -> Result<Word, WordError> {
    let mut reader = Reader::new(bytes);
    let word = Word::decode(&mut reader)?;
    reader.end()?;
    Ok(word)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_word_survives_the_wire(word in word()) {
        prop_assert_eq!(decoded(&encoded(&word)), Ok(word));
    }

    #[test]
    fn a_word_cut_short_or_with_more_behind_is_refused(word in word(), cut in any::<prop::sample::Index>()) {
        let mut bytes = encoded(&word);
        let cut = cut.index(bytes.len());
        prop_assert!(decoded(&bytes[..cut]).is_err());
        bytes.push(0);
        prop_assert_eq!(decoded(&bytes), Err(WordError::Trailing(1)));
    }

    #[test]
    fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(word) = decoded(&bytes) {
            prop_assert_eq!(encoded(&word).len(), bytes.len());
        }
    }
}

#[test]
fn a_long_list_needs_a_long_word() {
    let mut writer = Writer::default();
    writer.u8(12);
    writer.version(Version::default());
    writer.version(Version::default());
    writer.u32(4000);
    let error = decoded(&writer.finish()).unwrap_err();
    assert_eq!(error, WordError::Short { what: "members", need: 48_000, have: 0 });
}
