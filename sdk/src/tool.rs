//! Tool registration: name, options, and the schema of the arguments.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use zot_protocol::Object;

/// A tool's name and options. A plain string is a name without options.
///
/// ```
/// use zot_sdk::{Extension, NoArgs, ToolOptions, ToolOutput, schemars::JsonSchema, serde::Serialize};
///
/// #[derive(Serialize, JsonSchema)]
/// # #[serde(crate = "zot_sdk::serde")]
/// # #[schemars(crate = "zot_sdk::schemars")]
/// struct Sum {
///     total: u64,
/// }
///
/// let extension = Extension::new("adder", "1.0.0")
///     .tool(ToolOptions::new("sum").returns::<Sum>(), "adds up", |_: NoArgs, _| {
///         ToolOutput::structured(&Sum { total: 3 })
///     })
///     .tool(ToolOptions::new("ask").interactive().strict(), "asks the user", |_: NoArgs, _| "yes");
/// # let host = zot_sdk::testing::TestHost::start(extension);
/// # assert_eq!(host.tool("sum", "{}").structured_content.clone().unwrap()["total"], 3);
/// # let tools = host.tools();
/// # assert_eq!(tools[0].output_schema.as_ref().unwrap()["required"][0], "total");
/// # assert!(tools[1].interactive && tools[1].strict);
/// ```
#[derive(Debug, Clone)]
pub struct ToolOptions {
    pub(crate) name: String,
    pub(crate) interactive: bool,
    pub(crate) strict: bool,
    pub(crate) output_schema: Option<Object>,
}

impl ToolOptions {
    /// Creates options for a tool. The name must consist of 1 to 64 letters, digits, `_`
    /// and `-`.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            interactive: false,
            strict: false,
            output_schema: None,
        }
    }

    /// Marks a tool that interacts with the user. It has no timeout, and calling it in a
    /// non-interactive host is an error.
    #[must_use]
    pub fn interactive(mut self) -> Self {
        self.interactive = true;
        self
    }

    /// Makes the host validate the arguments against the schema before it calls the tool.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Declares that the tool returns [`ToolOutput::structured`](crate::ToolOutput::structured)
    /// values of this type, which the host validates.
    #[must_use]
    pub fn returns<T: JsonSchema>(mut self) -> Self {
        self.output_schema = Some(schema_of::<T>());
        self
    }
}

impl From<&str> for ToolOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for ToolOptions {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

/// The argument type of a tool without arguments.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct NoArgs {}

// Not derived, because the doc comment above would end up in the schema.
impl JsonSchema for NoArgs {
    fn schema_name() -> Cow<'static, str> {
        "NoArgs".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object", "properties": {} })
    }
}

/// Returns the schema of a type with references inlined, because models handle references poorly.
pub(crate) fn schema_of<T: JsonSchema>() -> Object {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = match schema.to_value() {
        Value::Object(schema) => schema,
        _ => Object::new(),
    };
    // The name of a Rust type means nothing to a model.
    schema.shift_remove("title");
    schema
}

/// Decodes the arguments, or returns an error message for the model.
pub(crate) fn arguments<T: DeserializeOwned>(args: Object) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(args)).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.into_inner();
        match path.as_str() {
            "." => format!("invalid arguments: {reason}"),
            path => format!("invalid arguments: `{path}`: {reason}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only decoded")]
    struct Place {
        /// Where.
        city: String,
        at: Option<Vec<Point>>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only decoded")]
    struct Point {
        x: i32,
    }

    #[test]
    fn schemas_are_inlined_and_describe_their_fields() {
        let schema = Value::Object(schema_of::<Place>());
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["city"]));
        assert_eq!(schema["properties"]["city"]["description"], "Where.");
        let text = schema.to_string();
        assert!(!text.contains("$ref") && !text.contains("title"), "{text}");
        assert_eq!(schema_of::<NoArgs>()["type"], "object");
    }

    #[test]
    fn an_argument_error_names_the_field() {
        let wrong = |args: Value| match args {
            Value::Object(args) => arguments::<Place>(args).expect_err("wrong"),
            other => panic!("{other}"),
        };
        assert_eq!(wrong(json!({})), "invalid arguments: missing field `city`");
        assert_eq!(
            wrong(json!({"city": "Berlin", "at": [{"x": 1}, {"x": "2"}]})),
            "invalid arguments: `at[1].x`: invalid type: string \"2\", expected i32"
        );
    }
}
