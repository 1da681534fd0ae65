//! Sets of names that can grow: an unknown name is kept instead of rejected.

/// Declares an enum of known names, with an `Other` variant for unknown ones.
macro_rules! open_set {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident {
            $( $(#[$variant_meta:meta])* $name:literal => $Variant:ident, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $Name {
            $( $(#[$variant_meta])* $Variant, )*
            /// A name that this version does not know.
            Other(String),
        }

        impl $Name {
            /// All names that this version knows.
            pub const KNOWN: &'static [Self] = &[$( Self::$Variant ),*];

            /// Returns the name as it is sent.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$Variant => $name, )*
                    Self::Other(name) => name,
                }
            }

            /// Returns whether this version knows the name.
            pub fn is_known(&self) -> bool {
                !matches!(self, Self::Other(_))
            }
        }

        impl From<&str> for $Name {
            fn from(name: &str) -> Self {
                match name {
                    $( $name => Self::$Variant, )*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <std::borrow::Cow<'de, str>>::deserialize(deserializer).map(|name| Self::from(&*name))
            }
        }

        impl schemars::JsonSchema for $Name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            // Any string is valid. Editors use `examples` to complete the known ones.
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "examples": [$($name),*] })
            }
        }
    };
}
pub(crate) use open_set;
