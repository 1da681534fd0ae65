//! An extension with misbehaving handlers, for tests against a real process.

use std::{
    process::{Command, ExitCode},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use zot_sdk::{
    Decision, Extension, NoArgs, NoteLevel, Object, PanelEvent, Reply, ToolOutput, event,
};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The text to return.
    text: String,
    /// Delay before answering, in milliseconds.
    #[serde(default)]
    ms: u64,
}

/// Blocks forever and ignores cancellation.
fn hang() -> ! {
    loop {
        thread::park();
    }
}

fn main() -> ExitCode {
    let typed = Arc::new(Mutex::new(String::new()));
    let same = Arc::clone(&typed);
    Extension::new("probe", "1.0.0")
        .command("typed", "what was typed in the panel", move |_, _| {
            Reply::display(same.lock().expect("not poisoned").clone())
        })
        .command("panic", "panics", |_, _| -> Reply {
            panic!("command panic")
        })
        .command("fail", "fails", |_, _| Err::<Reply, _>("command failed"))
        .command("print", "prints", |_, _| println!("{{\"type\":\"ready\"}}"))
        .tool("echo", "repeats the text", |args: Echo, _| {
            thread::sleep(Duration::from_millis(args.ms));
            args.text
        })
        .tool("later", "repeats the text", async |args: Echo, ctx| {
            thread::sleep(Duration::from_millis(args.ms));
            ctx.progress("almost done");
            args.text
        })
        .tool("panic", "panics", |_: NoArgs, _| -> ToolOutput {
            panic!("{} of 3", 2)
        })
        .tool(
            "panic_later",
            "panics in its future",
            async |_: NoArgs, _| {
                std::future::ready(()).await;
                let missing = std::env::var("NO_SUCH_VARIABLE").ok();
                missing.expect("NO_SUCH_VARIABLE is not set")
            },
        )
        .tool("fail", "fails", |_: NoArgs, _| {
            std::fs::read_to_string("/no/such/file")
        })
        .tool(
            "huge",
            "returns more than the frame limit",
            |_: NoArgs, _| "x".repeat(5 << 20),
        )
        .tool("hang", "never answers", |_: NoArgs, _| -> ToolOutput {
            hang()
        })
        .tool(
            "patient",
            "returns when it is cancelled",
            async |_: NoArgs, ctx| {
                ctx.cancelled().await;
                ToolOutput::error("cancelled")
            },
        )
        .tool("print", "prints", |_: NoArgs, _| {
            print!("half a line");
            println!(" and the rest\n{{\"type\":\"shutdown_ack\"}}");
            "printed"
        })
        .tool(
            "child",
            "starts a child that prints and reads",
            |_: NoArgs, _| {
                // The child inherits everything it can.
                let script = "echo noise; cat; ls /proc/self/fd | wc -l >&2";
                Command::new("sh")
                    .args(["-c", script])
                    .status()
                    .map(|it| it.to_string())
            },
        )
        .tool("call", "calls another tool", |_: NoArgs, ctx| {
            ctx.call_tool("other", Object::new()).wait()
        })
        .panel("keys", move |event, _| {
            if let PanelEvent::Text(text) = event {
                typed.lock().expect("not poisoned").push_str(&text);
            }
        })
        .on(event::TURN_END, |end, ctx| {
            ctx.notify(NoteLevel::Info, end.stop.to_string());
        })
        .on(event::TURN_START, |turn, _| -> Result<(), String> {
            assert_ne!(turn.step, 13, "unexpected step");
            Err("a handler's error".into())
        })
        .intercept_tool_call(|call, _| match call.tool_name.as_str() {
            "panic" => panic!("guard panic"),
            "fail" => Err("guard failed"),
            "bash" => Ok(Decision::block("no shells")),
            _ => Ok(Decision::allow()),
        })
        .run()
}
