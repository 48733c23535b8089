//! Training over real sockets by the command itself.

mod common;

use std::process::{Command, Stdio};

use common::{
    finish, json,
    lab::{eventually, kill},
    laxity, run, text,
};

/// The last row of each transport.
fn last_rows(words: &[&str]) -> [serde_json::Value; 2] {
    let output = run(words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result = json(&output);
    let rows = result["rows"].as_array().expect("rows");
    ["tcp", "laxity"].map(|transport| {
        let last = rows.iter().rfind(|row| row["transport"] == transport);
        last.expect("an epoch of each").clone()
    })
}

const QUICK: [&str; 7] = ["train", "--quick", "--ranks", "3", "--min-delivery", "1", "--json"];

#[test]
fn both_transports_train_to_the_same_model() {
    // By the same steps sums are made in one order: the same numbers, to the last bit.
    let words = [&QUICK[..], &["--tcp-algorithm", "transpose"]].concat();
    let [tcp, laxity] = last_rows(&words);
    assert_eq!((&tcp["identical"], &laxity["identical"]), (&true.into(), &true.into()));
    assert_eq!(tcp["test_loss"], laxity["test_loss"]);
    assert_eq!((&tcp["delivered"], &laxity["delivered"]), (&1.0.into(), &1.0.into()));
}

#[test]
fn other_steps_make_sums_in_another_order_and_the_same_training() {
    for steps in ["ring", "halving-doubling", "auto"] {
        let [tcp, laxity] = last_rows(&[&QUICK[..], &["--tcp-algorithm", steps]].concat());
        assert_eq!((&tcp["identical"], &tcp["delivered"]), (&true.into(), &1.0.into()));
        let [one, two] = [tcp, laxity].map(|row| row["test_loss"].as_f64().expect("a number"));
        assert!((one - two).abs() < 0.02 * two.abs(), "{steps}: {one} and {two}");
    }
}

/// Points against time, of several trainings: rows say which test of which they are.
#[test]
fn a_training_for_each_congestion_control_and_a_row_for_each_test() {
    let words = ["--epochs", "2", "--tests", "3", "--tcp-control", "reno,cubic"];
    let output = run(&[&QUICK[..], &words].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result = json(&output);
    let rows = result["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3 * 2 * 3);
    let trainings = [("tcp", Some("reno")), ("tcp", Some("cubic")), ("laxity", None)];
    for (rows, (transport, control)) in rows.chunks(6).zip(trainings) {
        let epochs: Vec<_> = rows.iter().map(|row| row["epoch"].as_u64().unwrap()).collect();
        assert_eq!(epochs, [1, 1, 1, 2, 2, 2]);
        for pair in rows.windows(2) {
            assert!(pair[0]["steps"].as_u64() < pair[1]["steps"].as_u64(), "{pair:?}");
            assert!(pair[0]["seconds_s"].as_f64() < pair[1]["seconds_s"].as_f64(), "{pair:?}");
        }
        for row in rows {
            assert_eq!(
                (row["transport"].as_str(), row["control"].as_str()),
                (Some(transport), control)
            );
        }
    }
}

#[test]
fn ranks_that_were_started_by_others_meet_and_go_on_from_a_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    // The name of the one that is written took the place of what followed the dot.
    let (key, saved) = (folder.path().join("job.key"), folder.path().join("saved-0.98"));
    assert!(run(&["keygen", key.to_str().unwrap()]).status.success());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rank = |rank: u32, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_laxity"));
        command.args(["train", "--quick", "--epochs", "1"]).args(words);
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", "2");
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        command.env("LAXITY_KEY_FILE", &key).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let checkpoint = ["--checkpoint", saved.to_str().unwrap()];
    let other = rank(1, &checkpoint);
    let first = rank(0, &checkpoint).wait_with_output().expect("it ends");
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert!(other.wait_with_output().expect("it ends").status.success());
    assert!(text(&first.stdout).contains("epoch 1"), "{}", text(&first.stdout));

    let written = folder.path().join("saved-0.98.laxity");
    let words = ["train", "--quick", "--ranks", "2", "--epochs", "1", "--transport", "laxity"];
    let words = [&words[..], &["--resume", written.to_str().unwrap(), "--json"]].concat();
    let again = run(&words);
    assert!(again.status.success(), "{}", text(&again.stderr));
}

/// The option was taken and forgotten: such a rank went over what `LAXITY_TRANSPORT` said.
#[test]
fn a_rank_that_was_started_by_others_goes_over_the_transport_that_it_was_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let saved = folder.path().join("saved");
    for transport in ["tcp", "laxity"] {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let words = ["train", "--quick", "--epochs", "1", "--transport", transport, "--checkpoint"];
        let mut command = laxity(&[&words[..], &[saved.to_str().unwrap()]].concat());
        command.env("RANK", "0").env("WORLD_SIZE", "1").env("LAXITY_INSECURE", "1");
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        let output = command.output().expect("it ends");
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(saved.with_extension(transport).exists(), "{transport}");
    }
}

/// It said "RANK is not set: … unset RANK".
#[test]
fn an_empty_rank_is_none() {
    let words =
        ["train", "--quick", "--epochs", "1", "--ranks", "1", "--transport", "tcp", "--json"];
    let output = laxity(&words).env("RANK", "").output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(json(&output)["rows"][0]["epoch"], 1);
}

/// It was found out after the first epoch, which was lost, and a draft stayed behind.
#[test]
fn a_checkpoint_that_cannot_be_written_is_said_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("saved.laxity")).expect("a folder");
    let [taken, long] = ["saved".to_owned(), "x".repeat(300)].map(|name| folder.path().join(name));
    for path in [taken, long] {
        let output = run(&["train", "--quick", "--checkpoint", path.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("error: cannot write `"), "{said}");
        assert_eq!(text(&output.stdout), "");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

/// It ended with "rank 0 said … invalid type: null", as if ranks did not understand each other.
#[test]
fn a_training_that_diverges_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, odd] = ["first", "odd"].map(|name| folder.path().join(name));
    let words = ["train", "--quick", "--epochs", "1", "--ranks", "2", "--transport", "tcp"];
    let saved = run(&[&words[..], &["--checkpoint", first.to_str().unwrap()]].concat());
    assert!(saved.status.success(), "{}", text(&saved.stderr));
    let length = first.with_extension("tcp").metadata().expect("a checkpoint").len() as usize;
    std::fs::write(&odd, f32::NAN.to_le_bytes().repeat(length / 4)).unwrap();
    let resume = ["--resume", odd.to_str().unwrap(), "--json"];
    let output = run(&[&words[..], &resume].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let row = &json(&output)["rows"][0];
    assert!(row["test_loss"].is_null() && row["train_loss"].is_null(), "{row}");
}

#[test]
fn what_cannot_be_trained_is_said_before_anything_starts() {
    let output = run(&["train", "--model", "gpt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no model `gpt`; known are mlp"), "{output:?}");
    let output = run(&["train", "--model", "mlp-mnist", "--ranks", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--data"), "{}", text(&output.stderr));
    for (words, named) in [
        (&["--replica"][..], "--mode"),
        (&["--mode", "async", "--kill", "server"], "--replica"),
        (&["--mode", "async", "--kill", "aggregator"], "--aggregators"),
        (&["--mode", "sync", "--ranks", "1", "--kill", "worker"], "--ranks"),
        (&["--mode", "async", "--apart", "1"], "--replica"),
        (&["--mode", "sync", "--staleness", "3"], "--staleness"),
        (&["--mode", "async", "--ahead", "3"], "--mode ssp"),
        (&["--epochs", "0"], "--epochs"),
        (&["--mode", "async", "--tests", "2"], "--mode allreduce only"),
        (&["--epochs", "18446744073709551615"], "--epochs"),
        (&["--tcp-control", "cubic,reno,cubic"], "cubic twice"),
        (&["--tcp-control", "cubic", "--transport", "laxity"], "--tcp-control is about TCP"),
        (&["--tcp-control", ""], "--tcp-control"),
        (&["--transport", "tcp,laxity,tcp"], "tcp twice"),
        (&["--lab", "--mode", "async", "--background", "1"], "--background"),
    ] {
        let output = run(&[&["train"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(named), "{}", text(&output.stderr));
    }
}

#[test]
fn a_wrong_checkpoint_is_refused_once_and_not_by_every_rank() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = folder.path().join("odd");
    std::fs::write(&odd, [0; 40]).unwrap();
    for path in [odd.as_path(), folder.path()] {
        let output = run(&["train", "--quick", "--resume", path.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(said.matches("cannot begin with").count(), 1, "{said}");
    }
}

#[test]
fn a_picture_that_cannot_be_written_takes_no_results_away() {
    let words = ["train", "--quick", "--epochs", "1", "--ranks", "1", "--transport", "tcp"];
    let output = run(&[&words[..], &["--json", "--svg", "/dev/full"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("`/dev/full`"), "{}", text(&output.stderr));
    assert_eq!(json(&output)["rows"][0]["epoch"], 1);
}

#[test]
fn a_congestion_control_that_there_is_not_ends_a_training_of_any_size() {
    for ranks in ["2", "3"] {
        let words = ["train", "--quick", "--transport", "tcp", "--tcp-control", "pigeons"];
        let output = run(&[&words[..], &["--ranks", ranks]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("`pigeons` cannot be used"), "{said}");
    }
}

#[test]
fn a_kill_that_would_never_come_is_refused() {
    let words = ["train", "--quick", "--mode", "async", "--ranks", "2", "--epochs", "1"];
    let output = run(&[&words[..], &["--kill", "worker", "--kill-at", "1000000"]].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--kill-at 1000000: this training has 156 updates"), "{said}");
}

#[test]
fn the_help_names_every_model() {
    let help = text(&run(&["train", "--help"]).stdout);
    for model in laxity_learn::JOBS {
        assert!(help.contains(model), "{model}: {help}");
    }
}

/// The terminal is closed. The key of the training stayed behind, and models of one that had somebody to kill.
#[test]
fn a_training_whose_terminal_has_gone_leaves_no_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["train", "--mode", "async", "--ranks", "2", "--replica", "--kill", "server"];
    // Tests that run under nohup, whose signal is ignored, hand that on.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(env!("CARGO_BIN_EXE_laxity"));
    command.args(words).args(["--epochs", "1000"]);
    command.env("TMPDIR", folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let files = || std::fs::read_dir(folder.path()).expect("a folder").count();
    eventually("a key and models", || files() == 2);
    kill(child.id(), "-HUP");
    let output = finish(child);
    assert_eq!(output.status.code(), Some(129), "{}", text(&output.stderr));
    assert_eq!(files(), 0, "{:?}", std::fs::read_dir(folder.path()));
}
