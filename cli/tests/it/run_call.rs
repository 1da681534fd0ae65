//! `zot ext run` and `zot ext call`.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use zot_process::untimed;

use crate::support::{RunOutput, World, process, terminal, text, wait_until};

/// Writes an extension whose commands and tools cover every kind of answer.
fn kit(dir: &Path) -> PathBuf {
    fs::create_dir_all(dir).expect("failed to create directory");
    let manifest = json!({"name": "kit", "exec": "sh", "args": ["kit.sh"]});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    fs::write(dir.join("kit.sh"), include_str!("../fixtures/kit.sh")).expect("failed to write");
    dir.to_owned()
}

fn world() -> World {
    let world = World::new();
    kit(&world.installed("kit"));
    world
}

fn run(world: &World, args: &[&str]) -> RunOutput {
    world.zot(&[&["ext", "run", "kit"], args].concat())
}

fn call(world: &World, args: &[&str]) -> RunOutput {
    world.zot(&[&["ext", "call", "kit"], args].concat())
}

/// Returns stderr without the notification that the extension sends at the start of every session.
fn notices(ran: &RunOutput) -> String {
    ran.err.replace("[kit] a session began\n", "")
}

#[test]
fn every_command_action_is_printed() {
    let world = world();
    for (args, out, err) in [
        (&["show", "a  b", "-c"][..], "a  b -c\n", ""),
        (&["/show", "x"], "x\n", ""),
        (&["prompt"], "Greet Ada.\n", "would submit this prompt:\n"),
        (
            &["insert"],
            "git status\n",
            "would insert into the editor:\n",
        ),
        (&["quiet"], "", "done; nothing to show\n"),
        (
            &["panel"],
            "┌ Todo\n│ [ ] milk\n│\n│ [x] eggs\n└ esc closes\n",
            "",
        ),
    ] {
        let ran = run(&world, args);
        assert_eq!(
            (ran.code, &*ran.out, &*notices(&ran)),
            (Some(0), out, err),
            "{args:?}"
        );
    }
    let ran = run(&world, &["fail"]);
    assert_eq!(
        (ran.code, &*ran.out, &*notices(&ran)),
        (Some(1), "", "✗ no such city\n")
    );
}

