//! What an extension says it needs, and is held to.

use derive_new::new;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::{
    InterceptName,
    absent::{is_false, or_default},
    integer::integer,
    pattern,
};

/// What an extension may touch. Whatever is not granted here is denied.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Permissions {
    /// Files. Its own directory, its `data_dir`, and the system's libraries and interpreters can always be read.
    /// Absent: nothing beyond that.
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<FsPermissions>")]
    pub fs: FsPermissions,
    /// The network: `true`, or a list of TCP ports that it may connect to. Absent: none.
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<Net>")]
    pub net: Net,
    /// Environment variables it gets besides what every program needs (`PATH`, `HOME`, `LANG`, …). Absent: none.
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(schema_with = "env_names")]
    pub env: Vec<String>,
    /// Tools it may call with `call_tool`, by name. They run with the user's rights, not the extension's: `bash` is
    /// everything the user can do. Absent: none.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(schema_with = "tool_names")]
    pub tools: Vec<String>,
    /// Events it may rewrite when it intercepts them. Asking to be asked, and blocking, need no permission. Absent: none.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<InterceptName>>")]
    pub intercept: Vec<InterceptName>,
    /// Whether it may submit prompts: with `submit`, and by answering a command with `prompt`. Absent: false.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
    )]
    #[schemars(with = "Option<bool>")]
    pub submit: bool,
}

/// Which files an extension may touch: each path stands for itself and all that is below it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct FsPermissions {
    /// Paths it may read: absolute, or beginning with `~`, `$cwd` (where the user works), `$data` (its data
    /// directory) or `.` (its own directory), without `..`. Absent: none.
    #[serde(default, deserialize_with = "granted_paths")]
    #[schemars(schema_with = "paths")]
    pub read: Vec<String>,
    /// Paths it may read and write, in the same form. Its data directory always belongs to them. Absent: none.
    #[serde(default, deserialize_with = "granted_paths")]
    #[schemars(schema_with = "paths")]
    pub write: Vec<String>,
}

/// Paths in the form in which they are granted and shown.
fn granted_paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let paths: Vec<String> = or_default(deserializer)?;
    let plain = paths.iter().map(|path| {
        plain(path).ok_or_else(|| de::Error::custom(format!("`..` in the path {path:?}")))
    });
    plain.collect()
}

/// Without parts that mean nothing: `//`, `/./` and a `/` at the end. `None` with a part `..`.
fn plain(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    if parts.contains(&"..") {
        return None;
    }
    let mut first = true;
    parts.retain(|part| std::mem::take(&mut first) || !matches!(*part, "" | "."));
    Some(match parts[..] {
        [""] if path.starts_with('/') => "/".to_owned(),
        _ => parts.join("/"),
    })
}

fn paths(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": ["array", "null"],
        "items": { "type": "string", "pattern": pattern::GRANTED_PATH },
    })
}

fn env_names(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": ["array", "null"],
        "items": { "type": "string", "pattern": pattern::ENV_NAME },
    })
}

fn tool_names(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": ["array", "null"],
        "items": { "type": "string", "pattern": pattern::TOOL_NAME },
    })
}

/// Which of the network an extension may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Net {
    /// None of it: `false`, or absent.
    #[default]
    Denied,
    /// All of it: `true`.
    Full,
    /// Outgoing TCP to these ports: `[443]`.
    Ports(Vec<u16>),
}

impl Serialize for Net {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Denied => serializer.serialize_bool(false),
            Self::Full => serializer.serialize_bool(true),
            Self::Ports(ports) => ports.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Net {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(false) => Ok(Self::Denied),
            Value::Bool(true) => Ok(Self::Full),
            Value::Array(ports) => {
                let ports: Result<_, _> = ports.into_iter().map(integer).collect();
                ports.map(Self::Ports).map_err(de::Error::custom)
            }
            _ => Err(de::Error::custom(
                "neither true or false nor a list of ports",
            )),
        }
    }
}

impl JsonSchema for Net {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Net".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": ["boolean", "array"],
            "items": { "type": "integer", "minimum": 1, "maximum": 65535 },
        })
    }
}
