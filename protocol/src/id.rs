//! The names by which one frame refers to another.

macro_rules! id {
    ($(#[$meta:meta])* $Name:ident) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $Name(pub String);

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
    Id
}
id! {
    /// Names a panel. Chosen by the extension that opens it.
    PanelId
}
id! {
    /// The model's own name for one tool call of its message.
    ToolId
}
