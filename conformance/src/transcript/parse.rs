//! Parses a transcript, or reports which line is invalid and why.

mod fields;
mod head;

use serde_json::Value;
use zot_protocol::validate::strict_json;

use self::fields::Fields;
use super::{
    Expect, Pattern, Signal, Step, Template, Transcript, Verb,
    equal::shown,
    names::{Names, unused_split},
    nearest::did_you_mean,
};

/// A transcript does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ParseError {
    /// The line number, from 1.
    pub line: usize,
    /// The reason, on one line.
    pub why: String,
}

/// All verbs.
const VERBS: [&str; 14] = [
    "send",
    "expect",
    "unordered",
    "use",
    "wait",
    "quiet",
    "raw",
    "split",
    "stall_stdout",
    "close_stdin",
    "signal",
    "exit",
    "stderr",
    "#",
];

/// Parses a transcript.
pub fn parse(text: &str) -> Result<Transcript, ParseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty());
    let at = |line| move |why| ParseError { line, why };
    let Some((line, first)) = lines.next() else {
        return Err(at(1)(
            "the file is empty; a transcript starts with {\"zt\":1}".to_owned(),
        ));
    };
    let head = fields(first).and_then(head::head).map_err(at(line))?;
    let mut steps = Vec::new();
    for (line, text) in lines {
        let verb = fields(text).and_then(verb).map_err(at(line))?;
        steps.push(Step { line, verb });
    }
    let mut names = Names::default();
    for step in &steps {
        names.admit(step).map_err(at(step.line))?;
    }
    if let Some(index) = unused_split(&steps) {
        let why =
            "nothing to split: no `send` or `raw` before the next `split` or the end of the file";
        return Err(at(steps[index].line)(why.to_owned()));
    }
    Ok(Transcript { head, steps })
}

fn fields(line: &str) -> Result<Fields, String> {
    match line_value(line)? {
        Value::Object(object) => Ok(Fields::new(object)),
        other => Err(format!("{} is not an object", shown(&other))),
    }
}

/// Parses one line of JSON. Duplicate keys are an error.
pub(super) fn line_value(line: &str) -> Result<Value, String> {
    strict_json(line.as_bytes()).map_err(|refusal| {
        if refusal.pointer.is_empty() {
            refusal.reason
        } else {
            format!("{}: {}", refusal.pointer, refusal.reason)
        }
    })
}

fn verb(mut fields: Fields) -> Result<Verb, String> {
    let name = fields.verb()?.to_owned();
    let verb = match name.as_str() {
        "send" => Verb::Send(template(fields.take_object("send")?)?),
        "expect" => Verb::Expect(Expect {
            frame: pattern(fields.take_object("expect")?)?,
            within: fields.duration("within")?,
            optional: fields.flag("optional")?,
        }),
        "unordered" => Verb::Unordered {
            expects: unordered(fields.take_list("unordered")?)?,
            within: fields.duration("within")?,
        },
        "use" => match fields.take_text("use")?.as_str() {
            "handshake" => Verb::UseHandshake,
            other => {
                let hint = did_you_mean(other, ["handshake"]);
                return Err(format!("unknown `use` value `{other}`{hint}"));
            }
        },
        "wait" => Verb::Wait(fields.take_duration("wait")?),
        "quiet" => Verb::Quiet(fields.take_duration("quiet")?),
        "raw" => Verb::Raw(fields.take_text("raw")?),
        "split" => Verb::Split(split(&fields.take_list("split")?)?),
        "stall_stdout" => Verb::StallStdout(fields.take_duration("stall_stdout")?),
        "close_stdin" if fields.flag("close_stdin")? => Verb::CloseStdin,
        "close_stdin" => {
            return Err(
                "`close_stdin` must be `true`; to keep stdin open, remove the line".to_owned(),
            );
        }
        "signal" => signal(&fields.take_text("signal")?)?,
        "exit" => Verb::Exit {
            how: exit(fields.take_object("exit")?)?,
            within: fields.duration("within")?,
        },
        "stderr" => Verb::Stderr {
            line: stderr(fields.take("stderr"))?,
            within: fields.duration("within")?,
        },
        "#" => Verb::Comment(fields.take_text("#")?),
        "zt" => return Err("second header: `zt` belongs on the first line".to_owned()),
        other => {
            let hint = did_you_mean(other, VERBS);
            return Err(format!("unknown verb `{other}`{hint}"));
        }
    };
    fields.finish(&format!("`{name}`"))?;
    Ok(verb)
}

fn pattern(source: Value) -> Result<Pattern, String> {
    Pattern::new(source).map_err(|error| error.to_string())
}

fn template(source: Value) -> Result<Template, String> {
    Template::new(source).map_err(|error| error.to_string())
}

fn unordered(items: Vec<Value>) -> Result<Vec<Expect>, String> {
    if items.is_empty() {
        return Err("`unordered` is empty".to_owned());
    }
    let items = items.into_iter().enumerate();
    items
        .map(|(index, item)| {
            expected_item(item).map_err(|why| format!("/unordered/{index}: {why}"))
        })
        .collect()
}

fn expected_item(item: Value) -> Result<Expect, String> {
    let Value::Object(object) = item else {
        return Err(format!("{} is not a frame", shown(&item)));
    };
    let first = object.keys().next().map_or("", String::as_str);
    if first == "expect" {
        let mut fields = Fields::new(object);
        let expect = Expect {
            frame: pattern(fields.take_object("expect")?)?,
            within: None,
            optional: fields.flag("optional")?,
        };
        fields.finish("`expect` in `unordered`")?;
        return Ok(expect);
    }
    if first.starts_with('$') || object.contains_key("type") {
        return pattern(object.into()).map(Expect::from);
    }
    let hint = did_you_mean(first, ["expect", "type"]);
    Err(format!(
        "expected a frame with a `type` or an `expect`{hint}"
    ))
}

fn split(pieces: &[Value]) -> Result<Vec<usize>, String> {
    let pieces: Option<Vec<usize>> = pieces
        .iter()
        .map(|piece| {
            usize::try_from(piece.as_u64()?)
                .ok()
                .filter(|piece| *piece > 0)
        })
        .collect();
    match pieces {
        Some(pieces) if !pieces.is_empty() => Ok(pieces),
        _ => Err("`split` must be an array of lengths in bytes, each at least 1".to_owned()),
    }
}

fn signal(name: &str) -> Result<Verb, String> {
    match Signal::ALL.into_iter().find(|known| known.name == name) {
        Some(signal) => Ok(Verb::Signal(signal)),
        None => {
            let bare = name.strip_prefix("SIG").unwrap_or(name);
            let hint = did_you_mean(bare, Signal::ALL.map(|known| known.name));
            Err(format!("unknown signal `{name}`{hint}"))
        }
    }
}

fn exit(how: Value) -> Result<Pattern, String> {
    const KEYS: [&str; 2] = ["code", "signal"];
    let keys = how.as_object().into_iter().flat_map(serde_json::Map::keys);
    for key in keys {
        if !key.starts_with('$') && !KEYS.contains(&key.as_str()) && key != "as" {
            let hint = did_you_mean(key, KEYS);
            return Err(format!("unknown key `{key}` in `exit`{hint}"));
        }
    }
    pattern(how)
}

fn stderr(line: Value) -> Result<Pattern, String> {
    match line {
        Value::String(_) | Value::Object(_) => pattern(line),
        other => Err(format!(
            "`stderr` must be a string or a matcher, not {}",
            shown(&other)
        )),
    }
}
