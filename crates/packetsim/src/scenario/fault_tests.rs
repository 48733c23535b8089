//! Faults of a file are those of the network, and wrong ones are refused with words that help.

use laxity_interface::Time;

use super::{FileError, Scenario};
use crate::{DropReason, On, Trouble};

const HEAD: &str = "topology = { kind = 'leaf-spine', leaves = 2, spines = 2, hosts = 2, rate = '10Gbps' }\n\
                    [[workloads]]\nkind = 'permutation'\nscheme = 'dctcp'\nsize = '1MB'\n";

fn read(rest: &str) -> Result<Scenario, FileError> {
    Scenario::from_toml(&format!("{HEAD}{rest}"))
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_a_remedy() {
    for (fault, line, path, words) in [
        ("", None, "", "kind"),
        ("kind = 'lose'", None, "", "loss"),
        ("kind = 'loss'", Some(6), "faults[0].probability", "probability = 0.01"),
        ("kind = 'loss'\nprobability = 1.5", None, "", "1.5"),
        ("kind = 'loss'\nprobabilty = 0.5", None, "", "probabilty"),
        (
            "kind = 'loss'\nprobability = 0.1\nextra = '1us'",
            Some(9),
            "faults[0].extra",
            "it has links",
        ),
        ("kind = 'bursts'\nbegin = 0.1", Some(6), "faults[0].end", "missing"),
        ("kind = 'nth'\npositions = []", Some(6), "faults[0].positions", "[0, 3]"),
        ("kind = 'late'\nprobability = 0.1", Some(6), "faults[0].extra", "50us"),
        ("kind = 'down'", Some(6), "faults[0].from", "1ms"),
        ("kind = 'down'\nfrom = '2ms'\nuntil = '1ms'", Some(9), "faults[0].until", "later"),
        ("kind = 'down'\nfrom = '1ms'\nlinks = 'leaf0'", Some(9), "faults[0].links", "h0->leaf0"),
        (
            "kind = 'down'\nfrom = '1ms'\nlinks = ['leaf9--spine0']",
            Some(9),
            "faults[0].links",
            "`leaf9`",
        ),
        (
            "kind = 'down'\nfrom = '1ms'\nlinks = ['h0->h1']",
            Some(9),
            "faults[0].links",
            "h0->leaf0",
        ),
        (
            "kind = 'down'\nfrom = '1ms'\nlinks = ['h0->leaf0', 'h0--leaf0']",
            Some(9),
            "faults[0].links",
            "twice",
        ),
        ("kind = 'down'\nfrom = '1ms'\nscheme = 'dctcp'", Some(9), "faults[0].scheme", "detect"),
        (
            "kind = 'loss'\nprobability = 0.1\nscheme = 'udp'",
            Some(9),
            "faults[0].scheme",
            "there are dctcp",
        ),
    ] {
        let text = format!("[[faults]]\n{fault}\n");
        let error = read(&text).map(|_| ()).expect_err(&text);
        let said = error.to_string();
        assert!(said.contains(words), "{text}\n=> {said}");
        let found = (error.line(), error.path().unwrap_or_default());
        assert_eq!(found, (line, path), "{text}\n=> {said}");
        assert!(said.contains("line"), "{text}\n=> {said}");
    }
}

#[test]
fn links_are_found_by_name_and_by_kind() {
    let links = |links: &str| {
        let text = format!("[[faults]]\nkind = 'loss'\nprobability = 0.1\nlinks = {links}\n");
        let point = read(&text).unwrap().point(0);
        match &point.faults[0].on {
            On::All => vec!["all".to_owned()],
            On::Links(some) => some.iter().map(|l| point.topology.link_name(*l)).collect(),
        }
    };
    assert_eq!(links("'all'"), ["all"]);
    assert_eq!(links("'h1->leaf0'"), ["h1->leaf0"]);
    let mut both = links("['leaf1--spine0']");
    both.sort();
    assert_eq!(both, ["leaf1->spine0", "spine0->leaf1"]);
    assert_eq!((links("'hosts'").len(), links("'switches'").len()), (8, 8));
}

#[test]
fn faults_of_a_file_hit_the_packets_they_name() {
    let run = |rest: &str| read(rest).unwrap().point(0).run(1).unwrap();
    let loss = "[[faults]]\nkind = 'loss'\nprobability = 0.05\n";
    let lost = |rest: &str| {
        let ran = run(rest);
        assert_eq!(ran.workloads[0].unfinished_flows, 0, "{rest}");
        ran.outcome.drops_by_reason.of(DropReason::Fault)
    };
    assert_eq!(lost(""), 0);
    let all = lost(loss);
    let data = lost(&format!("{loss}larger-than = '200B'\n"));
    assert!(data > 20 && all > data, "{all} of all, {data} of data");
    assert_eq!(lost(&format!("{loss}larger-than = '1518B'\n")), 0);
    assert_eq!(lost(&format!("{loss}from = '1s'\n")), 0);
    assert!(lost(&format!("{loss}until = '100us'\n")) < all / 2);
    assert_eq!(lost("[[faults]]\nkind = 'nth'\npositions = [3, 5]\nlinks = 'h0->leaf0'\n"), 2);
}

#[test]
fn a_sweep_may_go_through_probabilities_and_schemes() {
    let text = HEAD.replace("'dctcp'", "['udp', 'dctcp']")
        + "[[faults]]\nkind = 'loss'\nprobability = [0.0, 0.1]\nscheme = 'dctcp'\n";
    let scenario = Scenario::from_toml(&text).unwrap();
    assert_eq!(scenario.points(), 4);
    let last = scenario.point(3);
    assert_eq!(last.settings[1], ("fault-probability".into(), "0.1".into()));
    let lost = |point| {
        let ran = scenario.point(point).run(1).unwrap();
        ran.outcome.drops_by_reason.of(DropReason::Fault)
    };
    assert_eq!((lost(0), lost(1), lost(2)), (0, 0, 0), "only DCTCP loses");
    assert!(lost(3) > 0);
}

#[test]
fn a_link_goes_down_and_is_told_in_words() {
    let text = "[[faults]]\nkind = 'down'\nlinks = ['leaf0--spine0']\nfrom = '100us'\nuntil = '2ms'\ndetect = '50us'\n\
                [[faults]]\nkind = 'late'\nprobability = 0.25\nextra = '3us'\nscheme = 'dctcp'\n";
    let point = read(text).unwrap().point(0);
    let until = Some(Time::from_ps(2_000_000_000));
    assert!(matches!(point.faults[0].what, Trouble::Down { until: end, .. } if end == until));
    let words = point.faults_in_words();
    assert!(words[0].starts_with("down from 100us until 2000us"), "{words:?}");
    assert!(words[0].contains("leaf0->spine0"), "{words:?}");
    assert!(words[1].contains("25 %") && words[1].contains("packets of dctcp"), "{words:?}");
    assert_eq!(point.run(1).unwrap().workloads[0].unfinished_flows, 0);
}
