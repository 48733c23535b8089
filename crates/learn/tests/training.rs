//! Whole trainings: they improve, they repeat, and loss does what it should.

use std::sync::Arc;

use laxity_interface::Fraction;
use laxity_learn::{
    Case, Curve, JOBS, Job, JobError, Loss, Model, Schedule, Setup, Size,
    data::made,
    model::{Factorisation, Mlp, Topics},
    run_all, train,
};

fn quick(name: &str) -> Job {
    Job::new(name, None, Size::Quick).expect("a job that needs no files")
}

fn lossy(job: &Job, policy: &str, rate: f64) -> Setup {
    let loss = Loss::independent(Fraction::new(rate).expect("a fraction"));
    Setup { policy: policy.parse().expect("a policy"), loss, ..job.setup }
}

#[test]
fn the_same_seed_gives_the_same_curve_on_any_number_of_threads() {
    let jobs = [quick("mlp"), quick("mf")];
    let cases: Vec<Case> = ["zero", "mean+velocity", "stale+feedback:age=1", "mean+hadamard"]
        .iter()
        .flat_map(|policy| {
            let case = |job: usize| Case { job, setup: lossy(&jobs[job], policy, 0.2) };
            [case(0), case(1)]
        })
        .collect();
    let run = |threads: usize| {
        let mut curves: Vec<Option<Curve>> = vec![None; cases.len()];
        run_all(&jobs, &cases, threads, |at, curve| curves[at] = Some(curve));
        curves
    };
    let once = run(1);
    assert_eq!(once, run(3));
    assert_ne!(once[0], once[2], "policies differ");
    let other = Setup { seed: 2, ..cases[0].setup };
    assert_ne!(once[0].as_ref(), Some(&train(&*jobs[0].model, &other)));
}

/// Figures that were published with a seed must come out again, on any machine.
#[test]
fn the_numbers_stay_what_they_are() {
    let bits = ["mf", "mlp", "lstm"].map(|name| {
        let job = quick(name);
        let curve = train(&*job.model, &lossy(&job, "mean+velocity", 0.1));
        curve.points.last().expect("epochs").test_loss.to_bits()
    });
    assert_eq!(bits, PINNED);
}

/// Equal with instructions for 4 and for 8 numbers at once, in debug and in release builds.
const PINNED: [u64; 3] =
    [4_602_522_748_970_385_359, 4_608_729_213_979_574_159, 4_611_808_011_378_043_518];

#[test]
fn without_loss_all_policies_learn_the_same() {
    let job = quick("mlp");
    let plain = train(&*job.model, &job.setup);
    for policy in ["mean", "stale+feedback", "trend", "zero+thirds+early"] {
        assert_eq!(train(&*job.model, &lossy(&job, policy, 0.0)), plain, "{policy}");
    }
    // Where momentum is kept, or gradients are mixed and mixed back, only rounding differs.
    for policy in ["mean+velocity", "zero+hadamard"] {
        let curve = train(&*job.model, &lossy(&job, policy, 0.0));
        let difference = curve.points[0].train_loss - plain.points[0].train_loss;
        assert!(difference.abs() < 1e-3, "{policy}: {difference}");
    }
}

#[test]
fn the_share_that_is_lost_is_the_one_that_was_asked_for() {
    let job = quick("mlp");
    for policy in ["zero", "zero+halves", "zero+smallest", "zero+layers", "zero+early"] {
        let lost = train(&*job.model, &lossy(&job, policy, 0.2)).lost;
        assert!((lost - 0.2).abs() < 0.03, "{policy}: {lost}");
    }
}

#[test]
fn losing_everything_teaches_nothing() {
    let job = quick("mlp");
    let setup = Setup { decay: 0.0, ..lossy(&job, "zero", 1.0) };
    let curve = train(&*job.model, &setup);
    let start = job.model.evaluate(&job.model.start(setup.seed));
    assert_eq!(curve.points.last().map(|point| point.test_loss), Some(start.loss));
    // With what is fed back nothing arrives either.
    let setup = Setup { decay: 0.0, ..lossy(&job, "zero+feedback", 1.0) };
    assert_eq!(train(&*job.model, &setup).score(), curve.score());
}

#[test]
fn whole_gradients_make_every_step_an_improvement() {
    let ratings = Arc::new(made::ratings(5, 40, 30, 600));
    descends(&Factorisation::new(ratings, 3, 0.02), 2.0, 30);
    let pictures = Arc::new(made::strokes(5, 60, 10));
    descends(&Mlp::new(pictures, &[16]), 0.05, 30);
    // For topics the nats per word fall: every step is one of expectation and maximisation.
    let documents = Arc::new(made::documents(5, 60, 80, 3));
    descends(&Topics::new(documents, 3), 1.0, 12);
}

/// Plain descent on all examples at once.
fn descends(model: &dyn Model, rate: f32, steps: usize) {
    let everything: Vec<_> = (0..model.examples()).collect();
    let mut parameters = model.start(1);
    let (mut before, first) = (f64::INFINITY, model.gradient(&parameters, &everything).0);
    for step in 0..steps {
        let (loss, gradient) = model.gradient(&parameters, &everything);
        assert!(loss < before + 1e-4, "step {step}: {before} became {loss}");
        before = loss;
        parameters.iter_mut().zip(&gradient).for_each(|(at, slope)| *at -= rate * slope);
    }
    assert!(before < 0.98 * first, "{first} became {before} in {steps} steps");
}

#[test]
fn every_job_without_files_learns_something() {
    for name in JOBS.iter().filter(|name| !name.contains('-')) {
        let job = quick(name);
        let start = job.model.evaluate(&job.model.start(1));
        let curve = train(&*job.model, &job.setup);
        assert!(curve.score() > start.score + 1.0, "{name}: {} to {}", start.score, curve.score());
    }
    let error = Job::new("gpt", None, Size::Quick).unwrap_err();
    assert!(matches!(&error, JobError::Unknown { name } if name == "gpt"));
    let error = Job::new("mlp-mnist", None, Size::Quick).unwrap_err().to_string();
    assert!(error.contains("`mnist`"), "{error}");
}

/// A gradient that is τ steps late counts α(t, τ) / α(t, 0) of a fresh one.
#[test]
fn late_gradients_are_slowed_down_by_adadelay() {
    let job = quick("mf");
    let base = Setup { momentum: 0.0, ..job.setup };
    let train =
        |delay: usize, schedule: Schedule| train(&*job.model, &Setup { delay, schedule, ..base });
    assert_ne!(train(0, Schedule::Constant(10.0)), train(8, Schedule::Constant(10.0)));
    // With c = 0 lateness is not looked at, and these steps are too large for it.
    let blind = train(8, Schedule::AdaDelay { l: 0.1, c: 0.0 });
    assert_eq!(blind, train(8, Schedule::Constant(10.0)));
    let careful = train(8, Schedule::AdaDelay { l: 0.1, c: 0.1 });
    assert!(careful.score() > 0.0 && careful.score() > blind.score(), "{careful:?} {blind:?}");
}
