//! The extension side: the code that runs when this binary is started with `--echo` or `--spin`.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// Registers a tool and answers every request, or with `flood` sends notifications as fast as it
/// can.
pub(crate) fn echo(flood: bool) {
    let mut stdout = std::io::stdout().lock();
    let tool = if flood { "flood" } else { "echo" };
    let hello = format!(
        "{}\n{}\n{}\n{}\n",
        json!({"type": "hello", "name": "echo"}),
        json!({"type": "register_tool", "name": tool, "schema": {"type": "object"}}),
        json!({"type": "subscribe", "intercept": ["tool_call"]}),
        json!({"type": "ready"}),
    );
    stdout.write_all(hello.as_bytes()).unwrap();
    if flood {
        let note = json!({"type": "notify", "level": "info", "message": "and another one"});
        let notes = format!("{note}\n").repeat(500);
        // Write until the host closes the pipe.
        while stdout.write_all(notes.as_bytes()).is_ok() {}
        return;
    }
    for line in std::io::stdin().lock().lines() {
        let frame: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let reply = match frame["type"].as_str() {
            Some("tool_call") => {
                json!({"type": "tool_result", "id": frame["id"], "content": [{"type": "text", "text": "ok"}]})
            }
            Some("event_intercept") => {
                json!({"type": "event_intercept_response", "id": frame["id"], "modified_args": {"command": "echo rewritten"}})
            }
            Some("shutdown") => return,
            _ => continue,
        };
        let line = format!("{reply}\n");
        stdout.write_all(line.as_bytes()).unwrap();
    }
}

/// Keeps one core busy until the process is killed.
pub(crate) fn spin() {
    loop {
        std::hint::spin_loop();
    }
}
