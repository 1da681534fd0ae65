//! Newtypes for the identifiers in frames.

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
            /// Returns the identifier as it is sent.
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
    /// Matches a reply to its request. The sender of the request chooses it and must not reuse it
    /// on the same connection. The reply repeats it unchanged.
    Id, at least 1
}
id! {
    /// Identifies a panel. The extension that opens the panel chooses it.
    PanelId, at least 1
}
id! {
    /// The model's ID for a tool call.
    ToolId, at least 0
}
id! {
    /// A driver's ID for one of its commands, repeated in the response. It can be any string.
    RequestId, at least 0
}
