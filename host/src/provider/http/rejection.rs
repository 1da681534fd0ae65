//! Finds out from an error why a server rejected a request. Every server words its errors
//! differently.

use serde_json::Value;

/// A reason that the agent can do something about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The conversation does not fit into the model's context window.
    TooLong,
    /// An image in the conversation cannot be used, or there are too many.
    Image,
}

/// The machine-readable part of an error body.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// `code` and `type`.
    codes: Vec<String>,
    /// The parameter that is wrong.
    pub(super) param: Option<String>,
}

/// Codes and phrases for a conversation that is too long, from Anthropic, `OpenAI`, llama.cpp,
/// vLLM, Gemini, Groq, Mistral and Ollama.
const TOO_LONG_CODES: [&str; 3] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
];
const TOO_LONG: [&str; 9] = [
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "exceeds the context window",
    "exceeds the available context size",
    "reduce the length of the messages",
    "input token count",
    "too large for model with",
    "input is too long",
];
/// Codes and phrases for a problem with an image.
const IMAGE_CODES: [&str; 9] = [
    "invalid_image",
    "invalid_image_format",
    "invalid_base64_image",
    "image_too_large",
    "image_too_small",
    "image_parse_error",
    "image_file_too_large",
    "unsupported_image_media_type",
    "empty_image_file",
];
const IMAGE: [&str; 12] = [
    "image input",
    "image_url",
    "does not support image",
    "could not process image",
    "image dimensions exceed",
    "image exceeds",
    "unsupported image",
    "image.source",
    // Phrases for too many images in one request.
    "too many images",
    "too many total images",
    "images per request",
    "images in a request",
];

/// Reads an error body.
pub(super) fn read(body: &[u8]) -> Details {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = match &body["error"] {
        Value::Object(_) => &body["error"],
        _ => &body,
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Details {
        codes: [&error["code"], &error["type"]]
            .into_iter()
            .filter_map(text)
            .collect(),
        param: text(&error["param"]),
    }
}

/// Finds a cause in a server's message.
pub(super) fn cause_in(message: &str) -> Option<Cause> {
    let message = message.to_lowercase();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    if has(&TOO_LONG) {
        Some(Cause::TooLong)
    } else if has(&IMAGE) {
        Some(Cause::Image)
    } else {
        None
    }
}

impl Details {
    /// Returns the cause of an error with this status and message.
    pub(super) fn cause(&self, status: u16, message: &str) -> Option<Cause> {
        let has = |codes: &[&str]| self.codes.iter().any(|code| codes.contains(&&**code));
        if has(&TOO_LONG_CODES) {
            return Some(Cause::TooLong);
        }
        if has(&IMAGE_CODES) {
            return Some(Cause::Image);
        }
        match status {
            400 | 404 | 415 | 422 | 500 => cause_in(message),
            413 => cause_in(message).or(Some(Cause::TooLong)),
            _ => None,
        }
    }

    /// Reports whether the account has no credit left, in which case waiting does not help.
    pub(super) fn is_spent(&self) -> bool {
        self.codes.iter().any(|code| code == "insufficient_quota")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_how_servers_say_that_a_conversation_is_too_long() {
        for message in [
            "prompt is too long: 208310 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "This model's maximum context length is 128000 tokens. However, …",
            "Your input exceeds the context window of this model.",
            "the request exceeds the available context size, try increasing it",
            "The input token count (1200000) exceeds the maximum number of tokens allowed",
        ] {
            assert_eq!(cause_in(message), Some(Cause::TooLong), "{message}");
        }
        let body = br#"{"error": {"message": "m", "type": "invalid_request_error", "code": "context_length_exceeded"}}"#;
        assert_eq!(read(body).cause(400, "m"), Some(Cause::TooLong));
        assert_eq!(read(b"<html>").cause(400, "m"), None);
    }

    #[test]
    fn recognises_how_servers_reject_an_image() {
        for message in [
            "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
            "Could not process image",
            "image input is not supported - hint: you may need to provide the mmproj",
            "No endpoints found that support image input",
            "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 7000000 bytes > 5242880 bytes",
            "messages: too many images and documents: 101 + 0 > 100",
        ] {
            assert_eq!(cause_in(message), Some(Cause::Image), "{message}");
        }
        assert_eq!(cause_in("credit balance is too low"), None);
    }
}
