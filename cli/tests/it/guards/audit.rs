//! Audit mode, and the record of decisions.

use std::fs;

use serde_json::{Value, json};

use super::{GUARD, REWRITER, bash, drive, extension, files_starting_with, prompt, result};
use crate::support::World;

/// Runs ten commands, of which the guard forbids three. Returns the status of each.
fn ten_calls(world: &World, flags: &[&str], dirs: &[std::path::PathBuf]) -> Vec<String> {
    let mut rpc = drive(world, dirs, flags);
    let statuses = (0..10).map(|number| {
        let comment = if number % 4 == 1 { " # forbidden" } else { "" };
        let events = prompt(&mut rpc, &bash(&format!("touch ran-{number}{comment}")));
        result(&events).1
    });
    let statuses = statuses.collect();
    rpc.end();
    statuses
}

fn decisions(world: &World, args: &[&str]) -> Vec<Value> {
    let why = world.zot(&[&["ext", "why", "--json"], args].concat());
    assert_eq!(why.code, Some(0), "{why:?}");
    let lines = why.out.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn an_audited_guard_blocks_nothing_and_every_decision_is_recorded() {
    let world = World::new();
    let guard = json!({"intercept": {"tool_call": {"on_failure": "block"}}, "permissions": {}});
    let dirs = [extension(&world, "guard", &guard, GUARD)];
    let audit = world.zot(&["ext", "audit", "guard"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
    assert!(audit.out.contains("✓ guard is in audit mode"), "{audit:?}");

    assert_eq!(ten_calls(&world, &[], &dirs), ["completed"; 10]);
    assert_eq!(files_starting_with(&world, "ran-").len(), 10);
    let recorded = decisions(&world, &[]);
    assert_eq!(recorded.len(), 10);
    for (number, decision) in recorded.iter().enumerate() {
        let link = &decision["links"][0];
        assert_eq!(
            (
                &decision["event"],
                &decision["tool"],
                &decision["origin"],
                &decision["outcome"]
            ),
            (
                &json!("tool_call"),
                &json!("bash"),
                &json!("model"),
                &json!("allowed")
            )
        );
        assert_eq!(
            (&link["extension"], &link["mode"]),
            (&json!("guard"), &json!("audit"))
        );
        assert!(link["ms"].as_f64().is_some_and(|ms| ms > 0.0), "{link}");
        let would_block = number % 4 == 1;
        assert_eq!(link["verdict"] == "block", would_block, "{link}");
        assert_eq!(
            link["reason"] == "the guard forbids it",
            would_block,
            "{link}"
        );
        assert_eq!(decision.get("value"), None, "no arguments by default");
    }
    let text = world
        .zot(&["ext", "why", "--last", "4", "--tool", "bash"])
        .out;
    assert_eq!(
        text.matches("tool_call bash, from the model: allowed")
            .count(),
        4,
        "{text}"
    );
    assert!(
        text.contains("would have blocked: the guard forbids it (audit)"),
        "{text}"
    );
    assert!(text.contains("… 6 earlier; --last 10 shows all"), "{text}");
    assert_eq!(decisions(&world, &["--tool", "read"]), [Value::Null; 0]);

    // A single command enforces the guard.
    let enforce = world.zot(&["ext", "enforce", "guard"]);
    assert_eq!(enforce.code, Some(0), "{enforce:?}");
    assert!(
        enforce
            .out
            .contains("✓ the answers of guard are applied again"),
        "{enforce:?}"
    );
    let again = world.zot(&["ext", "enforce", "gaurd"]);
    assert!(
        again.out.contains("– gaurd was not in audit mode"),
        "{again:?}"
    );
    let statuses = ten_calls(&world, &[], &dirs);
    assert_eq!(
        statuses.iter().filter(|it| *it == "blocked").count(),
        3,
        "{statuses:?}"
    );
    let blocked = decisions(&world, &[]);
    let blocked: Vec<&Value> = blocked
        .iter()
        .filter(|it| it["outcome"] == "blocked")
        .collect();
    assert_eq!(blocked.len(), 3);
    assert_eq!(
        (&blocked[0]["by"], &blocked[0]["links"][0]["mode"]),
        (&json!("guard"), &json!("enforce"))
    );
    let config = fs::read_to_string(world.path("zot").join("config.json")).expect("a file");
    assert_eq!(
        config.trim(),
        "{\n  \"extensions\": {}\n}",
        "nothing is left behind"
    );
}

/// A guard that fails closed, or that never starts, blocks nothing in audit mode.
#[test]
fn a_failing_guard_in_audit_mode_blocks_nothing() {
    let world = World::new();
    let guard = json!({"intercept": {"tool_call": {"on_failure": "block"}}});
    let missing = json!({"exec": "./none", "intercept": {"tool_call": {"on_failure": "block"}}});
    let dirs = [
        extension(&world, "dies", &guard, REDACTOR),
        extension(&world, "missing", &missing, ""),
    ];
    let flags = ["--audit", "dies", "--audit", "missing"];
    let mut rpc = super::drive_unready(&world, &dirs, &flags);
    let (said, status) = result(&prompt(&mut rpc, &bash("echo crash")));
    assert_eq!(status, "completed", "{said}");
    let listed = rpc.data(&json!({"id": "e", "type": "get_extensions"}));
    let audited: Vec<&Value> = listed["extensions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| &it["audited"])
        .collect();
    assert_eq!(audited, [&json!(["tool_call"]), &json!(["tool_call"])]);
    rpc.end();
    let recorded = decisions(&world, &[]);
    let verdicts: Vec<&Value> = recorded[0]["links"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|link| &link["verdict"])
        .collect();
    assert_eq!(verdicts, ["fail_closed", "fail_closed"]);
    // Without audit mode, both extensions block the call.
    let mut rpc = super::drive_unready(&world, &dirs, &[]);
    let (_, status) = result(&prompt(&mut rpc, &bash("echo crash")));
    assert_eq!(status, "blocked");
    rpc.end();
}

#[test]
fn an_audited_rewrite_is_recorded_and_not_applied() {
    let world = World::new();
    let dirs = [
        extension(&world, "rewriter", &json!({}), REWRITER),
        extension(&world, "guard", &json!({}), GUARD),
    ];
    let mut rpc = drive(&world, &dirs, &["--audit", "rewriter"]);
    let (_, status) = result(&prompt(&mut rpc, &bash("touch allowed")));
    assert_eq!(status, "completed");
    rpc.end();
    assert_eq!(files_starting_with(&world, "forbidden"), [""; 0]);
    let [decision] = &decisions(&world, &[])[..] else {
        panic!("one decision");
    };
    assert_eq!(decision["outcome"], "allowed");
    let links = decision["links"].as_array().expect("a list");
    assert_eq!(
        (&links[0]["verdict"], &links[0]["changed"]),
        (&json!("rewrite"), &json!(["/tool_args/command"]))
    );
    assert_eq!(
        (&links[1]["verdict"], &links[1]["mode"]),
        (&json!("allow"), &json!("enforce"))
    );
}

/// Redacts `canary`, in texts and in the names of arguments. Exits instead if the command contains
/// `crash`.
const REDACTOR: &str = r#"
begin(intercept=["tool_call"])
for frame in frames():
    if frame["type"] == "event_intercept":
        if "crash" in command_of(frame):
            sys.exit(3)
        decide(frame, modified_args=json.loads(json.dumps(frame["tool_args"]).replace("canary", "[redacted]")))
    elif frame["type"] == "shutdown":
        break
"#;

/// With `"decisions": "full"`, the record has what the event contained, but nothing that an
/// interceptor redacted or could have redacted.
#[test]
fn a_full_record_contains_nothing_that_was_or_could_have_been_redacted() {
    for (order, words, flags, is_complete) in [
        // The redactor has the last word.
        (["guard", "redact"], "", &[][..], true),
        // It would have redacted, but was not asked.
        (["guard", "redact"], "forbidden", &[], false),
        // It was asked before the guard blocked.
        (["redact", "guard"], "forbidden", &[], true),
        // It only audits.
        (["guard", "redact"], "", &["--audit", "redact"], false),
        // It fails, and the call is allowed.
        (["guard", "redact"], "crash", &[], false),
        // It fails, and another one blocks.
        (["redact", "guard"], "crash forbidden", &[], false),
    ] {
        let world = World::new();
        world.configure(&json!({"decisions": "full"}));
        let dirs = order.map(|name| {
            let script = if name == "guard" { GUARD } else { REDACTOR };
            extension(&world, name, &json!({}), script)
        });
        let mut rpc = drive(&world, &dirs, flags);
        let args = json!({"command": format!("echo canary {words}"), "env": {"canary": 1}});
        prompt(&mut rpc, &format!("/call bash {args}"));
        rpc.end();
        let [decision] = &decisions(&world, &[])[..] else {
            panic!("one decision");
        };
        let case = format!("{order:?} {words} {flags:?}: {decision}");
        let command = decision["value"]["tool_args"]["command"].as_str();
        let is_redacted = command.is_some_and(|it| it.contains("[redacted]"));
        assert_eq!(is_redacted, is_complete, "{case}");
        assert_eq!(decision.get("value").is_some(), is_complete, "{case}");
        let files = fs::read_dir(world.path("zot/decisions")).expect("a folder");
        for file in files {
            let text = fs::read_to_string(file.expect("a file").path()).expect("text");
            assert!(!text.contains("canary"), "{case}");
        }
    }
}

#[test]
fn why_shows_untrusted_text_safely_and_explains_an_empty_record() {
    let world = World::new();
    let why = world.zot(&["ext", "why"]);
    assert_eq!(why.code, Some(0), "{why:?}");
    assert!(
        why.err.starts_with("no decisions are recorded yet\nhint: "),
        "{why:?}"
    );
    let evil = GUARD.replace("the guard forbids it", "no\\x1b]0;title\\x07\\u202e");
    let dirs = [extension(&world, "guard", &json!({}), &evil)];
    let mut rpc = drive(&world, &dirs, &[]);
    prompt(&mut rpc, &bash("echo forbidden"));
    rpc.end();
    for args in [vec!["ext", "why"], vec!["ext", "why", "--json"]] {
        let why = world.zot(&args);
        assert!(!why.out.contains(['\x1b', '\u{202e}']), "{:?}", why.out);
        assert!(why.out.contains("blocked"), "{why:?}");
    }
    let unknown = world.zot(&["ext", "why", "--session", "../../x"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    let unknown = world.zot(&["ext", "audit", "guard", "--event", "toolcall"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown.err.contains("the events are tool_call"),
        "{unknown:?}"
    );
}

#[test]
fn list_and_doctor_show_audit_mode() {
    let world = World::new();
    let source = extension(&world, "guard", &json!({}), GUARD);
    world.ext(&["install", crate::support::text(&source), "--yes"]);
    world.ext(&["audit", "guard", "--event", "tool_call"]);
    let words = "audit mode: its answers are not applied (tool_call)";
    let list = world.zot(&["ext", "list"]);
    assert!(list.out.contains(words), "{list:?}");
    assert_eq!(world.listed("guard")["audited"], json!(["tool_call"]));
    let doctor = world.zot(&["ext", "doctor"]);
    assert!(doctor.out.contains(words), "{doctor:?}");
    world.ext(&["enforce", "guard", "--event", "tool_call"]);
    let list = world.zot(&["ext", "list"]);
    assert!(!list.out.contains("audit mode"), "{list:?}");
}
