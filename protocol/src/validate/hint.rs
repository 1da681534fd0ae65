//! Hints about likely mistakes in the bytes that an extension wrote.
//!
//! The protocol tells a host to ignore unknown frames and fields, so a misspelt `notfy` fails
//! silently. A [`Hint`] names it. A hint is never an error: a later version may define the name.

use std::fmt;

use serde_json::Value;

use super::{
    RefusalKind, Tag, Validated, check_weight, json, nearest::nearest, plain::plain, rules, tag,
};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Maximum number of hints for one line.
const MOST: usize = 16;
/// Maximum length of a quoted name or line, in characters.
const SHOWN_CHARS: usize = 120;
/// Maximum size of a value that is spread over several lines. A larger one is not recognised.
const SPREAD_BYTES: usize = 256 << 10;

/// A likely mistake. It displays as one line without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// The line starts with a byte order mark, which most JSON parsers reject.
    ByteOrderMark,
    /// The line is not JSON. Contains its beginning.
    NotJson(String),
    /// One JSON object is spread over several lines, as a pretty-printer writes it.
    SpreadOverLines {
        /// The number of lines.
        lines: usize,
        /// The `type` of the object, if it has one.
        frame_type: Option<String>,
    },
    /// Output arrived only after standard input was closed, so it was held in a buffer until then.
    BlockBuffered {
        /// The extension's language, in lower case; `""` if unknown.
        language: String,
    },
    /// No frame has this type.
    UnknownType {
        /// The type, truncated if it is long.
        name: String,
        /// A known type with a similar name.
        nearest: Option<&'static str>,
    },
    /// The frame or the manifest has no such field.
    UnknownField {
        /// The field, as a JSON pointer, truncated if it is long.
        pointer: String,
        /// A known field with a similar name in the same object.
        nearest: Option<&'static str>,
    },
}

impl Hint {
    /// Returns whether this is almost certainly a mistake. An unknown name that resembles no known
    /// one may belong to a later version, or be the extension's own.
    pub fn is_mistake(&self) -> bool {
        match self {
            Self::UnknownType { nearest, .. } | Self::UnknownField { nearest, .. } => {
                nearest.is_some()
            }
            _ => true,
        }
    }

    /// Returns advice on how to fix the mistake.
    pub fn fix(&self) -> String {
        match self {
            Self::ByteOrderMark => {
                "write UTF-8 without a byte order mark (in Python `utf-8`, not `utf-8-sig`)"
                    .to_owned()
            }
            Self::NotJson(_) => {
                "stdout is for frames only; write human-readable messages to stderr".to_owned()
            }
            Self::SpreadOverLines { .. } => {
                "write each frame on one line, without indentation (`jq -c`, json.dumps without `indent`, JSON.stringify without `space`)"
                    .to_owned()
            }
            Self::BlockBuffered { language } => flush_advice(language),
            Self::UnknownType { nearest, .. } | Self::UnknownField { nearest, .. } => match nearest
            {
                Some(name) => format!("did you mean `{name}`?"),
                None => "the host ignores it; check the spelling".to_owned(),
            },
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrderMark => formatter.write_str("the line starts with a byte order mark"),
            Self::NotJson(start) => write!(formatter, "not JSON: `{start}`"),
            Self::SpreadOverLines { lines, frame_type } => {
                let kind = match frame_type {
                    Some(kind) => format!("`{kind}`"),
                    None => "a JSON object".to_owned(),
                };
                write!(formatter, "{kind} is spread over {lines} lines")
            }
            Self::BlockBuffered { .. } => formatter
                .write_str("stdout is block-buffered: output arrived only after stdin was closed"),
            Self::UnknownType { name, .. } => write!(formatter, "unknown frame type `{name}`"),
            Self::UnknownField { pointer, .. } => write!(formatter, "unknown field `{pointer}`"),
        }
    }
}

/// Returns how to flush stdout in a language.
pub fn flush_advice(language: &str) -> String {
    let how = match language {
        "python" => {
            "print(..., flush=True), or sys.stdout.flush() after each line, or start the script with `python3 -u`"
        }
        "node" => "process.stdout.write is unbuffered; look for a stream or worker that buffers",
        "bash" => {
            "printf is unbuffered, but filters are not: use `jq --unbuffered`, `sed -u` or `stdbuf -oL`"
        }
        "ruby" => "$stdout.sync = true",
        "perl" => "$| = 1",
        "go" => "Flush() the bufio.Writer after each frame",
        "rust" => "stdout.flush() after each frame",
        _ => "fflush(stdout) or similar after each line",
    };
    format!("flush stdout after each frame: {how}")
}

/// Returns the likely mistakes in one line, without its newline. A line with too many values to be
/// a frame is not examined.
pub fn hints<F: Validated>(line: &[u8]) -> Vec<Hint> {
    let mut hints = Vec::new();
    let text = match line.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => {
            hints.push(Hint::ByteOrderMark);
            text
        }
        None => line,
    };
    if text.trim_ascii().is_empty() || check_weight(text, F::VALUES).is_err() {
        return hints;
    }
    match json::parse(text) {
        Ok(frame) => hints.extend(frame_hints::<F>(&frame)),
        Err(refusal) if refusal.kind == RefusalKind::NotJson => {
            // A character has at most four bytes.
            let start = &text[..text.len().min(4 * SHOWN_CHARS + 4)];
            let start = String::from_utf8_lossy(start);
            hints.push(Hint::NotJson(plain(start.trim(), SHOWN_CHARS)));
        }
        Err(_) => {}
    }
    hints
}

