//! The content of a tool's result.

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
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// Creates an image block from a media type and base64 data.
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
    pub text: String,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ImageContent {
    /// The media type, such as `image/png`.
    #[new(into)]
    pub mime_type: String,
    /// The image data in base64, with padding.
    #[new(into)]
    #[schemars(extend("contentEncoding" = "base64"))]
    pub data: String,
}
