//! Ranks of `laxity train` that do not belong together: refused over real sockets, with both sides named.

mod common;

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Stdio},
};

use common::{finish, key, laxity, text};

const TRANSPORTS: [&str; 2] = ["tcp", "laxity"];

/// Where a job meets.
struct Job<'a> {
    folder: &'a Path,
    port: u16,
    transport: &'static str,
    world: u32,
}

/// Killed with the test.
struct Process(Option<Child>);

impl Process {
    /// Waits for its end, which is bad; returns what it said.
    fn refused(mut self) -> String {
        let output = finish(self.0.take().expect("not ended before"));
        assert!(!output.status.success(), "{}", text(&output.stdout));
        text(&output.stderr)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

impl<'a> Job<'a> {
    fn new(folder: &'a Path, transport: &'static str, world: u32) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { folder, port, transport, world }
    }

    fn rank(&self, rank: u32, key: &str, words: &[&str]) -> Process {
        self.rank_of(rank, key, &[&["train", "--quick", "--epochs", "1"], words].concat())
    }

    fn rank_of(&self, rank: u32, key: &str, words: &[&str]) -> Process {
        let mut command = laxity(words);
        command.env("RANK", rank.to_string());
        command.env("WORLD_SIZE", self.world.to_string()).env("MASTER_ADDR", "127.0.0.1");
        command.env("MASTER_PORT", self.port.to_string()).env("LAXITY_TRANSPORT", self.transport);
        command.env("LAXITY_KEY_FILE", self.folder.join(key));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Process(Some(command.spawn().unwrap()))
    }
}

#[test]
fn another_key() {
    let folder = tempfile::tempdir().unwrap();
    key(folder.path(), "job.key");
    key(folder.path(), "other.key");
    for transport in TRANSPORTS {
        let job = Job::new(folder.path(), transport, 2);
        let _first = job.rank(0, "job.key", &[]);
        let said = job.rank(1, "other.key", &[]).refused();
        assert!(said.contains("rank 1 cannot"), "{said}");
        assert!(said.contains(&format!("127.0.0.1:{}", job.port)), "{said}");
        assert!(said.contains("LAXITY_KEY_FILE"), "{said}");
    }
}

#[test]
fn a_rank_that_another_has() {
    let folder = tempfile::tempdir().unwrap();
    key(folder.path(), "job.key");
    for transport in TRANSPORTS {
        let job = Job::new(folder.path(), transport, 3);
        let _first = job.rank(0, "job.key", &[]);
        // Two claim to be rank 1, and one of them is first. Nobody is rank 2, so nothing begins.
        let both = [job.rank(1, "job.key", &[]), job.rank(1, "job.key", &[])];
        let [mut one, mut two] = both;
        let refused = loop {
            match [&mut one, &mut two].map(|it| it.0.as_mut().unwrap().try_wait().unwrap()) {
                [Some(_), _] => break one,
                [_, Some(_)] => break two,
                _ => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        };
        let said = refused.refused();
        assert!(said.contains("wants to be rank 1, and so does 127.0.0.1:"), "{said}");
    }
}

#[test]
fn a_tensor_of_another_shape() {
    let folder = tempfile::tempdir().unwrap();
    key(folder.path(), "job.key");
    for transport in TRANSPORTS {
        let job = Job::new(folder.path(), transport, 2);
        let first = job.rank(0, "job.key", &["--model", "mlp", "--tcp-algorithm", "ring"]);
        let other = job.rank(1, "job.key", &["--model", "mf", "--tcp-algorithm", "ring"]);
        for said in [first.refused(), other.refused()] {
            assert!(said.contains("rank 0") && said.contains("rank 1"), "{said}");
            assert!(said.contains("do not agree on the operation"), "{said}");
            assert!(said.matches("all_reduce (mean) of").count() >= 2, "both shapes: {said}");
        }
    }
}

#[test]
fn an_update_of_another_shape() {
    let folder = tempfile::tempdir().unwrap();
    key(folder.path(), "job.key");
    for transport in TRANSPORTS {
        let job = Job::new(folder.path(), transport, 3);
        let words = |model| ["--mode", "async", "--ranks", "2", "--model", model];
        let _good = job.rank(0, "job.key", &words("mlp"));
        let _server = job.rank(2, "job.key", &words("mlp"));
        let said = job.rank(1, "job.key", &words("mf")).refused();
        assert!(said.contains("rank 1") && said.contains("rank 2"), "{said}");
        assert!(said.contains("elements"), "{said}");
    }
}

#[test]
fn ranks_that_were_not_told_the_same() {
    let folder = tempfile::tempdir().unwrap();
    key(folder.path(), "job.key");
    for transport in TRANSPORTS {
        let job = Job::new(folder.path(), transport, 2);
        let first = job.rank(0, "job.key", &[]);
        let other = job.rank(1, "job.key", &["--seed", "7"]);
        for said in [first.refused(), other.refused()] {
            assert!(said.contains("rank 0") && said.contains("rank 1"), "{said}");
            assert!(said.contains("--seed 7") || said.contains("--seed 1"), "{said}");
        }
        let job = Job::new(folder.path(), transport, 2);
        let first = job.rank(0, "job.key", &[]);
        let other = job.rank_of(1, "job.key", &["train", "--quick", "--epochs", "2"]);
        for said in [first.refused(), other.refused()] {
            assert!(said.contains("is to make") && said.contains("--epochs"), "{said}");
        }
        // They would meet for a test that only one of them makes.
        let job = Job::new(folder.path(), transport, 2);
        let first = job.rank(0, "job.key", &["--tests", "2"]);
        let other = job.rank(1, "job.key", &[]);
        for said in [first.refused(), other.refused()] {
            assert!(
                said.contains("--tests 1, rank 0 2") || said.contains("--tests 2, rank 1 1"),
                "{said}"
            );
        }
    }
}

/// They were told that they do not agree on "options 48" and "options 30".
#[test]
fn ranks_with_different_minimums() {
    let folder = tempfile::tempdir().unwrap();
    key(folder.path(), "job.key");
    let job = Job::new(folder.path(), "laxity", 2);
    let first = job.rank(0, "job.key", &[]);
    let other = job.rank(1, "job.key", &["--min-delivery", "0.5"]);
    for said in [first.refused(), other.refused()] {
        assert!(said.contains("`--min-delivery 0.98, ") && said.contains("rank 0"), "{said}");
        assert!(said.contains("`--min-delivery 0.5, ") && said.contains("rank 1"), "{said}");
    }
}

/// They waited for each other until both gave up, and said only that.
#[test]
fn ranks_in_different_modes() {
    let folder = tempfile::tempdir().unwrap();
    key(folder.path(), "job.key");
    for transport in TRANSPORTS {
        let job = Job::new(folder.path(), transport, 3);
        let reduces = job.rank(0, "job.key", &["--mode", "allreduce"]);
        let others = [1, 2].map(|rank| {
            let words = ["--mode", "async", "--ranks", "2"];
            job.rank(rank, "job.key", &words)
        });
        for said in [reduces].into_iter().chain(others).map(|rank| rank.refused()) {
            assert!(said.contains("rank 0") && said.contains("--mode allreduce`"), "{said}");
            assert!(said.contains("`--mode async, 3 ranks: 2 workers, a server`"), "{said}");
        }
    }
}

#[test]
fn what_a_single_rank_cannot_do_is_said_before_it_looks_for_others() {
    let folder = tempfile::tempdir().unwrap();
    key(folder.path(), "job.key");
    let job = Job::new(folder.path(), "laxity", 2);
    for (words, named) in [
        (
            &["--mode", "async", "--ranks", "2"][..],
            "3 ranks: 2 workers, a server, and WORLD_SIZE is 2",
        ),
        (&["--lab"], "--lab is for whoever starts all ranks"),
        (&["--json"], "--json is for whoever starts all ranks"),
        (&["--tcp-control", "cubic,reno"], "more than one --tcp-control is for whoever starts"),
        (&["--transport", "tcp,laxity"], "more than one --transport is for whoever starts"),
        (&["--tcp-control", "cubic"], "this rank goes over Laxity"),
        (&["--ranks", "8"], "--ranks 8, and WORLD_SIZE is 2"),
        (&["--replica"], "--mode"),
        (&["--model", "gpt"], "known are mlp"),
    ] {
        let output = finish(job.rank(0, "job.key", words).0.take().unwrap());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(named), "{words:?}: {said}");
    }
}
