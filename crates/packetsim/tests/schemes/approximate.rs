//! EarlySend and SampleSend over every transport that loses nothing.

use laxity_interface::Time;
use laxity_packetsim::{Outcome, Scheme};

use crate::world::{flow, ideal, last, ratio, run, scheme};

const STEMS: [&str; 6] = ["dctcp", "dctcp-plain", "dctcp-prio", "pfabric", "aeolus", "ndp"];

fn lone(name: &str, min: f64) -> Outcome {
    run(scheme(name), 2, &[(Time::ZERO, flow(1, 0, (1000, 1460), min))])
}

#[test]
fn half_the_messages_take_half_the_time() {
    for stem in STEMS {
        let whole = last(&lone(stem, 0.5));
        assert!(ratio(whole, ideal(1_460_000)) < 1.2, "{stem}: {whole}");
        for suffix in ["-es", "-ss"] {
            let half = last(&lone(&format!("{stem}{suffix}"), 0.5));
            assert!(ratio(half, ideal(730_000)) < 1.25, "{stem}{suffix}: {half}");
        }
    }
}

#[test]
fn early_send_delivers_the_first_and_sample_send_exactly_enough() {
    for stem in STEMS {
        let early = lone(&format!("{stem}-es"), 0.7);
        assert!((700..760).contains(&early.done[0].delivered), "{stem}: {:?}", early.done);
        let sample = lone(&format!("{stem}-ss"), 0.7);
        assert_eq!(sample.done[0].delivered, 700, "{stem}");
        assert_eq!(sample.tally.data_packets - sample.tally.again, 700, "{stem}");
    }
}

#[test]
fn an_exact_flow_is_the_same_whatever_the_suffix() {
    for stem in STEMS {
        let whole = lone(stem, 1.0);
        for suffix in ["-es", "-ss"] {
            let other = lone(&format!("{stem}{suffix}"), 1.0);
            assert_eq!(last(&whole), last(&other), "{stem}{suffix}");
        }
    }
    assert!(Scheme::ALL.iter().filter(|scheme| scheme.approx().is_some()).count() == 18);
}
