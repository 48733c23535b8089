//! The lab's description for a setting.

use super::{
    args::Case,
    plan::{GROUP, Setting},
};

/// How long other traffic goes on at most; the lab ends long before.
const LONGEST: &str = "14400s";
/// Other traffic: many small flows, most bytes in few large ones, as in data centres.
const SIZES: &str = "[['10KB', '50%'], ['100KB', '80%'], ['1MB', '97%'], ['5MB', '100%']]";

/// The lab file: hosts h1, h2, … around one switch, and `other` where there is other traffic.
pub(super) fn toml(setting: &Setting) -> String {
    let buffer = setting.buffer;
    let mut port = format!("kind = '{}', buffer = '{buffer}'", setting.layout);
    if setting.ecn {
        port += &format!(", ecn = '{}'", setting.mark());
    }
    // A round trip crosses four links.
    let mut text = format!(
        "seed = {}\nlink = {{ rate = '{}', delay = '{}', queue = 'port' }}\nqueues.port = {{ {port} }}\n",
        setting.seed,
        setting.rate,
        setting.rtt / 4,
    );
    for number in 1..=setting.hosts() {
        text += &format!("[[hosts]]\nname = 'h{number}'\n");
        // Data goes to the second host; its port loses them, behind the queue. The other port carries
        // acknowledgements.
        let loses = setting.case == Case::Loss && (number == 2 || setting.ack_loss);
        if loses && setting.loss.get() > 0.0 {
            text += &format!("link = {{ loss = '{}' }}\n", setting.loss);
        }
    }
    if setting.background.get() > 0.0 {
        text += "[[hosts]]\nname = 'other'\n";
        let to: Vec<_> = measured_hosts(setting).map(|number| format!("'h{number}'")).collect();
        text += &format!(
            "[[background]]\nname = 'other'\nfrom = 'other'\nto = [{}]\nduration = '{LONGEST}'\n\
             sizes = {SIZES}\nload = '{}'\ncongestion = 'cubic'\n",
            to.join(", "),
            setting.background,
        );
    }
    text
}

/// Hosts whose ports other traffic fills: those that receive.
pub(super) fn measured_hosts(setting: &Setting) -> std::ops::RangeInclusive<usize> {
    match setting.case {
        Case::Loss => 2..=2,
        Case::Incast => GROUP + 1..=GROUP + 1,
        Case::Shuffle => 1..=GROUP,
        Case::Fairness => 3..=3,
    }
}

#[cfg(test)]
mod tests {
    use laxity_lab::LabFile;

    use super::{
        super::{args::tests::parse, plan::plan},
        *,
    };

    #[test]
    fn every_network_of_the_plan_can_be_built() {
        for words in [&[][..], &["--background", "0.5", "--ack-loss"], &["--quick", "--no-ecn"]] {
            let args = parse(words).unwrap();
            for (setting, _) in plan(&args) {
                let text = toml(&setting);
                let file = LabFile::from_toml(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
                let other = usize::from(args.background.get() > 0.0);
                assert_eq!(file.hosts().len(), setting.hosts() + other);
            }
        }
    }

    #[test]
    fn only_the_way_of_the_data_loses_unless_both_shall() {
        let losing = |words: &[&str]| {
            let plan = plan(&parse(words).unwrap());
            toml(&plan.last().unwrap().0).matches("loss = '0.03'").count()
        };
        assert_eq!((losing(&["loss"]), losing(&["loss", "--ack-loss"])), (1, 2));
    }
}