#[test]
fn every_kind_of_tool_content_is_printed() {
    let world = world();
    let ran = call(&world, &["echo", r#"{"city": "Köln", "n": [1]}"#]);
    assert_eq!(
        (ran.code, &*ran.out),
        (Some(0), "{\"city\":\"Köln\",\"n\":[1]}\n")
    );
    let ran = call(&world, &["picture"]);
    assert_eq!(
        (ran.code, &*ran.out),
        (Some(0), "here:\n[image image/png, 67 bytes]\n")
    );
    let ran = call(&world, &["wrong"]);
    assert_eq!(
        (ran.code, &*ran.out, &*notices(&ran)),
        (Some(1), "", "✗ no such city\n")
    );
    let ran = call(&world, &["strict", r#"{"town": 1}"#]);
    assert_eq!(ran.code, Some(1));
    assert!(
        notices(&ran).contains("do not match the schema of `strict`"),
        "{ran:?}"
    );
}

#[test]
fn json_prints_the_frame_unchanged() {
    let world = world();
    let ran = call(&world, &["echo", "{}", "--json"]);
    let frame: Value = serde_json::from_str(&ran.out).expect("invalid JSON");
    assert_eq!(
        (&frame["type"], &frame["extra"]),
        (&json!("tool_result"), &json!(7))
    );
    let ran = world.zot(&["ext", "run", "--json", "kit", "prompt"]);
    let frame: Value = serde_json::from_str(&ran.out).expect("invalid JSON");
    assert_eq!(frame["prompt"], "Greet \u{1b}[31mAda\u{1b}[0m.");
    let ran = call(&world, &["wrong", "{}", "--json"]);
    assert_eq!(
        ran.code,
        Some(1),
        "--json reports errors in the exit code too"
    );
    let ran = call(&world, &["strict", "{}", "--json"]);
    let frame: Value = serde_json::from_str(&ran.out).expect("invalid JSON");
    assert_eq!(frame["is_error"], true);
}

#[test]
fn arguments_can_come_from_stdin() {
    let world = world();
    let mut child = world
        .zot_command(&["ext", "call", "kit", "echo", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("failed to start zot");
    let mut stdin = child.stdin.take().expect("should be piped");
    stdin.write_all(b"{\"a\": 1}").expect("failed to write");
    drop(stdin);
    let ran = RunOutput::of(child.wait_with_output().expect("failed to wait"));
    assert_eq!(ran.out, "{\"a\":1}\n");
    for (wrong, why) in [("{", "are not valid JSON"), ("[]", "must be a JSON object")] {
        let ran = call(&world, &["echo", wrong]);
        assert_eq!(ran.code, Some(1));
        assert!(
            ran.err.contains(why) && ran.err.contains("hint:"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn unknown_names_are_errors_that_list_the_known_ones() {
    let world = world();
    let ran = run(&world, &["shwo"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        notices(&ran),
        "error: kit has no command `/shwo`\nhint: available commands: /show, /prompt, /insert, /panel, /quiet, /fail\n"
    );
    let ran = call(&world, &["eco"]);
    assert_eq!(
        notices(&ran),
        "error: kit has no tool `eco`\nhint: available tools: echo, picture, wrong, slow, crash, daemon, steps, strict\n"
    );
    let ran = call(&world, &["show"]);
    assert!(
        ran.err
            .contains("hint: show is a command; run `zot ext run kit show`"),
        "{}",
        ran.err
    );
    let ran = run(&world, &["echo"]);
    assert!(
        ran.err
            .contains("hint: echo is a tool; run `zot ext call kit echo"),
        "{}",
        ran.err
    );
    let ran = world.zot(&["ext", "run", "kitt", "show"]);
    assert_eq!(
        ran.err,
        "error: no extension named `kitt`\nhint: did you mean kit?\n"
    );
}

/// A name selects an installed extension, and a path selects the extension in that directory.
#[test]
fn extensions_are_selected_by_name_or_directory() {
    let world = world();
    let here = kit(&world.work().join("here"));
    for dir in [
        "./here",
        "here/",
        "here",
        text(&here),
        "here/extension.json",
    ] {
        let ran = world.zot(&["ext", "run", dir, "show", "x"]);
        assert_eq!((ran.code, &*ran.out), (Some(0), "x\n"), "{dir}: {ran:?}");
    }
    let ran = world.zot(&["ext", "run", "./nowhere", "show"]);
    assert!(ran.err.starts_with("error: cannot find `"), "{}", ran.err);
    let ran = world.zot(&["ext", "run", ".", "show"]);
    assert!(ran.err.contains("extension.json not found"), "{}", ran.err);

    kit(&world.work().join("kit"));
    let ran = run(&world, &["quiet"]);
    assert!(
        ran.err.starts_with(
            "using the installed extension; use `./kit` for the one in this directory\n"
        ),
        "{}",
        ran.err
    );

    world.ext(&["disable", "kit"]);
    let ran = run(&world, &["quiet"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err
            .starts_with("error: kit is disabled\nhint: zot ext enable kit, or pass"),
        "{}",
        ran.err
    );
}

/// A repository must not be able to run code by giving its extension a name that the user might
/// type.
#[test]
fn a_project_extension_runs_only_by_its_path() {
    let world = World::new();
    let dir = kit(&world.work().join(".zot/extensions/kit"));
    let ran = run(&world, &["show"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("not trusted yet"), "{}", ran.err);
    assert!(
        ran.err
            .contains("hint: if you trust it, pass its directory"),
        "{}",
        ran.err
    );
    let ran = world.zot(&["ext", "run", text(&dir), "show", "x"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "x\n"));
}

#[test]
fn a_crash_is_reported_with_the_last_stderr_lines() {
    let world = world();
    let ran = call(&world, &["crash"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        notices(&ran),
        "error: kit: ended: exit status 3\nhint: zot ext logs kit\n"
    );
    let dir = world.installed("kit");
    fs::write(dir.join("kit.sh"), "echo one >&2; echo two >&2; exit 4").expect("failed to write");
    let ran = run(&world, &["show"]);
    assert_eq!(ran.code, Some(1));
    let log = world.path("zot/logs/ext-kit.log");
    assert_eq!(
        ran.err,
        format!(
            "error: kit did not start: ended: exit status 4 before it sent hello: two\n  one\n  two\nhint: see its log: {}\n",
            text(&log)
        )
    );
}

#[test]
fn ctrl_c_cancels_the_call_and_leaves_no_process() {
    let world = world();
    let child = world
        .zot_command(&["ext", "call", "kit", "slow"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("failed to start zot");
    let log = world.path("zot/logs/ext-kit.log");
    let log = || fs::read_to_string(&log).unwrap_or_default();
    wait_until("the call is under way", || {
        log().contains("slow in process")
    });
    process::signal(&child, Signal::INT);
    let ran = RunOutput::of(child.wait_with_output().expect("failed to wait"));
    assert_eq!((ran.code, &*ran.out), (Some(130), ""), "{ran:?}");
    let log = log();
    assert!(
        log.lines().any(|line| untimed(line) == "cancelled"),
        "{log}"
    );
    let extension = log
        .lines()
        .find_map(|line| untimed(line).strip_prefix("slow in process "));
    let extension = Path::new("/proc").join(extension.expect("not printed"));
    assert!(!extension.exists(), "{}", extension.display());
}

/// Even a daemon is killed: a process that has left its parent and session and cleared its
/// environment.
#[test]
fn daemons_are_killed_when_the_call_ends() {
    let world = world();
    let ran = call(&world, &["daemon"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let log = fs::read_to_string(world.path("zot/logs/ext-kit.log")).expect("failed to read log");
    let time = log
        .lines()
        .find_map(|line| untimed(line).strip_prefix("a daemon sleeps "));
    let wanted = format!("sleep\0{}\0", time.expect("not printed"));
    let all = fs::read_dir("/proc")
        .expect("failed to read directory")
        .flatten();
    let mut lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    assert!(!lines.any(|line| line == wanted.as_bytes()));
}

/// Progress is shown only in a terminal, not when the output is redirected.
#[test]
fn progress_is_shown_on_a_terminal() {
    let world = world();
    let ran = terminal::zot(&world, 80, &[], &["ext", "call", "kit", "steps"]);
    assert!(ran.out.contains("… half way"), "{ran:?}");
    assert!(ran.out.contains("\nthere\n"), "{ran:?}");
    let ran = call(&world, &["steps"]);
    assert_eq!((&*ran.out, &*notices(&ran)), ("there\n", ""));
}

/// Prints the overhead. The assertion is lenient because the machine may be busy.
#[test]
fn the_overhead_of_zot_is_small() {
    let world = world();
    let dir = world.installed("kit");
    let bare = || {
        let start = Instant::now();
        let mut child = world
            .command("sh")
            .arg("kit.sh")
            .current_dir(&dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("failed to start sh");
        let mut stdin = child.stdin.take().expect("should be piped");
        let request = r#"{"type":"tool_call","id":"1","name":"picture","args":{}}"#;
        writeln!(stdin, "{request}").expect("failed to write");
        let mut lines = BufReader::new(child.stdout.take().expect("should be piped")).lines();
        let answered = |line: &std::io::Result<String>| {
            line.as_ref().is_ok_and(|line| line.contains("tool_result"))
        };
        lines
            .find(answered)
            .expect("no answer")
            .expect("not valid UTF-8");
        let took = start.elapsed();
        drop(stdin);
        child.wait().expect("failed to wait");
        took
    };
    let through_zot = |args: &[&str]| {
        let start = Instant::now();
        let mut child = world
            .zot_command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("failed to start zot");
        let mut lines = BufReader::new(child.stdout.take().expect("should be piped")).lines();
        lines.next().expect("no answer").expect("not valid UTF-8");
        let took = start.elapsed();
        lines.for_each(drop);
        assert!(child.wait().expect("failed to wait").success());
        took
    };
    // Use the fastest of several runs, because other load can only slow them down.
    let best = |take: &dyn Fn() -> Duration| (0..10).map(|_| take()).min().unwrap_or_default();
    let bare = best(&bare);
    for args in [
        ["ext", "call", "kit", "picture"],
        ["ext", "run", "kit", "prompt"],
    ] {
        let through_zot = best(&|| through_zot(&args));
        let more = through_zot.saturating_sub(bare);
        eprintln!(
            "zot {}: {through_zot:?}, the bare process: {bare:?}, overhead: {more:?} (goal: at most 100 ms)",
            args.join(" ")
        );
        assert!(more < Duration::from_secs(2), "{more:?}");
    }
}

/// Writes a Python extension and returns its directory. `e(…)` sends a frame.
fn python(world: &World, body: &str) -> String {
    let dir = world.path("py");
    fs::create_dir_all(&dir).expect("failed to create directory");
    let manifest =
        json!({"name": "py", "exec": "python3", "args": ["main.py"], "language": "python"});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    let head = "import json, sys\ndef e(**frame): print(json.dumps(frame), flush=True)\n";
    fs::write(dir.join("main.py"), format!("{head}{body}")).expect("failed to write");
    text(&dir).to_owned()
}

const TOOL: &str = r#"
e(type="hello", name="py")
e(type="register_tool", name="t", schema={"type": "object"})
e(type="register_tool", name="bad", schema={"type": "strng"})
e(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        ANSWER
    if frame["type"] == "shutdown":
        break
"#;

/// zot diagnoses mistakes from the output received so far, instead of waiting for a deadline of 30
/// or 60 seconds.
#[test]
fn mistakes_are_diagnosed_before_the_deadline() {
    let hello = "\"type\": \"hello\", \"name\": \"py\"";
    let cases = [
        (
            format!("print('{{\\n  {hello}\\n}}', flush=True)\nsys.stdin.read()"),
            "run",
            "error: py did not start: `hello` is spread over 3 lines\nhint: write each frame on one line",
        ),
        (
            format!("print('{{{hello}}}')\nsys.stdin.read()"),
            "run",
            "error: py did not start: stdout is block-buffered: output arrived only after stdin was closed\nhint: flush stdout after each frame: print(..., flush=True)",
        ),
        (
            TOOL.replace("ANSWER", "e(type='tool_result', id='nope', content=[])"),
            "call",
            "error: py: the `id` of its `tool_result` does not match the request: `{\"type\": \"tool_result\", \"id\": \"nope\", \"content\": []}`\nhint: copy the `id` of the request (\"1\") as a string",
        ),
        (
            TOOL.replace(
                "ANSWER",
                "print(json.dumps({'type': 'tool_result', 'id': frame['id'], 'content': []}, indent=1), flush=True)",
            ),
            "call",
            "error: py: zot cannot read its response: `tool_result` is spread over 5 lines",
        ),
        (
            TOOL.replace("ANSWER", "e(type='tool_result', id=frame['id'], content=[], isError=True)"),
            "call",
            "[py] unknown field `/isError`\nhint: did you mean `is_error`?",
        ),
        (
            TOOL.replace("ANSWER", "pass"),
            "bad",
            "error: py has no tool `bad`\n  zot refused register_tool: /schema/type: \"strng\" is not \"object\"\nhint: available tools: t",
        ),
    ];
    for (body, action, expected) in cases {
        let world = World::new();
        let dir = python(&world, &body);
        let start = Instant::now();
        let ran = match action {
            "run" => world.zot(&["ext", "run", &dir, "x"]),
            "call" => world.zot(&["ext", "call", &dir, "t", "{}"]),
            tool => world.zot(&["ext", "call", &dir, tool, "{}"]),
        };
        assert!(ran.err.contains(expected), "{expected}\n{}", ran.err);
        println!(
            "{:.1} s: {}",
            start.elapsed().as_secs_f32(),
            expected.lines().next().unwrap_or_default()
        );
        // The shortest deadline is 30 seconds.
        assert!(start.elapsed() < Duration::from_secs(25), "{expected}");
    }
}
