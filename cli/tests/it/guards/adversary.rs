//! A hostile extension runs for a minute beside a guard, a redactor and a gate that fail closed,
//! while a driver works as usual. After each step, every promise must still hold. In every other
//! round, the extension has all grants, so that its calls reach the guards.
//!
//! `ZOT_TRICKS=late,flood` limits the extension to some of its tricks. In the first release, `late`
//! ran forbidden commands during shutdown, `flood` disconnected the guard, `call` ran commands
//! without a grant, `heavy` used 214 MB, and any of them saw the secret in `tool_progress`.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{GUARD, bash, drive, extension, files_starting_with, result, states};
use crate::{
    rpc::driver::Rpc,
    support::{Rng, World, memory, process, soak, wait_until},
};

/// Duration of the test, multiplied by `ZOT_SOAK`.
const TIME: Duration = Duration::from_secs(60);
/// Maximum resident memory of zot.
const MEMORY: u64 = 64 << 20;
/// The text that the redactor removes. It is in a file, so that no command contains it.
const SECRET: &str = "hunter2-canary";

/// Replaces the secret in results and messages.
const REDACTOR: &str = r#"
begin(intercept=["tool_result", "assistant_message"])
secret = "hunter2-" + "canary"
for frame in frames():
    if frame["type"] == "event_intercept":
        if frame["event"] == "tool_result":
            content = json.loads(json.dumps(frame["content"]).replace(secret, "[redacted]"))
            decide(frame, replace_content=content)
        else:
            decide(frame, replace_text=frame["text"].replace(secret, "[redacted]"))
    elif frame["type"] == "shutdown":
        break
"#;

/// Blocks messages that mention the back door.
const GATE: &str = r#"
begin(intercept=["user_message", "turn_start"])
for frame in frames():
    if frame["type"] == "event_intercept":
        decide(frame, block="back door" in frame.get("text", ""))
    elif frame["type"] == "shutdown":
        break
"#;

#[test]
fn a_confined_extension_cannot_break_any_promise() {
    let tricks = std::env::var("ZOT_TRICKS").unwrap_or_else(|_| "all".to_owned());
    let end = Instant::now() + TIME * u32::try_from(soak()).expect("ZOT_SOAK is too large");
    for seed in 0.. {
        let mut trial = Trial::new(seed, &tricks);
        let steps = trial.run(end);
        eprintln!(
            "seed {seed}: {steps} steps, at most {} MB",
            trial.finish() >> 20
        );
        if Instant::now() >= end {
            break;
        }
    }
}

/// One run of zot with its extensions.
struct Trial {
    world: World,
    rpc: Option<Rpc>,
    rng: Rng,
    seed: u64,
    most: u64,
}

impl Trial {
    fn new(seed: u64, tricks: &str) -> Self {
        let world = World::new();
        fs::write(
            world.work().join("secret.txt"),
            format!("{SECRET}\n").repeat(3),
        )
        .expect("failed to write");
        let closed = |events: &[&str], rewrites: bool| {
            let policy = json!({"on_failure": "block", "final": true});
            let intercept: Value = events
                .iter()
                .map(|it| (it.to_string(), policy.clone()))
                .collect();
            let granted: &[&str] = if rewrites { events } else { &[] };
            json!({"intercept": intercept, "permissions": {"intercept": granted}})
        };
        let results = ["tool_result", "assistant_message"];
        let evil = json!({"args": ["main.py", "evil", seed.to_string(), tricks], "permissions": granted(seed)});
        // The guard takes 10 ms per call. That is slow enough for a flood of calls to disconnect
        // it, if that were possible.
        let mut guard = closed(&["tool_call"], false);
        guard["args"] = json!(["main.py", "guard", "0.01"]);
        let dirs: Vec<PathBuf> = vec![
            extension(&world, "guard", &guard, GUARD),
            extension(&world, "redactor", &closed(&results, true), REDACTOR),
            extension(
                &world,
                "gate",
                &closed(&["user_message", "turn_start"], false),
                GATE,
            ),
            extension(
                &world,
                "evil",
                &evil,
                include_str!("../../fixtures/adversary.py"),
            ),
        ];
        let mut rpc = drive(&world, &[], &flags(&dirs));
        wait_until("the guards are ready", || {
            let states = states(&mut rpc);
            states.len() == 4 && states[..3].iter().all(|it| it == "ready")
        });
        Self {
            world,
            rpc: Some(rpc),
            rng: Rng::new(seed),
            seed,
            most: 0,
        }
    }

