//! Daemons that have left their process group and session and cleared their environment.

use std::path::Path;

use serde_json::{Value, json};

use super::{driver::Rpc, extensions::install};
use crate::support::{World, process::working_in, wait_until};

/// Returns the running daemons that were started in a folder.
fn daemons(folder: &Path) -> Vec<String> {
    let mut lines = working_in(folder);
    lines.retain(|line| line.contains("sleep 1000"));
    lines
}

/// Starts zot with an extension that has started a daemon.
fn start_with_daemon(world: &World) -> Rpc {
    install(world, "kit");
    let mut zot = Rpc::start(world, &["--provider", "demo"]);
    call(&mut zot, "daemon", &json!({}));
    let folder = world.installed("kit");
    wait_until("the daemon runs", || daemons(&folder).len() == 1);
    zot
}

/// Calls a tool and returns the text of its result.
fn call(zot: &mut Rpc, tool: &str, args: &Value) -> String {
    let message = format!("/call {tool} {args}");
    zot.data(&json!({"id": "call", "type": "prompt", "message": message}));
    let lines = zot.until_event("done");
    let result = lines.iter().find(|line| line["type"] == "tool_result");
    let result = result.expect("no result");
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_daemon_of_an_extension_ends_with_a_reload() {
    let world = World::new();
    let mut zot = start_with_daemon(&world);
    for round in 0..3 {
        let id = format!("reload {round}");
        zot.data(&json!({"id": id, "type": "reload_ext"}));
        assert_eq!(daemons(&world.installed("kit")), [] as [String; 0]);
        call(&mut zot, "daemon", &json!({}));
    }
    zot.end();
    assert_eq!(daemons(world.root()), [] as [String; 0]);
}

#[test]
fn a_daemon_of_a_command_ends_with_its_call_and_others_stay() {
    let world = World::new();
    let mut zot = start_with_daemon(&world);
    let daemon = "env -i setsid -f sleep 1000 </dev/null >/dev/null 2>&1";
    // The second daemon also drops the resource limit that marks its process tree.
    for command in [daemon.to_owned(), format!("ulimit -R 1000000000; {daemon}")] {
        let said = call(&mut zot, "bash", &json!({"command": command}));
        assert!(said.contains("[killed background processes: "), "{said}");
        assert_eq!(daemons(&world.work()), [] as [String; 0]);
        assert_eq!(
            daemons(&world.installed("kit")).len(),
            1,
            "the extension's daemon must keep running"
        );
    }
    zot.end();
    assert_eq!(daemons(world.root()), [] as [String; 0]);
}
