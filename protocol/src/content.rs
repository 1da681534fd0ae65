//! What a tool's result is made of.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{absent::or_default, tagged::tagged};

tagged! {
    /// One block of a tool's result.
    pub enum Content by "type" {
        "text" => Text(TextContent),
        "image" => Image(ImageContent),
    }
}

impl Content {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// An image: its media type and its bytes in base64.
    pub fn image(mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        ImageContent::new(mime_type, data).into()
    }
}

/// A block of text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct TextContent {
    /// The text. Absent: `""`.
    #[new(into)]
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<String>")]
    pub text: String,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ImageContent {
    /// Its media type, such as `image/png`.
    #[new(into)]
    pub mime_type: String,
    /// Its bytes in base64, with padding.
    #[new(into)]
    #[schemars(extend("contentEncoding" = "base64"))]
    pub data: String,
}
