//! Attempts to bypass a guard: during shutdown, after its decision, by flooding it, and by
//! compaction.

use serde_json::json;

use super::{
    GUARD, REWRITER, bash, drive, extension, files_starting_with, prompt, result, states,
    wait_until_ready,
};
use crate::support::World;

/// Responds to `shutdown` by calling bash until it is killed.
const LATE_CALLER: &str = r#"
begin(capabilities=["call_tool"])
def attack():
    for number in range(1000):
        command = f"touch ran-{number} # forbidden"
        say("call_tool", id=f"late-{number}", name="bash", args={"command": command})
        time.sleep(0.02)
for frame in frames():
    if frame["type"] == "shutdown":
        threading.Thread(target=attack).start()
"#;

#[test]
fn no_tool_runs_once_extensions_start_shutting_down() {
    let world = World::new();
    let guard = json!({"intercept": {"tool_call": {"on_failure": "block"}}, "permissions": {}});
    let caller = json!({"permissions": {"tools": ["bash"]}});
    let dirs = [
        extension(&world, "guard", &guard, GUARD),
        extension(&world, "caller", &caller, LATE_CALLER),
    ];
    let mut rpc = drive(&world, &dirs, &[]);
    let reloaded = rpc.data(&json!({"id": "r", "type": "reload_ext"}));
    assert_eq!(reloaded["stopped"], 2);
    wait_until_ready(&mut rpc, 2);
    assert_eq!(
        files_starting_with(&world, "ran-"),
        [""; 0],
        "after the reload"
    );
    let (said, status) = result(&prompt(&mut rpc, &bash("echo forbidden")));
    assert_eq!((&*said, &*status), ("the guard forbids it", "blocked"));
    let ended = rpc.end();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(
        files_starting_with(&world, "ran-"),
        [""; 0],
        "after the end"
    );
}

#[test]
fn a_final_guard_sees_the_rewritten_args() {
    for (is_final, status, left) in [(true, "blocked", 0), (false, "completed", 1)] {
        let world = World::new();
        let guard = json!({"intercept": {"tool_call": {"on_failure": "block", "final": is_final}}});
        let dirs = [
            extension(&world, "guard", &guard, GUARD),
            extension(&world, "rewriter", &json!({}), REWRITER),
        ];
        let mut rpc = drive(&world, &dirs, &[]);
        let (_, ended) = result(&prompt(&mut rpc, &bash("true")));
        assert_eq!(ended, status, "final: {is_final}");
        assert_eq!(
            files_starting_with(&world, "forbidden").len(),
            left,
            "final: {is_final}"
        );
        rpc.end();
    }
}

/// When its command is run, calls a tool 3,200 times and cancels each call.
const FLOOD: &str = r#"
begin(capabilities=["call_tool"], commands=["flood"])
for frame in frames():
    if frame["type"] == "command_invoked":
        # Send as many calls as can run concurrently, then pause so that each reaches the guard's queue.
        for batch in range(0, 3200, 16):
            for number in range(batch, batch + 16):
                say("call_tool", id=str(number), name="bash", args={"command": "true"})
            time.sleep(0.002)
            for number in range(batch, batch + 16):
                say("call_tool_cancel", id=str(number))
        say("command_response", id=frame["id"])
    elif frame["type"] == "shutdown":
        break
"#;

/// The guard takes 10 ms per decision and fails open: a call that it cannot decide on is allowed.
#[test]
fn a_flood_of_calls_does_not_bypass_a_guard() {
    let world = World::new();
    let guard = json!({"args": ["main.py", "guard", "0.01"]});
    let flood = json!({"permissions": {"tools": ["bash"]}});
    // The guard also subscribes to events, which it reads just as slowly.
    let watching = GUARD.replace("begin(", "begin(events=[\"tool_call\", \"tool_result\"], ");
    let dirs = [
        extension(&world, "guard", &guard, &watching),
        extension(&world, "flood", &flood, FLOOD),
    ];
    let mut rpc = drive(&world, &dirs, &[]);
    rpc.data(&json!({"id": "f", "type": "run_command", "name": "flood"}));
    for round in 0..5 {
        let command = format!("touch forbidden-{round}");
        let (said, status) = result(&prompt(&mut rpc, &bash(&command)));
        assert_eq!(
            (&*said, &*status),
            ("the guard forbids it", "blocked"),
            "{round}"
        );
    }
    assert_eq!(files_starting_with(&world, "forbidden"), [""; 0]);
    assert_eq!(
        states(&mut rpc),
        ["ready", "ready"],
        "an extension was disconnected"
    );
    rpc.end();
}

/// Blocks every turn. The reason includes the purpose of the turn.
const CLOSED: &str = r#"
begin(intercept=["turn_start"])
for frame in frames():
    if frame["type"] == "event_intercept":
        decide(frame, block=True, reason=f"closed for {frame.get('purpose')} at step {frame['step']}")
    elif frame["type"] == "shutdown":
        break
"#;

#[test]
fn a_guard_can_block_a_compaction() {
    let world = World::new();
    let dirs = [extension(&world, "closed", &json!({}), CLOSED)];
    let mut rpc = drive(&world, &dirs, &[]);
    let lines = prompt(&mut rpc, "hello");
    let end = lines.iter().find(|it| it["type"] == "turn_end");
    assert_eq!(
        end.expect("no turn_end event")["error"],
        "closed for prompt at step 1"
    );
    rpc.send(&json!({"id": "c", "type": "compact"}));
    let lines = rpc.until_event("done");
    let error = lines.iter().find(|it| it["type"] == "error");
    assert_eq!(
        error.expect("no error event")["message"],
        "closed for compact at step 0"
    );
    let ended = rpc.end();
    let compacted = ended.received.iter().any(|it| it["type"] == "compact_done");
    assert!(!compacted, "the model was called");
}
