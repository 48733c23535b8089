//! Traces of coflows: closed forms, properties, and the public trace where it is at hand.

use laxity_flowsim::coflow::{Fabric, Scheduler, Trace, run};
use laxity_interface::{Rate, Span, Time};

fn at(secs: u64) -> Time {
    Time::ZERO + Span::from_secs(secs)
}

#[test]
fn one_coflow_takes_as_long_as_its_busiest_port() {
    // 250 MB from two mappers to one reducer: 2 s through the reducer's port.
    let trace = Trace::parse("3 1\n7 1000 2 0 1 1 2:250\n").unwrap();
    for scheduler in Scheduler::ALL {
        let run = run(&trace, &Fabric::default(), scheduler, |_| {}).unwrap();
        let time = run.completions[0].time();
        assert_eq!(run.completions[0].arrived, at(1));
        assert!((time.as_secs_f64() - 2.0).abs() < 1e-6, "{scheduler}: {time}");
    }
}

#[test]
fn the_smaller_of_two_goes_first_where_sizes_are_known() {
    // 1 s and 4 s of work on one port. Fair: 2 and 5; smallest first: 1 and 5.
    let trace = Trace::parse("4 2\nlong 0 1 0 1 2:500\nshort 0 1 1 1 2:125\n").unwrap();
    let times = |scheduler| {
        let run = run(&trace, &Fabric::default(), scheduler, |_| {}).unwrap();
        let secs = |at: usize| run.completions[at].time().as_secs_f64();
        [secs(0), secs(1)]
    };
    for (scheduler, expected) in [
        (Scheduler::PerFlow, [5.0, 2.0]),
        (Scheduler::Varys, [5.0, 1.0]),
        (Scheduler::Sincronia, [5.0, 1.0]),
    ] {
        let found = times(scheduler);
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(near, "{scheduler}: {found:?}");
    }
}

#[test]
fn generated_traces_end_repeat_and_never_beat_the_busiest_port() {
    for seed in 0..5 {
        let trace = Trace::generate(seed, 20, 60, Span::from_ms(500));
        for scheduler in Scheduler::ALL {
            let fabric = Fabric { port: Rate::from_gbps(1), tick: Span::from_ms(50) };
            let first = run(&trace, &fabric, scheduler, |_| {}).unwrap();
            assert_eq!(first, run(&trace, &fabric, scheduler, |_| {}).unwrap(), "{scheduler}");
            for (done, coflow) in first.completions.iter().zip(&trace.coflows) {
                let mut load = vec![0u64; 40];
                for piece in &coflow.pieces {
                    load[piece.from as usize] += piece.size.get();
                    load[20 + piece.to as usize] += piece.size.get();
                }
                let least = *load.iter().max().unwrap() as f64 * 8e-9;
                let time = done.time().as_secs_f64();
                assert!(time >= least * (1.0 - 1e-6), "{seed} {scheduler}: {time} {least}");
            }
        }
    }
}

#[test]
fn knowing_sizes_beats_fairness_on_generated_traces() {
    let trace = Trace::generate(3, 30, 150, Span::from_ms(400));
    let mean = |scheduler| run(&trace, &Fabric::default(), scheduler, |_| {}).unwrap().mean_s();
    let fair = mean(Scheduler::PerFlow);
    for scheduler in [Scheduler::Varys, Scheduler::Sincronia] {
        let own = mean(scheduler);
        assert!(own < fair, "{scheduler}: {own} against {fair}");
    }
}

#[test]
fn wrong_traces_are_refused_by_line() {
    for (text, words) in [
        ("", "line 1"),
        ("4\n", "line 1"),
        ("4 1\na 0 1 9 1 2:3\n", "line 2: port 9 is not there"),
        ("4 1\na 0 1 0 1 2:-3\n", "line 2: `2:-3` has a negative size"),
        ("4 1\na 0 1 0 1 2\n", "line 2: `2` is not a PORT:MEGABYTES"),
        ("4 2\na 0 1 0 1 2:3\n", "the first line says 2"),
        ("4 1\na 0 1 0 1 2:3 4\n", "comes after the last reducer"),
        ("4 1\na 0 1 0\n", "ends before the number of reducers"),
    ] {
        let said = Trace::parse(text).unwrap_err().to_string();
        assert!(said.contains(words), "{text:?}: {said}");
    }
}

/// The public Facebook trace: 526 coflows on 150 ports. `LAXITY_COFLOW_TRACE` says where it is.
#[test]
fn varys_beats_fairness_on_the_public_trace() {
    let path = std::env::var("LAXITY_COFLOW_TRACE")
        .unwrap_or_else(|_| "../../../shared/data/coflow/FB2010-1Hr-150-0.txt".into());
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no trace at {path}; set LAXITY_COFLOW_TRACE");
        return;
    };
    let trace = Trace::parse(&text).unwrap();
    assert_eq!((trace.ports, trace.coflows.len(), trace.flows()), (150, 526, 706_397));
    // Unoptimised, all four take long: the two that matter, with a coarse tick.
    let fabric = Fabric { tick: Span::from_secs(20), ..Fabric::default() };
    let mean = |scheduler| run(&trace, &fabric, scheduler, |_| {}).unwrap().mean_s();
    let (fair, varys) = (mean(Scheduler::PerFlow), mean(Scheduler::Varys));
    println!("mean coflow completion: per-flow {fair:.2} s, varys {varys:.2} s");
    assert!(fair / varys > 2.0, "{fair} {varys}");
}
