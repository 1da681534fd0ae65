//! `zot ext doctor`, with one extension for each kind of fault.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use regex::Regex;
use serde_json::{Value, json};
use zot_host::extension::PermissionReport;
use zot_process::Support;
use zot_protocol::Manifest;
use zot_test_support::skip::unsupported;

use crate::support::{RunOutput, World, text};

const HELLO: &str = r#"echo '{"type":"hello","name":"x"}'"#;
const READY: &str = r#"echo '{"type":"ready"}'"#;
/// Reads input until `shutdown`.
const LISTEN: &str = "while read -r line; do case $line in *shutdown*) exit;; esac; done";

fn tool(name: &str) -> String {
    format!(r#"echo '{{"type":"register_tool","name":"{name}","schema":{{"type":"object"}}}}'"#)
}

fn command(name: &str) -> String {
    format!(r#"echo '{{"type":"register_command","name":"{name}"}}'"#)
}

/// Writes an extension with these manifest fields and script lines.
fn write(dir: &Path, name: &str, fields: &Value, script: &[&str]) {
    fs::create_dir_all(dir).expect("failed to create directory");
    let mut manifest = json!({"name": name, "exec": "sh", "args": ["run.sh"]});
    for (key, value) in fields.as_object().expect("should be an object") {
        manifest[key] = value.clone();
    }
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    let script = script
        .join("\n")
        .replace("\"name\":\"x\"", &format!("\"name\":\"{name}\""));
    fs::write(dir.join("run.sh"), script + "\n").expect("failed to write");
}

/// Creates a home with one extension for each kind of fault.
fn faulty_extensions() -> World {
    let world = World::new();
    add_extensions_that_start(&world);
    add_extensions_that_fail_to_start(&world);
    // An extension whose name is already taken, and a project extension.
    write(&world.installed("s-shadowed"), "a-well", &json!({}), &[]);
    let project = world.work().join(".zot/extensions/t");
    write(&project, "t-project", &json!({}), &[HELLO]);
    // An extension that was modified after it was installed.
    let source = world.path("u-changed");
    write(&source, "u-changed", &json!({}), &[HELLO, READY, LISTEN]);
    world.ext(&["install", text(&source), "--yes"]);
    let changed = world.installed("u-changed").join("run.sh");
    let script = fs::read_to_string(&changed).expect("failed to read");
    fs::write(&changed, format!("# mine\n{script}")).expect("failed to write");
    world
}

fn add_extensions_that_start(world: &World) {
    let add = |name: &str, fields: Value, script: &[&str]| {
        write(&world.installed(name), name, &fields, script);
    };
    add(
        "a-well",
        json!({"version": "1.2.0", "permissions": {}}),
        &[
            HELLO,
            &command("well"),
            &tool("weather"),
            r#"echo '{"type":"subscribe","events":["turn_end"],"intercept":["tool_call"]}'"#,
            READY,
            LISTEN,
        ],
    );
    add(
        "b-names",
        json!({}),
        &[
            HELLO,
            &command("well"),
            &tool("weather"),
            &tool("bash"),
            READY,
            LISTEN,
        ],
    );
    add(
        "j-never-ready",
        json!({}),
        &[HELLO, &command("never"), LISTEN],
    );
    add(
        "k-bad-frames",
        json!({"colour": "red"}),
        &[
            HELLO,
            r#"echo '{"type":"register_tool","name":"no schema"}'"#,
            "echo not json",
            READY,
            LISTEN,
        ],
    );
    add(
        "l-granted",
        json!({"permissions": {"fs": {"read": ["/nowhere/at/all"]}, "net": [443]}}),
        &[HELLO, READY, LISTEN],
    );
    add("m-slow", json!({}), &["sleep 3.1", HELLO, READY, LISTEN]);
}

fn add_extensions_that_fail_to_start(world: &World) {
    let add = |name: &str, fields: Value, script: &[&str]| {
        write(&world.installed(name), name, &fields, script);
    };
    add("c-disabled", json!({"enabled": false}), &[]);
    add(
        "d-no-program",
        json!({"exec": "no-such-program-anywhere/x"}),
        &[],
    );
    add(
        "e-not-executable",
        json!({"exec": "./run.sh", "args": []}),
        &[HELLO],
    );
    add(
        "f-crashes",
        json!({}),
        &[
            "echo 'Traceback:' >&2",
            "printf '  \\033[31mline 7\\033[0m\\n' >&2",
            "echo 'no module x' >&2",
            "exit 3",
        ],
    );
    add(
        "g-silent",
        json!({"timeouts": {"hello_ms": 1000}}),
        &["exec sleep 100"],
    );
    add("h-talks-first", json!({}), &[READY, LISTEN]);
    add(
        "i-ends-later",
        json!({}),
        &[HELLO, READY, "read -r acknowledged", "exit 5"],
    );
    // Invalid manifests.
    for (name, manifest) in [
        ("n-not-json", "{\"name\": "),
        ("o-no-exec", r#"{"name": "o-no-exec"}"#),
        (
            "p-wrong-type",
            r#"{"name": "p-wrong-type", "exec": "sh", "args": "run.sh"}"#,
        ),
        ("q-bad-name", r#"{"name": "../q", "exec": "sh"}"#),
    ] {
        fs::create_dir_all(world.installed(name)).expect("failed to create directory");
        fs::write(world.installed(name).join("extension.json"), manifest).expect("failed to write");
    }
    fs::create_dir(world.installed("r-empty")).expect("failed to create directory");
    let run = world.installed("e-not-executable").join("run.sh");
    fs::set_permissions(run, fs::Permissions::from_mode(0o644)).expect("failed to set permissions");
}

/// Replaces paths and times that differ between runs.
fn filtered(world: &World, out: &str) -> String {
    let out = out.replace(text(world.root()), "[ROOT]");
    let times = Regex::new(r"after \d+ ms(, |$)").expect("invalid regex");
    let out: Vec<String> = out
        .lines()
        .map(|line| times.replace_all(line, "after [TIME]$1").into_owned())
        .collect();
    out.join("\n") + "\n"
}

fn kernel_enforces_permissions() -> bool {
    let mut manifest = Manifest::new("x", "x");
    manifest.permissions =
        serde_json::from_value(json!({"net": [443]})).expect("invalid permissions");
    let holds = !PermissionReport::of(&manifest, Support::probe()).falls_short();
    if !holds {
        unsupported("this kernel does not enforce permissions");
    }
    holds
}

#[test]
fn doctor_diagnoses_each_kind_of_fault() {
    if !kernel_enforces_permissions() {
        return;
    }
    let world = faulty_extensions();
    let ran = world.zot(&["ext", "doctor"]);
    assert_eq!((ran.code, &*ran.err), (Some(1), ""), "{}", ran.out);
    insta::assert_snapshot!(filtered(&world, &ran.out));
}

fn json_of(ran: &RunOutput) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
}

#[test]
fn doctor_checks_a_single_extension_and_prints_json() {
    let world = World::new();
    let add = |name: &str, script: &[&str]| {
        write(&world.installed(name), name, &json!({}), script);
    };
    add("well", &[HELLO, &command("hi"), &tool("t"), READY, LISTEN]);
    add("zzz", &[HELLO, &tool("t"), READY, LISTEN]);
    add("crashes", &["echo why >&2", "exit 3"]);
    let ran = world.ext(&["doctor", "well", "--json"]);
    let report = json_of(&ran);
    assert_eq!(report["broken"], 0, "only the named extension is checked");
    let [it] = report["extensions"]
        .as_array()
        .expect("should be an array")
        .as_slice()
    else {
        panic!("{report:#}");
    };
    assert_eq!(
        (
            &it["verdict"],
            &it["state"],
            &it["registers"]["tools"],
            &it["changed"]
        ),
        (&json!("well"), &json!("ready"), &json!(["t"]), &Value::Null)
    );
    assert!(it["hello_ms"].as_u64() <= it["ready_ms"].as_u64());
    let report = json_of(&world.ext(&["doctor", "zzz", "--json"]));
    let shadowed = &report["extensions"][0]["shadowed"];
    assert_eq!(
        shadowed,
        &json!([{"kind": "tool", "name": "t", "by": "well"}])
    );
    let ran = world.zot(&["ext", "doctor", "crashes", "--json"]);
    assert_eq!(ran.code, Some(1));
    let it = &json_of(&ran)["extensions"][0];
    assert_eq!(
        (&it["verdict"], &it["stderr"]),
        (&json!("broken"), &json!(["why"]))
    );
}

#[test]
fn doctor_with_no_extension_a_healthy_one_and_a_misspelled_name() {
    let world = World::new();
    let ran = world.ext(&["doctor"]);
    assert!(
        ran.out.starts_with("no extensions installed\nhint:"),
        "{}",
        ran.out
    );
    write(
        &world.installed("well"),
        "well",
        &json!({}),
        &[HELLO, READY, LISTEN],
    );
    let ran = world.ext(&["doctor"]);
    assert!(ran.out.ends_with("\n✓ 1 healthy\n"), "{}", ran.out);
    let ran = world.zot(&["ext", "doctor", "wel"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("hint: did you mean well?"), "{}", ran.err);
}

/// The doctor does not wait for extensions that will never be ready.
#[test]
fn extensions_that_hold_back_hello_are_diagnosed() {
    let world = World::new();
    let write = |name: &str, program: &str| {
        let dir = world.installed(name);
        fs::create_dir_all(&dir).expect("failed to create directory");
        let manifest = json!({"name": name, "exec": "python3", "args": ["-c", program]});
        fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    };
    write(
        "buffered",
        "import sys; print('{\"type\":\"hello\",\"name\":\"buffered\"}'); sys.stdin.read()",
    );
    write(
        "spread",
        "import sys; print('{\\n\"type\":\"hello\",\\n\"name\":\"spread\"}', flush=True); sys.stdin.read()",
    );
    let start = std::time::Instant::now();
    let ran = world.zot(&["ext", "doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let why = |name: &str| {
        let section = ran.out.split("\n\n").find(|it| it.contains(name));
        section.unwrap_or_else(|| panic!("{}", ran.out)).to_owned()
    };
    let buffered = why("✗ buffered");
    assert!(buffered.contains("stdout is block-buffered"), "{buffered}");
    assert!(buffered.contains("flush stdout"), "{buffered}");
    let spread = why("✗ spread");
    assert!(
        spread.contains("`hello` is spread over 3 lines"),
        "{spread}"
    );
    assert_eq!(spread.matches("is spread over").count(), 1, "{spread}");
    println!("{:.1} s", start.elapsed().as_secs_f32());
    assert!(
        start.elapsed() < std::time::Duration::from_secs(25),
        "{}",
        ran.out
    );
}