/// Returns the unknown type of a frame that has already been parsed, or its unknown fields at any
/// depth.
pub fn frame_hints<F: Validated>(frame: &Value) -> Vec<Hint> {
    match tag::<F>(frame) {
        Ok(Tag::Unknown(name)) => vec![Hint::UnknownType {
            name: plain(name, SHOWN_CHARS),
            nearest: nearest(name, F::NAMES.iter().copied()),
        }],
        Ok(Tag::Known(index)) => F::rule(index).map_or_else(Vec::new, |rule| unknown(rule, frame)),
        Err(_) => Vec::new(),
    }
}

/// Returns the unknown fields of a manifest, at any depth, or no hints if it is not JSON.
pub fn manifest_hints(bytes: &[u8]) -> Vec<Hint> {
    json::parse_file(bytes).map_or_else(|_| Vec::new(), |value| unknown(rules::MANIFEST, &value))
}

/// Returns the unknown keys of a configuration file, at any depth, or no hints if it is not JSON.
pub fn config_hints(bytes: &[u8]) -> Vec<Hint> {
    json::parse_file(bytes).map_or_else(|_| Vec::new(), |value| unknown(rules::CONFIG, &value))
}

fn unknown(rule: &'static rules::Rule, value: &Value) -> Vec<Hint> {
    let mut hints = Vec::new();
    rule.unknown_fields(value, "", &mut |field| {
        hints.push(Hint::UnknownField {
            nearest: nearest(field.name, field.known),
            pointer: plain(&field.pointer, SHOWN_CHARS),
        });
        hints.len() < MOST
    });
    hints
}

/// Recognises a JSON object that is spread over several lines.
///
/// ```
/// use zot_protocol::validate::SpreadJson;
///
/// let mut spread = SpreadJson::default();
/// assert_eq!(spread.push(b"{"), None);
/// assert_eq!(spread.push(b"  \"type\": \"ready\""), None);
/// let hint = spread.push(b"}").unwrap();
/// assert_eq!(hint.to_string(), "`ready` is spread over 3 lines");
/// ```
#[derive(Debug, Default)]
pub struct SpreadJson {
    text: Vec<u8>,
    lines: usize,
    /// The number of open objects and lists.
    depth: usize,
}

impl SpreadJson {
    /// Returns whether the last line may be part of an object that is not complete yet.
    pub fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// Adds the next line. Returns a hint if it completes an object that an earlier line began.
    pub fn push(&mut self, line: &[u8]) -> Option<Hint> {
        let line = line.trim_ascii();
        let is_inside = self.depth > 0;
        if !is_inside && !line.starts_with(b"{") {
            return None;
        }
        let fits = self.text.len() + line.len() < SPREAD_BYTES;
        let Some(depth) = depth_after(line, self.depth).filter(|_| fits) else {
            *self = Self::default();
            return None;
        };
        if !is_inside && depth == 0 {
            return None;
        }
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.lines += 1;
        self.depth = depth;
        if depth > 0 {
            return None;
        }
        let Self { text, lines, .. } = std::mem::take(self);
        let object = json::parse(&text).ok()?;
        let frame_type = object.get("type").and_then(Value::as_str);
        Some(Hint::SpreadOverLines {
            lines,
            frame_type: frame_type.map(|kind| plain(kind, SHOWN_CHARS)),
        })
    }
}

