//! An extension that sends random nonsense, determined by a seed: `babbler SEED`.
//!
//! It behaves like a correct extension, except that the seed determines how many of its frames are
//! replaced by random bytes, random frames or mutated copies. `tests/it/fuzz.rs` runs it. It is
//! written in Rust to start quickly, because the test starts it very often.

use std::{
    io::{BufRead, Write, stdin, stdout},
    process::exit,
    time::Duration,
};

use rand_core::{Rng as _, SeedableRng as _};
use rand_xorshift::XorShiftRng;
use serde_json::{Value, json};
use zot_protocol::{FromExtension, Tagged};

const FIELDS: [&str; 22] = [
    "id",
    "name",
    "action",
    "display",
    "prompt",
    "insert",
    "error",
    "content",
    "is_error",
    "level",
    "message",
    "text",
    "block",
    "reason",
    "modified_args",
    "replace_text",
    "panel",
    "open_panel",
    "panel_id",
    "lines",
    "schema",
    "events",
];
const STRINGS: [&str; 10] = [
    "",
    "babbler",
    "text",
    "image",
    "\u{1b}[2J\u{202e}\u{0}",
    "🌧 \u{2028}",
    "/../../etc",
    "</script>]]>",
    "tool_call",
    "p1",
];
/// Schemas for an additional tool. The last ones are invalid or unsatisfiable.
const SCHEMAS: [&str; 8] = [
    r#"{"type":"object"}"#,
    r#"{"type":"object","properties":{"a":{"type":"string","pattern":"^(x+y)*[0-9]{3,9}$"}},"required":["a"]}"#,
    r##"{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}"##,
    r#"{"type":"object","properties":{"n":{"type":"integer","minimum":9e15,"multipleOf":7}},"required":["n"]}"#,
    r#"{"oneOf":[{"required":["a"]},{"required":["b"]}],"not":{"required":["a"]}}"#,
    r#"{"type":"object","properties":{"a":{"enum":[]}},"required":["a"]}"#,
    r#"{"type":"sting"}"#,
    r#"{"type":"object","minProperties":9,"additionalProperties":false}"#,
];

/// How a frame is corrupted.
#[derive(Clone, Copy)]
enum Corruption {
    Bytes,
    Frames,
    Mutations,
}

struct Babbler {
    rng: XorShiftRng,
    corruption: Corruption,
    /// On average, one in `rate` frames is corrupted.
    rate: usize,
    /// The id of the last request.
    last: String,
}

