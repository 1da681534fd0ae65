//! Plays a transcript, as far as those of new extensions go.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::Stdio,
};

use serde_json::{Value, json};
use zot_conform::transcript::{Bindings, Verb, parse};

use crate::support::World;

pub(super) fn play(world: &World, dir: &Path, transcript: &Path) {
    let manifest = fs::read(dir.join("extension.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let exec = manifest["exec"].as_str().expect("a program");
    let program = if exec.contains('/') {
        dir.join(exec)
    } else {
        exec.into()
    };
    let args = manifest["args"].as_array().cloned().unwrap_or_default();
    let mut child = world
        .command(program)
        .args(args.iter().filter_map(Value::as_str))
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take();
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut hear = || -> Value {
        let line = lines.next().expect("a frame").expect("a text");
        serde_json::from_str(&line).expect("JSON")
    };
    let mut bindings = Bindings::default();
    let transcript = parse(&fs::read_to_string(transcript).expect("a file")).expect("a transcript");
    for step in transcript.steps {
        let mut say = |frame: &Value| {
            let stdin = stdin.as_mut().expect("open");
            writeln!(stdin, "{frame}").expect("written");
        };
        match step.verb {
            Verb::UseHandshake => {
                say(
                    &json!({"type": "hello_ack", "protocol_version": 1, "zot_version": "0",
                    "provider": "none", "model": "none", "cwd": "/"}),
                );
                while hear()["type"] != "ready" {}
            }
            Verb::Send(template) => say(&template.fill(&mut bindings).expect("filled")),
            Verb::Expect(expect) => {
                let frame = hear();
                let matched = expect.frame.matches(&frame, &mut bindings);
                matched.unwrap_or_else(|why| panic!("line {}: {why}\n{frame}", step.line));
            }
            Verb::CloseStdin => stdin = None,
            Verb::Exit { how, .. } => {
                let code = child.wait().expect("it ends").code();
                let matched = how.matches(&json!({ "code": code }), &mut bindings);
                matched.unwrap_or_else(|why| panic!("line {}: {why}", step.line));
            }
            other => panic!("line {}: {other:?} is not played here", step.line),
        }
    }
}
