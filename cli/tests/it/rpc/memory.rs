//! How large extensions can make the host, whatever they send: less than 64 MB one of them, less than 128 MB ten. An
//! unoptimised build takes 17 MB more than a released one before any of them has done anything, and the bounds hold for it.

use std::fs;

use serde_json::json;
use zot_protocol::limits;

use super::driver::Rpc;
use crate::support::{
    World, has,
    memory::{most_resident, resident},
    wait_until,
};

const MB: u64 = 1_000_000;

#[expect(clippy::cast_precision_loss, reason = "a figure to be read")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / MB as f64
}

/// Installs `hoard.py` under a name, which does one thing.
fn install(world: &World, name: &str, how: &str) {
    let dir = world.installed(name);
    fs::create_dir_all(&dir).expect("failed to create directory");
    let values = limits::FRAME_VALUES.to_string();
    let manifest =
        json!({"name": name, "exec": "python3", "args": ["hoard.py", how, name, values]});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    fs::write(dir.join("hoard.py"), include_str!("hoard.py")).expect("failed to write");
}

/// What an extension does.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Way {
    name: &'static str,
    /// The beginning of the tool that is called for it.
    tool: Option<&'static str>,
    /// Whether it says when it is done.
    tells: bool,
    /// Whether the host rightly keeps something of it.
    kept: bool,
}

const fn way(name: &'static str) -> Way {
    Way {
        name,
        tool: None,
        tells: true,
        kept: false,
    }
}

const fn called(name: &'static str, tool: &'static str) -> Way {
    Way {
        tool: Some(tool),
        ..way(name)
    }
}

const WAYS: [Way; 14] = [
    way("unknown"),
    way("extra_field"),
    way("notes"),
    way("panels"),
    Way {
        kept: true,
        ..way("schema")
    },
    Way {
        tells: false,
        kept: true,
        ..way("unfinished")
    },
    way("reads"),
    Way {
        tells: false,
        kept: true,
        ..way("unread")
    },
    way("costly_calls"),
    called("modified_args", "read"),
    called("costly_args", "read"),
    called("structured_content", "boom_"),
    called("costly_result", "boom_"),
    called("content", "boom_"),
];

/// Lets extensions do these things, all at once, and gives the most that the host had, and what it has afterwards.
fn hoarded(ways: &[Way]) -> (u64, u64) {
    let world = World::new();
    let mut image = b"\x89PNG\r\n\x1a\n".to_vec();
    image.resize(3_600_000, 7);
    fs::write(world.work().join("image.png"), image).expect("failed to write");
    let mut prompts = Vec::new();
    for (number, way) in ways.iter().enumerate() {
        let name = format!("e{number}");
        install(&world, &name, way.name);
        match way.tool {
            Some("boom_") => prompts.push(format!("boom_{name}")),
            Some(tool) => prompts.push(tool.to_owned()),
            None => {}
        }
    }
    let mut zot = Rpc::start(&world, &["--provider", "demo"]);
    let is_done =
        |line: &serde_json::Value| line["type"] == "ext_notify" && line["message"] == "done";
    for _ in ways.iter().filter(|way| way.tells) {
        zot.until(is_done);
    }
    for (number, way) in ways.iter().enumerate() {
        let wrote = world.installed(&format!("e{number}")).join("wrote");
        wait_until(way.name, || way.tells || wrote.exists());
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
    if !ways.iter().any(|way| way.kept) {
        wait_until("the memory is given back", || {
            left = resident(zot.pid());
            left < 48 * MB
        });
    }
    (most, left)
}

#[test]
fn no_extension_makes_the_host_larger_than_64_mb() {
    if !has("python3") {
        return;
    }
    let mut too_large = Vec::new();
    for way in WAYS {
        let (most, left) = hoarded(&[way]);
        eprintln!(
            "{:>20}: at most {:.1} MB, then {:.1} MB",
            way.name,
            megabytes(most),
            megabytes(left)
        );
        if most >= 64 * MB {
            too_large.push(way.name);
        }
    }
    assert_eq!(too_large, [""; 0]);
}

#[test]
fn ten_extensions_at_once_do_not_make_the_host_larger_than_128_mb() {
    if !has("python3") {
        return;
    }
    for ways in [
        &WAYS[..10],
        &WAYS[4..],
        &[WAYS[4]; 10],
        &[WAYS[6]; 10],
        &[WAYS[8]; 10],
    ] {
        let (most, left) = hoarded(ways);
        let names: Vec<&str> = ways.iter().map(|way| way.name).collect();
        eprintln!(
            "{}: at most {:.1} MB, then {:.1} MB",
            names.join(" "),
            megabytes(most),
            megabytes(left)
        );
        assert!(most < 128 * MB, "{most} bytes");
    }
}
