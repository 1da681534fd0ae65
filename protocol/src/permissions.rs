//! The permissions that an extension declares in its manifest and the host enforces.

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

/// What an extension can access. Everything that is not granted here is denied.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Permissions {
    /// File access. The extension's own directory, its `data_dir`, and the system's libraries and
    /// interpreters are always readable. Absent: nothing else.
    #[serde(default, deserialize_with = "or_default")]
    pub fs: FsPermissions,
    /// Network access: `true`, or a list of TCP ports that the extension can connect to. Absent:
    /// none.
    #[serde(default, deserialize_with = "or_default")]
    pub net: Net,
    /// Environment variables passed to the extension, in addition to the basic ones (`PATH`,
    /// `HOME`, `LANG`, …). Absent: none.
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(inner(regex(pattern = pattern::ENV_NAME)))]
    pub env: Vec<String>,
    /// Names of the tools that the extension can call with `call_tool`. They run with the user's
    /// permissions, not the extension's: granting `bash` grants everything the user can do. Absent:
    /// none.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = pattern::TOOL_NAME)))]
    pub tools: Vec<String>,
    /// Events that the extension can rewrite when it intercepts them. Intercepting and blocking
    /// need no permission. Absent: none.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intercept: Vec<InterceptName>,
    /// Whether the extension can submit prompts, with `submit` or with the command action `prompt`.
    /// Absent: false.
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "is_false")]
    pub submit: bool,
}

/// The files that an extension can access. Each path includes everything below it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct FsPermissions {
    /// Paths that the extension can read. A path is absolute or starts with `~`, `$cwd` (the user's
    /// working directory), `$data` (the extension's data directory) or `.` (its own directory), and
    /// must not contain `..`. Absent: none.
    #[serde(default, deserialize_with = "granted_paths")]
    #[schemars(inner(regex(pattern = pattern::GRANTED_PATH)))]
    pub read: Vec<String>,
    /// Paths that the extension can read and write, in the same format. Its data directory is
    /// always included. Absent: none.
    #[serde(default, deserialize_with = "granted_paths")]
    #[schemars(inner(regex(pattern = pattern::GRANTED_PATH)))]
    pub write: Vec<String>,
}

/// Deserialises paths and normalises them.
fn granted_paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let paths: Vec<String> = or_default(deserializer)?;
    let paths = paths.iter().map(|path| {
        normalise(path).ok_or_else(|| de::Error::custom(format!("path contains `..`: {path:?}")))
    });
    paths.collect()
}

/// Removes empty parts, `.` parts and trailing slashes. Returns `None` if the path contains `..`.
fn normalise(path: &str) -> Option<String> {
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

/// An extension's network access.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Net {
    /// No access: `false`, or absent.
    #[default]
    Denied,
    /// Full access: `true`.
    Full,
    /// Outgoing TCP connections to these ports: `[443]`.
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
            _ => Err(de::Error::custom("must be true, false or a list of ports")),
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
