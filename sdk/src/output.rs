//! Tool results.

use std::fmt::Display;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;
use serde_json::Value;
use zot_protocol::{CallToolResult, Content, Id, ToolResult};

/// The result of a tool.
///
/// A handler can also return a string, or a `Result`, whose error becomes [`ToolOutput::error`].
///
/// ```
/// use zot_sdk::{Extension, NoArgs, ToolOutput};
///
/// let extension = Extension::new("outputs", "1.0.0")
///     .tool("text", "returns text", |_: NoArgs, _| "16 °C, fog")
///     .tool("image", "returns an image", |_: NoArgs, _| ToolOutput::image("image/png", b"\x89PNG"))
///     .tool("value", "returns a value", |_: NoArgs, _| ToolOutput::structured(&[1, 2]))
///     .tool("both", "returns two blocks", |_: NoArgs, _| {
///         ToolOutput::text("a picture:").and(ToolOutput::image("image/png", b"\x89PNG"))
///     })
///     .tool("fail", "fails", |_: NoArgs, _| ToolOutput::error("no such city"))
///     .tool("read", "fails too", |_: NoArgs, _| std::fs::read_to_string("/no/such/file"));
/// # let host = zot_sdk::testing::TestHost::start(extension);
/// # assert_eq!(host.tool("text", "{}").text(), "16 °C, fog");
/// # assert_eq!(host.tool("value", "{}").structured_content.clone().unwrap(), "[1,2]".parse::<zot_sdk::serde_json::Value>().unwrap());
/// # assert_eq!(host.tool("both", "{}").content.len(), 2);
/// # assert!(host.tool("fail", "{}").is_error);
/// # assert!(host.tool("read", "{}").text().contains("No such file"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    content: Vec<Content>,
    is_error: bool,
    structured: Option<Value>,
}

impl ToolOutput {
    /// Creates a text result.
    pub fn text(text: impl Into<String>) -> Self {
        Self::from(vec![Content::text(text)])
    }

    /// Creates an image result from its media type, such as `image/png`, and its encoded bytes.
    pub fn image(mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        let data = BASE64_STANDARD.encode(bytes);
        Self::from(vec![Content::image(mime_type, data)])
    }

    /// Creates an error result. The model sees the message and can try something else.
    pub fn error(why: impl Display) -> Self {
        Self {
            is_error: true,
            ..Self::text(why.to_string())
        }
    }

    /// Creates a structured result for hosts and programs. The model receives it as JSON text. If
    /// the value cannot be serialised, the result is an error.
    pub fn structured(value: &(impl Serialize + ?Sized)) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => Self {
                structured: Some(value.clone()),
                ..Self::text(value.to_string())
            },
            Err(error) => Self::error(format_args!("failed to serialise the result: {error}")),
        }
    }

    /// Appends another result. If either is an error, the combined result is an error.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.content.extend(other.content);
        self.is_error |= other.is_error;
        self.structured = self.structured.or(other.structured);
        self
    }

    pub(crate) fn frame(self, id: Id) -> ToolResult {
        let mut frame = ToolResult::new(id, self.content);
        frame.is_error = self.is_error;
        frame.structured_content = self.structured;
        frame
    }
}

impl From<Vec<Content>> for ToolOutput {
    fn from(content: Vec<Content>) -> Self {
        Self {
            content,
            is_error: false,
            structured: None,
        }
    }
}

/// Passes on the result of another tool.
impl From<CallToolResult> for ToolOutput {
    fn from(result: CallToolResult) -> Self {
        Self {
            is_error: result.is_error,
            ..Self::from(result.content)
        }
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl<T: Into<ToolOutput>, E: Display> From<Result<T, E>> for ToolOutput {
    fn from(result: Result<T, E>) -> Self {
        result.map_or_else(Self::error, Into::into)
    }
}

/// Joins the text blocks with newlines. Images are omitted.
///
/// ```
/// use zot_sdk::{Content, text_of};
///
/// assert_eq!(text_of(&[Content::text("16 °C"), Content::text("fog")]), "16 °C\nfog");
/// ```
pub fn text_of(content: &[Content]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|block| match block {
            Content::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}
