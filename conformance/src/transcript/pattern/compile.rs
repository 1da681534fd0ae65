//! Compiles patterns and templates.

use regex::Regex;
use serde_json::{Map, Value};
use zot_protocol::validate::ToolSchema;

use super::{PatternError, PatternNode};
use crate::transcript::{
    equal::shown, fill::Fill, names, nearest::did_you_mean, pointer::Path, wildcard::WILDCARD,
};

/// All matchers. Those in [`SENT`] are also allowed in a template.
const MATCHERS: [&str; 13] = [
    "$any",
    "$type",
    "$re",
    "$oneOf",
    "$absent",
    "$contains",
    "$schema",
    "$lit",
    "$exact",
    "$fill",
    "$ref",
    "$cap",
    "$new",
];
const SENT: [&str; 4] = ["$new", "$ref", "$fill", "$lit"];

/// The types that `$type` supports.
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Sent,
    Expected,
}

impl PatternNode {
    pub(super) fn compile(source: &Value, side: Side) -> Result<Self, PatternError> {
        let compiler = Compiler { side };
        compiler.node(source, &Path::Root, Absence::Pointless)
    }
}

/// Whether the value may be missing. Array items and the root cannot be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absence {
    Possible,
    Pointless,
}

struct Compiler {
    side: Side,
}

type Compiled = Result<PatternNode, PatternError>;

impl Compiler {
    fn node(&self, source: &Value, at: &Path, absence: Absence) -> Compiled {
        match source {
            Value::String(text) if text.contains(WILDCARD) => match self.side {
                Side::Expected => Ok(PatternNode::Wildcard(text.clone())),
                Side::Sent => Err(PatternError::new(
                    at,
                    "`[..]` is a matcher; matchers are not allowed in a `send` frame; for the literal text, use `$lit`",
                )),
            },
            Value::Object(object) => self.object(object, at, absence),
            Value::Array(list) => Ok(PatternNode::List(self.nodes(
                list,
                at,
                Absence::Pointless,
            )?)),
            plain => Ok(PatternNode::Plain(plain.clone())),
        }
    }

    fn nodes(
        &self,
        list: &[Value],
        at: &Path,
        absence: Absence,
    ) -> Result<Vec<PatternNode>, PatternError> {
        let nodes = list.iter().enumerate();
        nodes
            .map(|(index, item)| self.node(item, &Path::Item(at, index), absence))
            .collect()
    }

    fn object(&self, object: &Map<String, Value>, at: &Path, absence: Absence) -> Compiled {
        for key in object.keys().filter(|key| is_matcher(key)) {
            self.admit(key, at)?;
        }
        let matcher = object.keys().find(|key| is_matcher(key));
        match matcher.map(String::as_str) {
            None | Some("$exact") => self.fields(object, at),
            Some(matcher) => {
                let beside =
                    |key: &&String| *key != matcher && !(matcher == "$cap" && key.as_str() == "as");
                if let Some(other) = object.keys().find(beside) {
                    return Err(not_alone(matcher, other, at));
                }
                self.matcher(matcher, object, at, absence)
            }
        }
    }

    fn admit(&self, key: &str, at: &Path) -> Result<(), PatternError> {
        let why = if !MATCHERS.contains(&key) {
            let hint = match did_you_mean(key, MATCHERS) {
                none if none.is_empty() => {
                    format!("; for a field named `{key}`, write `${key}`")
                }
                hint => hint,
            };
            format!("unknown matcher `{key}`{hint}")
        } else if self.side == Side::Sent && !SENT.contains(&key) {
            format!("`{key}` is a matcher; matchers are not allowed in a `send` frame")
        } else if self.side == Side::Expected && key == "$new" {
            "`$new` is only allowed in a `send` frame; to capture an extension's id, use `$cap`"
                .to_owned()
        } else {
            return Ok(());
        };
        Err(PatternError::new(at, why))
    }

    fn fields(&self, object: &Map<String, Value>, at: &Path) -> Compiled {
        let mut exact = false;
        let mut fields = Vec::with_capacity(object.len());
        for (key, value) in object {
            if key == "$exact" {
                only_true(key, value, at)?;
                exact = true;
            } else if is_matcher(key) {
                return Err(not_alone(key, "$exact", at));
            } else {
                let node = self.node(value, &Path::Key(at, key), Absence::Possible)?;
                fields.push((unescaped(key).to_owned(), node));
            }
        }
        Ok(PatternNode::Object { fields, exact })
    }