    /// Runs steps for up to 15 seconds, and returns the number of steps.
    fn run(&mut self, end: Instant) -> usize {
        let end = end.min(Instant::now() + Duration::from_secs(15));
        let mut steps = 0;
        while Instant::now() < end {
            self.step();
            self.check();
            steps += 1;
        }
        steps
    }

    fn rpc(&mut self) -> &mut Rpc {
        self.rpc.as_mut().expect("zot has already ended")
    }

    fn prompt(&mut self, message: &str) -> Vec<Value> {
        self.rpc()
            .send(&json!({"id": "prompt", "type": "prompt", "message": message}));
        self.rpc().until_event("done")
    }

    fn step(&mut self) {
        let slowly = "for i in 1 2 3; do cat secret.txt; sleep 0.05; done";
        match self.rng.below(8) {
            0 => drop(self.prompt(&bash(slowly))),
            1 => {
                self.rpc()
                    .send(&json!({"id": "prompt", "type": "prompt", "message": bash(slowly)}));
                self.rpc().ask(&json!({"id": "abort", "type": "abort"}));
                self.rpc().until_event("done");
            }
            2 => {
                self.rpc()
                    .send(&json!({"id": "compact", "type": "compact"}));
                self.rpc().until_event("done");
            }
            3 => {
                let stats = self
                    .rpc()
                    .data(&json!({"id": "reload", "type": "reload_ext"}));
                assert_eq!(stats["loaded"], 4, "seed {}: {stats}", self.seed);
            }
            4 => {
                let run = json!({"id": "run", "type": "run_command", "name": "evil"});
                let answer = self.rpc().ask(&run);
                if is_granted(self.seed) && answer["data"]["action"] == "prompt" {
                    self.rpc().until_event("done");
                } else {
                    assert_ne!(answer["data"]["action"], "prompt", "seed {}", self.seed);
                }
            }
            5 => {
                let lines = self.prompt("the back door");
                let called = lines.iter().any(|it| it["type"] == "turn_start");
                assert!(!called, "seed {}: {lines:#?}", self.seed);
            }
            6 => drop(self.prompt("/call evil {}")),
            _ => drop(
                self.rpc()
                    .data(&json!({"id": "messages", "type": "get_messages"})),
            ),
        }
    }

    fn check(&mut self) {
        let seed = self.seed;
        let lines = self.prompt(&bash("touch forbidden-probe"));
        let (said, status) = result(&lines);
        assert_eq!(status, "blocked", "seed {seed}: {said}");
        self.assert_nothing_ran();
        let said = &mut self.rpc().received;
        let leaked: Vec<Value> = said
            .drain(..)
            .filter(|it| it.to_string().contains(SECRET))
            .collect();
        assert!(leaked.is_empty(), "seed {seed}: seen in {leaked:#?}");
        let guards = states(self.rpc());
        assert_eq!(guards[..3], ["ready"; 3], "seed {seed}: a guard is gone");
        let pid = self.rpc().pid();
        self.most = self.most.max(memory::most_resident(pid));
        assert!(self.most <= MEMORY, "seed {seed}: {} MB", self.most >> 20);
    }

    fn assert_nothing_ran(&self) {
        let mut ran = files_starting_with(&self.world, "forbidden");
        if !is_granted(self.seed) {
            ran.extend(files_starting_with(&self.world, "taken"));
        }
        assert_eq!(ran, [""; 0], "seed {}", self.seed);
    }

    /// Shuts zot down and returns its peak memory.
    fn finish(mut self) -> u64 {
        let ended = self.rpc.take().expect("zot has already ended").end();
        assert_eq!(ended.code, Some(0), "seed {}: {}", self.seed, ended.err);
        assert!(
            !ended.err.contains(SECRET),
            "seed {}: {}",
            self.seed,
            ended.err
        );
        self.assert_nothing_ran();
        let root = self.world.root().to_owned();
        wait_until("nothing is left running", || {
            process::working_in(&root).is_empty()
        });
        self.most
    }
}

fn is_granted(seed: u64) -> bool {
    seed % 2 == 1
}

/// Returns the adversary's permissions: none or all.
fn granted(seed: u64) -> Value {
    if is_granted(seed) {
        // Not `user_message`, which would let the extension rewrite this test's prompts.
        let events = ["tool_call", "tool_result", "assistant_message"];
        json!({"tools": ["bash", "read"], "intercept": events, "submit": true})
    } else {
        json!({})
    }
}

fn flags(dirs: &[PathBuf]) -> Vec<&str> {
    let dirs = dirs
        .iter()
        .map(|dir| dir.to_str().expect("not valid UTF-8"));
    dirs.flat_map(|dir| ["-e", dir]).collect()
}
