//! Iteration times of the paper's models under every control, in one table.
//!
//! `cargo run --release -p laxity-flowsim --example training -- [WORKERS SERVERS GBPS] [inference|balanced|sharing]`

use laxity_flowsim::{
    profile::shipped,
    training::{Control, Placement, Setting, Sharing, measure, measure_sharing},
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
        setting.placement = Placement::Balanced;
    }
    let sharing = arguments.iter().any(|a| a == "sharing");
    println!(
        "{:16}{:>9}{:22}{}",
        "model",
        "tcp ms",
        "",
        Control::ALL.map(|c| format!("{c:>16}")).join("")
    );
    for name in shipped::PAPER {
        let profile = shipped::model(name)?;
        let mut line = String::new();
        let mut base = 0.0;
        for control in Control::ALL {
            let ms = |span: laxity_interface::Span| span.as_secs_f64() * 1e3;
            let found = measure(&profile, &setting, control)?;
            let took = match sharing {
                true => ms(measure_sharing(&profile, &setting, &Sharing::default(), control)?),
                false => ms(found.time),
            };
            if control == Control::Tcp {
                base = took;
                let compute = ms(found.compute);
                line = format!("{name:16}{took:>9.1} ({compute:>7.1} of it compute)");
            }
            line += &format!("{:>16.3}", took / base);
        }
        println!("{line}");
    }
    Ok(())
}
