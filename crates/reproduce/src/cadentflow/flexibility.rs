//! Figures 2b, 2d and 3b: how much later flows may end than they could.

use laxity_flowsim::training::{Control, Setting, measure};
use laxity_report::{Row, chart::Axis};

use super::{by_model, choices, models, over, shown};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Flexibility;

/// The settings of the three figures.
fn settings() -> [(&'static str, Setting); 3] {
    [
        ("training 8/8", Setting::new(8, 8)),
        ("training 16/16", Setting::new(16, 16)),
        ("inference 16/16", Setting::new(16, 16).inference()),
    ]
}

impl Experiment for Flexibility {
    fn name(&self) -> &'static str {
        "cadentflow-flexibility"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let models = models()?;
        let mut findings = Findings::new();
        let mut added: Vec<(&str, Vec<f64>)> = Vec::new();
        let mut heavy = Vec::new();
        let mut both: Vec<(String, f64, f64)> = Vec::new();
        for (at, (name, setting)) in settings().into_iter().enumerate() {
            let mut values = Vec::new();
            for (done, model) in models.iter().enumerate() {
                let done = (at * models.len() + done) as u64;
                options.progress.tell(&model.model, done, 3 * models.len() as u64);
                let found = measure(model, &setting, Control::Deadline)?;
                let tcp = measure(model, &setting, Control::Tcp)?;
                // What an iteration has: the tighter of its two passes.
                let passes = [Some(found.forward_flexibility), found.backward_flexibility];
                let ratio = passes.into_iter().flatten().fold(f64::INFINITY, f64::min);
                let saved = -over(found.time, tcp.time);
                let paper = (model.model == "inception_v3" && at == 0).then_some(1.095);
                findings.row(
                    Row::new()
                        .with("model", model.model.as_str())
                        .with("setting", name)
                        .with("forward_ratio", found.forward_flexibility)
                        .with("backward_ratio", found.backward_flexibility)
                        .with("least_ratio", ratio)
                        .with("saved_pct", shown(saved))
                        .with("paper_ratio", paper),
                );
                heavy.push((found.compute.as_secs_f64() / found.time.as_secs_f64(), ratio));
                both.push((format!("{} {name}", model.model), ratio, saved));
                values.push(ratio);
            }
            added.push((name, values));
        }
        judge(&mut findings, &both, &heavy);
        choices(&mut findings);
        findings.chose(
            "an iteration has two CadentFlows, the paper shows one ratio: the least of both is compared",
        );
        findings.differs(
            "the ratio is the time until the last deadline over the least time to send everything, so it \
             follows the balance of computing and sending; our compute times are estimates",
        );
        let y = Axis::linear("time until the last deadline over least CCT");
        let title = "How much later flows may end than they could";
        let subtitle = "10 Gbit/s, the tighter of forward and backward pass; above 1 there is room";
        let none = Some((1.0, "no room"));
        findings.chart("by-model", by_model(title, subtitle, y, &models, &added, none));
        Ok(findings)
    }
}

fn judge(findings: &mut Findings, both: &[(String, f64, f64)], heavy: &[(f64, f64)]) {
    let best = both.iter().filter(|(_, ratio, _)| *ratio > 1.0);
    let best = best.max_by(|a, b| a.2.total_cmp(&b.2));
    let ours = best.map_or_else(
        || "no model".to_owned(),
        |(name, ratio, saved)| {
            format!(
                "{saved:.1} % less time with {:.1} % flexibility ({name})",
                (ratio - 1.0) * 100.0
            )
        },
    );
    findings.claim(
        "some models have both, less iteration time and room to delay flows",
        "20 % less time with 9.5 % flexibility (Inception-v3)",
        ours,
        best.is_some_and(|(_, _, saved)| *saved > 1.0),
    );
    let inception = both.iter().filter(|(name, ..)| name.starts_with("inception_v3 training"));
    let inception = inception.max_by(|a, b| a.2.total_cmp(&b.2));
    let (name, ratio, saved) = inception.map_or(("", 0.0, 0.0), |(name, r, s)| (name, *r, *s));
    findings.claim(
        "Inception-v3 is one of them",
        "20 % less time with 9.5 % flexibility",
        format!("{saved:.1} % less time with {:.1} % flexibility ({name})", (ratio - 1.0) * 100.0),
        saved >= 18.0 && ratio >= 1.095,
    );
    // Whether the more a model computes, the more room it has: pairs that agree, of all pairs.
    let (mut agree, mut all) = (0, 0);
    for (at, a) in heavy.iter().enumerate() {
        for b in &heavy[at + 1..] {
            agree += usize::from((a.0 < b.0) == (a.1 < b.1));
            all += 1;
        }
    }
    let share = f64::from(agree as u32) / f64::from(all.max(1) as u32);
    findings.claim(
        "models that compute more have more room",
        "higher flexibility in computation-heavy models",
        format!("{:.0} % of all pairs agree", share * 100.0),
        share > 0.75,
    );
}
