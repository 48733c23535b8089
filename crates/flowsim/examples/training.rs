//! Iteration times of the paper's models under every control, in one table.
//!
//! `cargo run --release -p laxity-flowsim --example training -- [WORKERS SERVERS GBPS [inference]]`

use laxity_flowsim::{
    Settings,
    profile::shipped,
    simulate,
    training::{Control, Setting, Sharing, measure, measure_world, sharing_world},
};
use laxity_interface::Rate;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |at: usize, or: u32| arguments.get(at).and_then(|a| a.parse().ok()).unwrap_or(or);
    let mut setting = Setting::new(number(0, 8), number(1, 8));
    setting.nic = Rate::from_gbps(u64::from(number(2, 10)));
    if arguments.iter().any(|a| a == "inference") {
        setting = setting.inference();
    }
    if arguments.iter().any(|a| a == "balanced") {
        setting.placement = laxity_flowsim::training::Placement::Balanced;
    }
    let sharing = arguments.iter().any(|a| a == "sharing");
    println!("{:16}{:>9}{}", "model", "tcp ms", Control::ALL.map(|c| format!("{c:>16}")).join(""));
    for name in shipped::PAPER {
        let profile = shipped::model(name)?;
        let mut line = String::new();
        let mut base = 0.0;
        for control in Control::ALL {
            let took = if sharing {
                let world = sharing_world(&profile, &setting, &Sharing::default(), control)?;
                let outcome = simulate(&world, &Settings::new(control.options()))?;
                let own = Setting { iterations: Sharing::default().iterations, ..setting.clone() };
                measure_world(&world, &outcome, &profile, &own, 0)
            } else {
                measure(&profile, &setting, control)?
            };
            let ms = took.time.as_secs_f64() * 1e3;
            if control == Control::Tcp {
                base = ms;
                let compute = took.compute.as_secs_f64() * 1e3;
                line = format!("{name:16}{ms:>9.1} ({compute:.1} compute, flex {:.2})", took.forward_flexibility);
            }
            line += &format!("{:>16.3}", ms / base);
        }
        println!("{line}");
    }
    Ok(())
}
