//! Figure 3a: inference with 16 agents and 16 servers.

use laxity_flowsim::training::{Control, Setting, measure};
use laxity_interface::Rate;
use laxity_report::{Row, chart::Axis};

use super::{by_model, choices, models, most, ms, of_model, over, shown};
use crate::{error::ReproduceError, experiment::Experiment, findings::Findings, options::Options};

#[derive(Debug)]
pub(super) struct Inference;

impl Experiment for Inference {
    fn name(&self) -> &'static str {
        "cadentflow-inference"
    }

    fn run(&self, options: &Options) -> Result<Findings, ReproduceError> {
        let models = models()?;
        let mut findings = Findings::new();
        let (mut madd, mut cadentflow) = (Vec::new(), Vec::new());
        for (gbps, at) in [(10, 0), (1, 1)] {
            let setting = Setting::new(16, 16).inference().nic(Rate::from_gbps(gbps));
            for (done, model) in models.iter().enumerate() {
                let done = (at * models.len() + done) as u64;
                options.progress.tell(&model.model, done, 2 * models.len() as u64);
                let time = |control| measure(model, &setting, control).map(|found| found.time);
                let (tcp, coflow) = (time(Control::Tcp)?, time(Control::Madd)?);
                let (priority, deadline) = (time(Control::Priority)?, time(Control::Deadline)?);
                let paper = (model.model == "resnet_v1_101" && gbps == 10).then_some(68.5);
                findings.row(
                    Row::new()
                        .with("model", model.model.as_str())
                        .with("nic_gbps", gbps)
                        .with("tcp_ms", ms(tcp))
                        .with("madd_pct", shown(over(coflow, tcp)))
                        .with("priority_pct", shown(over(priority, tcp)))
                        .with("deadline_pct", shown(over(deadline, tcp)))
                        .with("paper_madd_pct", paper),
                );
                if gbps == 10 {
                    madd.push(over(coflow, tcp));
                }
                cadentflow.push(over(priority, tcp).abs().max(over(deadline, tcp).abs()));
            }
        }
        let names = || models.iter().map(|model| model.model.as_str());
        let (model, worst) = most(names().zip(madd.iter().copied()));
        findings.claim(
            "coflow scheduling degrades inference badly",
            "up to +68.5 % (ResNet-v1-101)",
            of_model(worst, model),
            worst >= 50.0,
        );
        let own = names().zip(&madd).find(|(name, _)| *name == "resnet_v1_101");
        let own = own.map_or(0.0, |(_, over)| *over);
        findings.claim(
            "on ResNet-v1-101 by as much as 68.5 %",
            "+68.5 %",
            format!("{own:+.1} %"),
            own >= 60.0,
        );
        let (_, apart) = most(cadentflow.iter().map(|apart| ("any", *apart)));
        findings.claim(
            "CadentFlow is comparable to TCP",
            "comparable",
            format!("at most {apart:.3} % apart"),
            apart < 1.0,
        );
        choices(&mut findings);
        findings.differs(
            "which model loses most depends on when its parameters are read, and so on compute times, which \
             are estimates here",
        );
        let relative =
            |list: &[f64]| list.iter().map(|over| 1.0 + over / 100.0).collect::<Vec<_>>();
        let series = [("coflow (MADD)", relative(&madd))];
        let y = Axis::linear("iteration time over TCP");
        let (title, subtitle) = (
            "Inference under coflow scheduling",
            "16 agents, 16 servers, 10 Gbit/s; CadentFlow is at 1",
        );
        let tcp = Some((1.0, "TCP, CadentFlow"));
        findings.chart("by-model", by_model(title, subtitle, y, &models, &series, tcp));
        Ok(findings)
    }
}