    fn matcher(
        &self,
        matcher: &str,
        object: &Map<String, Value>,
        parent: &Path,
        absence: Absence,
    ) -> Compiled {
        let at = &Path::Key(parent, matcher);
        let value = &object[matcher];
        match matcher {
            "$any" => only_true(matcher, value, at).map(|()| PatternNode::Any),
            "$absent" if absence == Absence::Pointless => Err(PatternError::new(
                at,
                "`$absent` is only allowed for object fields",
            )),
            "$absent" => only_true(matcher, value, at).map(|()| PatternNode::Absent),
            "$type" => json_type(text(value, at)?, at),
            "$re" => Regex::new(text(value, at)?)
                .map(PatternNode::Regex)
                .map_err(|error| PatternError::new(at, one_line(&error))),
            "$oneOf" => match self.nodes(list(value, at)?, at, absence)? {
                nodes if nodes.is_empty() => Err(PatternError::new(
                    at,
                    "`$oneOf` is empty, so nothing matches it",
                )),
                nodes => Ok(PatternNode::OneOf(nodes)),
            },
            "$contains" => {
                let nodes = self.nodes(list(value, at)?, at, Absence::Pointless)?;
                Ok(PatternNode::Contains(nodes))
            }
            "$schema" => {
                let Value::Object(schema) = value else {
                    return Err(wrong(value, "a schema object", at));
                };
                ToolSchema::compile(schema)
                    .map(|checker| PatternNode::Schema {
                        checker: Box::new(checker),
                        source: schema.clone(),
                    })
                    .map_err(|fault| PatternError::new(at, fault.to_string()))
            }
            "$lit" => Ok(PatternNode::Literal(value.clone())),
            "$fill" => Fill::parse(text(value, at)?)
                .map(PatternNode::Fill)
                .map_err(|why| PatternError::new(at, why)),
            "$new" => Ok(PatternNode::New(name(value, at)?)),
            "$ref" => Ok(PatternNode::Ref(name(value, at)?)),
            "$cap" => {
                let fits = match object.get("as") {
                    Some(fits) => {
                        let at = Path::Key(parent, "as");
                        Some(Box::new(self.node(fits, &at, Absence::Pointless)?))
                    }
                    None => None,
                };
                let name = name(value, at)?;
                Ok(PatternNode::Capture { name, fits })
            }
            other => Err(PatternError::new(at, format!("unknown matcher `{other}`"))),
        }
    }
}

/// Reports whether a key is a matcher: it starts with one dollar sign, not two.
pub(in crate::transcript) fn is_matcher(key: &str) -> bool {
    key.starts_with('$') && !key.starts_with("$$")
}

/// Returns the field name for a key in a pattern.
pub(in crate::transcript) fn unescaped(key: &str) -> &str {
    match key.strip_prefix('$') {
        Some(rest) if rest.starts_with('$') => rest,
        _ => key,
    }
}

fn not_alone(matcher: &str, other: &str, at: &Path) -> PatternError {
    let why = format!(
        "`{matcher}` must be the only key, but `{other}` is next to it; for a field named `{matcher}`, write `${matcher}`"
    );
    PatternError::new(at, why)
}

fn json_type(name: &str, at: &Path) -> Compiled {
    match TYPES.into_iter().find(|known| *known == name) {
        Some(name) => Ok(PatternNode::Type(name)),
        None => {
            let hint = did_you_mean(name, TYPES);
            let why = format!("unknown type `{name}`{hint}");
            Err(PatternError::new(at, why))
        }
    }
}

fn only_true(key: &str, value: &Value, at: &Path) -> Result<(), PatternError> {
    if *value == Value::Bool(true) {
        return Ok(());
    }
    let why = format!("`{key}` must be `true` or omitted, not {}", shown(value));
    Err(PatternError::new(at, why))
}

fn text<'a>(value: &'a Value, at: &Path) -> Result<&'a str, PatternError> {
    value.as_str().ok_or_else(|| wrong(value, "a string", at))
}

fn list<'a>(value: &'a Value, at: &Path) -> Result<&'a [Value], PatternError> {
    match value {
        Value::Array(list) => Ok(list),
        _ => Err(wrong(value, "an array", at)),
    }
}

fn name(value: &Value, at: &Path) -> Result<String, PatternError> {
    let name = text(value, at)?;
    if names::is_name(name) {
        return Ok(name.to_owned());
    }
    Err(wrong(
        value,
        "a name of 1 to 64 letters, digits, _ or -",
        at,
    ))
}

fn wrong(value: &Value, expected: &str, at: &Path) -> PatternError {
    PatternError::new(at, format!("{} is not {expected}", shown(value)))
}

/// Formats a regex error on one line. Its text has several lines, and the last one is the reason.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    format!(
        "invalid regular expression: {}",
        last.trim_start_matches("error: ")
    )
}