fn main() {
    let seed = std::env::args().nth(1).and_then(|it| it.parse().ok());
    let mut rng = XorShiftRng::seed_from_u64(seed.unwrap_or(0));
    let mut babbler = Babbler {
        corruption: [Corruption::Bytes, Corruption::Frames, Corruption::Mutations]
            [below(&mut rng, 3)],
        // The handshake is usually correct, so that the later checks run.
        rate: [usize::MAX, usize::MAX, usize::MAX, 4][below(&mut rng, 4)],
        last: String::new(),
        rng,
    };
    babbler.register();
    babbler.rate = [1, 2, 6, 20][babbler.below(4)];
    let stays = babbler.below(10) == 0;
    for line in stdin().lock().split(b'\n').map_while(Result::ok) {
        let frame = serde_json::from_slice(&line).unwrap_or_default();
        babbler.answer(&frame);
        if frame["type"] == "shutdown" && !stays {
            return;
        }
    }
    if stays {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn below(rng: &mut XorShiftRng, count: usize) -> usize {
    usize::try_from(rng.next_u64() % count as u64).unwrap_or(0)
}

impl Babbler {
    fn below(&mut self, count: usize) -> usize {
        below(&mut self.rng, count)
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn register(&mut self) {
        self.say(&json!({"type": "hello", "name": "babbler", "capabilities": ["commands", "tools", "events", "panels"]}));
        for name in ["greet", "board"] {
            self.say(&json!({"type": "register_command", "name": name}));
        }
        let schema = self.pick(&SCHEMAS);
        for (name, schema) in [("look", SCHEMAS[0]), ("odd", schema)] {
            let schema: Value = serde_json::from_str(schema).expect("JSON");
            self.say(&json!({"type": "register_tool", "name": name, "schema": schema}));
        }
        let events = json!([
            "session_start",
            "user_message",
            "turn_start",
            "tool_call",
            "tool_result",
            "turn_end"
        ]);
        let intercept = json!([
            "tool_call",
            "assistant_message",
            "user_message",
            "tool_result",
            "before_agent_start"
        ]);
        self.say(&json!({"type": "subscribe", "events": events, "intercept": intercept}));
        self.say(&json!({"type": "ready"}));
    }

    fn answer(&mut self, asked: &Value) {
        let id = asked["id"].clone();
        if let Some(id) = id.as_str() {
            id.clone_into(&mut self.last);
        }
        let panel = json!({"id": "p1", "title": "board", "lines": ["one"]});
        match asked["type"].as_str().unwrap_or_default() {
            "command_invoked" if asked["name"] == "board" => {
                self.say(&json!({"type": "command_response", "id": id, "action": "open_panel", "open_panel": panel}));
            }
            "command_invoked" => {
                self.say(&json!({"type": "command_response", "id": id, "action": "display", "display": "hello"}));
            }
            "tool_call" => {
                let content = json!([{"type": "text", "text": "seen"}, {"type": "image", "mime_type": "image/png", "data": "AAAA"}]);
                self.say(&json!({"type": "tool_result", "id": id, "content": content}));
            }
            "event_intercept" => self.say(&json!({"type": "event_intercept_response", "id": id})),
            "panel_key" => {
                self.say(&json!({"type": "panel_render", "panel_id": "p1", "lines": ["two"]}));
            }
            "event" => self.say(&json!({"type": "notify", "level": "info", "message": "seen"})),
            "shutdown" => self.say(&json!({"type": "shutdown_ack"})),
            _ => {}
        }
    }

    fn say(&mut self, frame: &Value) {
        let mut line = frame.to_string().into_bytes();
        if self.below(self.rate) == 0 {
            match self.corruption {
                Corruption::Bytes => line = self.bytes(),
                Corruption::Frames => line = self.frame().to_string().into_bytes(),
                Corruption::Mutations => line = self.changed(frame),
            }
            match self.below(60) {
                0 => exit(3),
                1 => return,
                2 => std::thread::sleep(Duration::from_millis(30)),
                3 => eprintln!("Traceback (most recent call last):\n  \u{1b}[31mbabble"),
                _ => {}
            }
        }
        line.push(b'\n');
        let mut stdout = stdout().lock();
        // The harness may have closed the pipe.
        if stdout
            .write_all(&line)
            .and_then(|()| stdout.flush())
            .is_err()
        {
            exit(0);
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let most = self.pick(&[8, 200, 200, 70_000]);
        let length = self.below(most);
        (0..length)
            .map(|_| self.rng.next_u64().to_le_bytes()[0])
            .collect()
    }

    fn frame(&mut self) -> Value {
        let types = [FromExtension::NAMES, &["no_such_type", ""]].concat();
        let mut frame = json!({"type": self.pick(&types)});
        for _ in 0..self.below(6) {
            let field = self.pick(&FIELDS);
            frame[field] = if field == "id" && self.below(2) == 0 {
                self.last.clone().into()
            } else {
                self.value(3)
            };
        }
        frame
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => true.into(),
            2 => self.rng.next_u64().into(),
            3 => (-1.5e300).into(),
            4 => "x".repeat(self.below(5_000)).into(),
            5 => self.pick(&STRINGS).into(),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            7 => json!([{"type": self.pick(&STRINGS), "text": self.value(depth - 1)}]),
            _ => json!({self.pick(&FIELDS): self.value(depth - 1)}),
        }
    }

    /// Changes a field or a byte of a frame.
    fn changed(&mut self, frame: &Value) -> Vec<u8> {
        let mut frame = frame.clone();
        if self.below(2) == 0 {
            self.change(&mut frame);
            return frame.to_string().into_bytes();
        }
        let mut line = frame.to_string().into_bytes();
        let at = self.below(line.len());
        match self.below(6) {
            0 => line[at] ^= 1 << self.below(8),
            1 => line.truncate(at),
            2 => line.insert(at, b'\n'),
            3 => line.extend(line.clone()),
            4 => line.extend([b"\n".as_slice(), &line.clone()].concat()),
            _ => line = [b"[".repeat(50_000), line].concat(),
        }
        line
    }

    fn change(&mut self, value: &mut Value) {
        match value {
            Value::Object(object) if !object.is_empty() && self.below(4) > 0 => {
                let keys: Vec<String> = object.keys().cloned().collect();
                let key = self.pick(&keys);
                match self.below(3) {
                    0 => drop(object.remove(&key)),
                    _ => self.change(object.entry(key).or_insert(Value::Null)),
                }
            }
            Value::Array(list) if !list.is_empty() && self.below(4) > 0 => {
                let at = self.below(list.len());
                self.change(&mut list[at]);
            }
            other => *other = self.value(3),
        }
    }
}