/// Counts the objects and lists that are open after a line; `None` if the line cannot be part of
/// JSON text.
fn depth_after(line: &[u8], mut depth: usize) -> Option<usize> {
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => loop {
                // A string cannot contain a newline.
                match bytes.next()? {
                    b'\\' => drop(bytes.next()?),
                    b'"' => break,
                    _ => {}
                }
            },
            _ => {}
        }
    }
    Some(depth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FromExtension;

    fn shown(line: &str) -> Vec<String> {
        hints::<FromExtension>(line.as_bytes())
            .iter()
            .map(|hint| format!("{hint}; {}", hint.fix()))
            .collect()
    }

    #[test]
    fn misspelt_names_are_found_at_any_depth() {
        for (line, expected) in [
            (
                r#"{"type":"notfy","level":"info"}"#,
                "unknown frame type `notfy`; did you mean `notify`?",
            ),
            (
                r#"{"type":"notify","level":"info","mesage":"x"}"#,
                "unknown field `/mesage`; did you mean `message`?",
            ),
            (
                r#"{"type":"tool_result","id":"1","content":[{"type":"text","test":"x"}]}"#,
                "unknown field `/content/0/test`; did you mean `text`?",
            ),
            (
                r#"{"type":"command_response","id":"1","action":"open_panel","open_panel":{"id":"p","line":[]}}"#,
                "unknown field `/open_panel/line`; did you mean `lines`?",
            ),
            (
                r#"{"type":"tool_result","id":"1","content":[],"isError":true}"#,
                "unknown field `/isError`; did you mean `is_error`?",
            ),
            (
                r#"{"type":"ready","at":7}"#,
                "unknown field `/at`; the host ignores it; check the spelling",
            ),
        ] {
            assert_eq!(shown(line), [expected], "{line}");
        }
    }

    #[test]
    fn open_values_have_no_unknown_fields() {
        for line in [
            r#"{"type":"register_tool","name":"x","schema":{"type":"object","propertes":{"tpye":{}}}}"#,
            r#"{"type":"register_tool","name":"x","schema":{"type":"object"},"output_schema":{"tpye":1}}"#,
            r#"{"type":"tool_result","id":"1","content":[],"structured_content":{"contnt":1}}"#,
            r#"{"type":"event_intercept_response","id":"1","modified_args":{"blok":true}}"#,
            r#"{"type":"call_tool","id":"1","name":"read","args":{"nam":"x"}}"#,
            "",
            "  ",
            "[1]",
        ] {
            assert_eq!(shown(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn every_example_of_a_schema_has_no_hints() {
        for name in <FromExtension as crate::Tagged>::NAMES {
            let document = crate::schema::of_frame::<FromExtension>(name).unwrap();
            for example in document.schema["examples"].as_array().unwrap() {
                assert_eq!(frame_hints::<FromExtension>(example), [], "{example}");
            }
        }
    }

    #[test]
    fn text_and_byte_order_marks_are_found() {
        assert_eq!(
            hints::<FromExtension>(b"\xef\xbb\xbf{\"type\":\"ready\"}"),
            [Hint::ByteOrderMark]
        );
        let text = Hint::NotJson("loading \u{fffd}[31m…".to_owned());
        assert_eq!(
            hints::<FromExtension>("loading \u{1b}[31m…".as_bytes()),
            [text]
        );
        let long = hints::<FromExtension>("ü".repeat(1 << 20).as_bytes());
        let [Hint::NotJson(start)] = &long[..] else {
            panic!("{long:?}");
        };
        assert_eq!(start.chars().count(), SHOWN_CHARS + 1);
    }

    #[test]
    fn misspelt_fields_of_a_manifest_are_found_below_permissions_too() {
        let manifest = br#"{"name":"x","exec":"y","desciption":"z","timeouts":{"tools_ms":1},
            "permissions":{"fs":{"reed":["."]},"networks":true},"intercept":{"tool_cal":{"on_failur":"block"}}}"#;
        let found: Vec<String> = manifest_hints(manifest)
            .iter()
            .map(|hint| format!("{hint}; {}", hint.fix()))
            .collect();
        assert_eq!(
            found,
            [
                "unknown field `/desciption`; did you mean `description`?",
                "unknown field `/timeouts/tools_ms`; did you mean `tool_ms`?",
                "unknown field `/permissions/fs/reed`; did you mean `read`?",
                "unknown field `/permissions/networks`; the host ignores it; check the spelling",
                "unknown field `/intercept/tool_cal`; did you mean `tool_call`?",
                "unknown field `/intercept/tool_cal/on_failur`; did you mean `on_failure`?",
            ]
        );
    }

    #[test]
    fn the_number_of_hints_is_limited() {
        let fields: Vec<String> = (0..10_000).map(|n| format!("\"x{n}\":1")).collect();
        let line = format!("{{\"type\":\"ready\",{}}}", fields.join(","));
        assert_eq!(hints::<FromExtension>(line.as_bytes()).len(), MOST);
    }

    fn spread(lines: &[&str]) -> Vec<String> {
        let mut spread = SpreadJson::default();
        let found = lines.iter().filter_map(|line| spread.push(line.as_bytes()));
        found.map(|hint| hint.to_string()).collect()
    }

    #[test]
    fn an_object_on_several_lines_is_recognised() {
        let frame = serde_json::json!({"type": "hello", "name": "a\\\"}{", "more": [[], {}]});
        let pretty = serde_json::to_string_pretty(&frame).unwrap();
        let lines: Vec<&str> = pretty.lines().collect();
        let twice = [&["loading"], &lines[..], &lines[..]].concat();
        let hint = format!("`hello` is spread over {} lines", lines.len());
        assert_eq!(spread(&twice), [hint.clone(), hint]);
    }

    #[test]
    fn other_lines_are_not_a_spread_object() {
        for lines in [
            &["{\"type\":\"ready\"}", "{\"a\":{}}"][..],
            &["{", "} extra {", "}"],
            &["{", "\"unclosed: 1", "}"],
            &["{", "}}"],
            &["[", "]"],
            &["{", "not: json", "}"],
        ] {
            assert_eq!(spread(lines), Vec::<String>::new(), "{lines:?}");
        }
        let long = format!("\"{}\": 1,", "x".repeat(SPREAD_BYTES));
        assert_eq!(spread(&["{", &long, "\"a\": 1", "}"]), Vec::<String>::new());
    }
}
