//! The host's memory stays below 64 MB with one hostile extension, and below 128 MB with ten. An
//! unoptimised build needs 17 MB more than a release build from the start; the limits include that.

use std::fs;

use serde_json::json;
use zot_protocol::limits;
use zot_test_support::skip::has;

use super::driver::Rpc;
use crate::support::{
    World,
    memory::{most_resident, resident},
    wait_until,
};

const MB: u64 = 1_000_000;

#[expect(clippy::cast_precision_loss, reason = "only printed")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / MB as f64
}

/// Installs `memory_hog.py` under this name, with one attack.
fn install(world: &World, name: &str, how: &str) {
    let dir = world.installed(name);
    fs::create_dir_all(&dir).expect("failed to create directory");
    let values = limits::FRAME_VALUES.to_string();
    let manifest =
        json!({"name": name, "exec": "python3", "args": ["memory_hog.py", how, name, values]});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    fs::write(dir.join("memory_hog.py"), include_str!("memory_hog.py")).expect("failed to write");
}

/// One attack of `memory_hog.py`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Attack {
    name: &'static str,
    /// The tool that triggers the attack. `boom_` stands for the extension's own tool.
    tool: Option<&'static str>,
    /// Whether the extension notifies the host when the attack is done.
    notifies: bool,
    /// Whether the host has a valid reason to keep some of the data.
    kept: bool,
}

const fn attack(name: &'static str) -> Attack {
    Attack {
        name,
        tool: None,
        notifies: true,
        kept: false,
    }
}

const fn attack_by_call(name: &'static str, tool: &'static str) -> Attack {
    Attack {
        tool: Some(tool),
        ..attack(name)
    }
}

const ATTACKS: [Attack; 14] = [
    attack("unknown"),
    attack("extra_field"),
    attack("notes"),
    attack("panels"),
    Attack {
        kept: true,
        ..attack("schema")
    },
    Attack {
        notifies: false,
        kept: true,
        ..attack("unfinished")
    },
    attack("reads"),
    Attack {
        notifies: false,
        kept: true,
        ..attack("unread")
    },
    attack("costly_calls"),
    attack_by_call("modified_args", "read"),
    attack_by_call("costly_args", "read"),
    attack_by_call("structured_content", "boom_"),
    attack_by_call("costly_result", "boom_"),
    attack_by_call("content", "boom_"),
];

/// Runs these attacks at the same time, and returns the peak and the final memory of the host.
fn peak_and_final_memory(attacks: &[Attack]) -> (u64, u64) {
    let world = World::new();
    let mut image = b"\x89PNG\r\n\x1a\n".to_vec();
    image.resize(3_600_000, 7);
    fs::write(world.work().join("image.png"), image).expect("failed to write");
    let mut prompts = Vec::new();
    for (number, attack) in attacks.iter().enumerate() {
        let name = format!("e{number}");
        install(&world, &name, attack.name);
        match attack.tool {
            Some("boom_") => prompts.push(format!("boom_{name}")),
            Some(tool) => prompts.push(tool.to_owned()),
            None => {}
        }
    }
    let mut zot = Rpc::start(&world, &["--provider", "demo"]);
    let is_done =
        |line: &serde_json::Value| line["type"] == "ext_notify" && line["message"] == "done";
    for _ in attacks.iter().filter(|attack| attack.notifies) {
        zot.until(is_done);
    }
    for (number, attack) in attacks.iter().enumerate() {
        let wrote = world.installed(&format!("e{number}")).join("wrote");
        wait_until(attack.name, || attack.notifies || wrote.exists());
    }
    for n in 0..4 {
        let calls = prompts
            .iter()
            .map(|tool| format!("/call {tool} {{\"path\":\"x\",\"n\":{n}}}"));
        let message = calls.collect::<Vec<_>>().join("\n");
        if !message.is_empty() {
            zot.data(&json!({"id": n.to_string(), "type": "prompt", "message": message}));
            zot.until_event("done");
        }
    }
    zot.data(&json!({"id": "ping", "type": "ping"}));
    let most = most_resident(zot.pid());
    let mut left = resident(zot.pid());
    if !attacks.iter().any(|attack| attack.kept) {
        wait_until("the memory is released", || {
            left = resident(zot.pid());
            left < 48 * MB
        });
    }
    (most, left)
}

#[test]
fn one_extension_keeps_the_host_below_64_mb() {
    if !has("python3") {
        return;
    }
    let mut too_large = Vec::new();
    for attack in ATTACKS {
        let (most, left) = peak_and_final_memory(&[attack]);
        eprintln!(
            "{:>20}: at most {:.1} MB, then {:.1} MB",
            attack.name,
            megabytes(most),
            megabytes(left)
        );
        if most >= 64 * MB {
            too_large.push(attack.name);
        }
    }
    assert_eq!(too_large, [""; 0]);
}

#[test]
fn ten_extensions_at_once_keep_the_host_below_128_mb() {
    if !has("python3") {
        return;
    }
    for attacks in [
        &ATTACKS[..10],
        &ATTACKS[4..],
        &[ATTACKS[4]; 10],
        &[ATTACKS[6]; 10],
        &[ATTACKS[8]; 10],
    ] {
        let (most, left) = peak_and_final_memory(attacks);
        let names: Vec<&str> = attacks.iter().map(|attack| attack.name).collect();
        eprintln!(
            "{}: at most {:.1} MB, then {:.1} MB",
            names.join(" "),
            megabytes(most),
            megabytes(left)
        );
        assert!(most < 128 * MB, "{most} bytes");
    }
}
