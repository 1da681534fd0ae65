//! Random sequences of commands: every command is answered once, every prompt and compaction ends
//! once, and events arrive in the documented order.

use std::{collections::BTreeMap, thread};

use serde_json::{Value, json};

use super::driver::Rpc;
use crate::support::{Rng, World, soak};

/// Number of sequences. `.ci/full` runs eight times as many.
const SEQUENCES: usize = 125;

#[test]
fn random_commands_are_each_answered_once_and_in_order() {
    let all = SEQUENCES * soak();
    let halves: Vec<_> = (0..2)
        .map(|half| {
            thread::spawn(move || {
                for seed in (half..all).step_by(2) {
                    sequence(seed as u64);
                }
            })
        })
        .collect();
    for half in halves {
        half.join().expect("a sequence failed");
    }
}

fn sequence(seed: u64) {
    let mut rng = Rng::new(seed);
    let world = World::in_memory();
    let mut flags = Vec::new();
    if rng.below(3) == 0 {
        flags.extend([
            "--session".to_owned(),
            world.path("s.jsonl").display().to_string(),
        ]);
    }
    let mut zot = Rpc::demo(&world, &flags);
    let mut asked: Vec<(String, &str)> = Vec::new();
    let mut bad_lines = 0;
    for number in 0..rng.below(14) {
        let id = format!("{seed}-{number}");
        let command = match rng.below(12) {
            0 | 1 => json!({"type": "prompt", "message": "hello"}),
            2 => {
                json!({"type": "prompt", "message": "/call read {\"path\": \"none\"}\n/call bash {\"command\": \"echo a; sleep 0.02\"}"})
            }
            3 => json!({"type": "prompt", "message": "/call bash {\"command\": \"sleep 0.3\"}"}),
            4 | 5 => json!({"type": "compact"}),
            6..=8 => json!({"type": "abort"}),
            9 => {
                let line = [
                    "{\"type\":",
                    "[]",
                    "{\"type\":\"nothing\"}",
                    "{\"type\":\"prompt\"}",
                ];
                zot.raw(
                    format!(
                        "{}\n",
                        line[usize::try_from(rng.below(4)).expect("should fit")]
                    )
                    .as_bytes(),
                );
                bad_lines += 1;
                continue;
            }
            10 => json!({"type": "clear"}),
            _ => json!({"type": "get_state"}),
        };
        let name = command["type"].as_str().expect("should be a string");
        let known = ["prompt", "compact", "abort", "clear", "get_state"];
        let name = *known.iter().find(|it| **it == name).expect("unknown name");
        let mut command = command;
        command["id"] = json!(id);
        zot.send(&command);
        asked.push((id, name));
        // Sometimes give zot time to make progress first.
        for _ in 0..rng.below(3) * rng.below(6) {
            let is_busy = zot.data(&json!({"id": "probe", "type": "get_state"}))["busy"] == true;
            if !is_busy {
                break;
            }
        }
    }
    // Sometimes abort, so that long sleeps are cut short.
    if rng.below(2) == 0 {
        while zot.data(&json!({"id": "probe", "type": "get_state"}))["busy"] == true {
            zot.data(&json!({"id": "probe", "type": "abort"}));
        }
    }
    let ended = zot.end();
    assert_eq!(ended.code, Some(0), "seed {seed}: {}", ended.err);
    if let Err(wrong) = check(&asked, bad_lines, &ended.received) {
        let said: Vec<String> = ended.received.iter().map(ToString::to_string).collect();
        panic!(
            "seed {seed}: {wrong}\nasked: {asked:?}\n{}",
            said.join("\n")
        );
    }
}

/// What zot is doing, according to its events.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Idle,
    /// In a prompt, before its first turn or between two turns.
    Between,
    /// The model is answering.
    Turn,
    /// The model's message is complete.
    Answered,
    /// Tools are running.
    Tools,
    /// The model call has failed, and `error` follows.
    Failed,
    /// A compaction is running.
    Compacting,
    /// Everything has been reported, and `done` follows.
    Over,
}

fn check(asked: &[(String, &str)], bad_lines: usize, said: &[Value]) -> Result<(), String> {
    let mut responses: BTreeMap<&str, usize> = BTreeMap::new();
    let mut started: Vec<&str> = Vec::new();
    let mut refusals = 0;
    let mut dones = 0;
    let mut open: Vec<&str> = Vec::new();
    let mut stage = Stage::Idle;
    for line in said {
        let name = line["type"].as_str().unwrap_or_default();
        if name == "response" {
            let Some(id) = line["id"].as_str() else {
                refusals += 1;
                continue;
            };
            *responses.entry(id).or_default() += 1;
            let command = line["command"].as_str().unwrap_or_default();
            if matches!(command, "prompt" | "compact") {
                if stage != Stage::Idle || line["success"] != true {
                    return Err(format!("{line} in {stage:?}"));
                }
                started.push(id);
                let compacts = command == "compact";
                stage = if compacts {
                    Stage::Compacting
                } else {
                    Stage::Between
                };
            }
            continue;
        }
        let id = line["id"].as_str().unwrap_or_default();
        stage = match (stage, name) {
            (Stage::Between, "user_message") => Stage::Between,
            (Stage::Between | Stage::Tools, "turn_start") if open.is_empty() => Stage::Turn,
            (
                Stage::Turn,
                "assistant_start" | "text_delta" | "usage" | "tool_use_start" | "tool_use_args"
                | "tool_use_end",
            ) => Stage::Turn,
            (Stage::Turn, "assistant_message") => Stage::Answered,
            (Stage::Answered, "tool_call") => {
                open.push(id);
                Stage::Answered
            }
            (Stage::Turn | Stage::Answered, "turn_end") if line["stop"] == "error" => Stage::Failed,
            (Stage::Turn | Stage::Answered, "turn_end") => Stage::Tools,
            (Stage::Tools, "turn_end") if open.is_empty() && line["stop"] == "aborted" => {
                Stage::Over
            }
            (Stage::Tools, "tool_progress") if open.contains(&id) => Stage::Tools,
            (Stage::Tools, "tool_result") if open.first() == Some(&id) => {
                open.remove(0);
                Stage::Tools
            }
            (Stage::Compacting, "error" | "compact_done") | (Stage::Failed, "error") => Stage::Over,
            (Stage::Between | Stage::Tools | Stage::Over, "done") if open.is_empty() => {
                dones += 1;
                Stage::Idle
            }
            _ => return Err(format!("{line} in {stage:?}")),
        };
    }
    let runs: Vec<&str> = asked
        .iter()
        .filter(|(_, name)| matches!(*name, "prompt" | "compact"))
        .map(|(id, _)| id.as_str())
        .collect();
    if stage != Stage::Idle || started != runs || dones != runs.len() {
        return Err(format!(
            "{stage:?} at the end, {dones} done, started: {started:?}"
        ));
    }
    if refusals != bad_lines {
        return Err(format!("{refusals} refusals for {bad_lines} bad lines"));
    }
    match asked
        .iter()
        .find(|(id, _)| responses.get(id.as_str()) != Some(&1))
    {
        Some((id, name)) => Err(format!("{name} {id} was not answered exactly once")),
        None => Ok(()),
    }
}
