//! The names by which one frame refers to another.

macro_rules! id {
    ($(#[$meta:meta])* $Name:ident, at least $min:literal) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $Name(pub String);

        impl schemars::JsonSchema for $Name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema = schemars::json_schema!({ "type": "string" });
                if $min > 0 {
                    schema.insert("minLength".into(), $min.into());
                }
                schema
            }
        }

        impl $Name {
            /// The text on the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $Name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $Name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

id! {
    /// Correlates a request with its reply. Chosen by the side that asks, echoed verbatim, never used twice
    /// on one connection.
    Id, at least 1
}
id! {
    /// Names a panel. Chosen by the extension that opens it.
    PanelId, at least 1
}
id! {
    /// The model's own name for one tool call of its message.
    ToolId, at least 0
}
id! {
    /// A driver's name for one of its commands, echoed in the response. Any text.
    RequestId, at least 0
}
