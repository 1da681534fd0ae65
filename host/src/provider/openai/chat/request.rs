//! Writes requests for Chat Completions.

use bytes::Bytes;
use serde_json::{Value, json};
use zot_protocol::Content;

use crate::{
    message::{Block, Message, Role, text_of},
    provider::{
        Model, Request, ToolSpec,
        encoded::{Encoded, elements, push_element, push_object_up_to_list, separate},
    },
};

use super::{super::effort, answer::Sealed};

/// The parameters that differ between servers.
pub(in super::super) struct Form {
    /// The field for the output limit, and the limit; `None` for the server's own.
    pub(in super::super) limit: Option<(&'static str, u64)>,
    /// Whether to ask for token counts.
    pub(in super::super) stream_options: bool,
    /// Whether to send the JSON Schema of the answer.
    pub(in super::super) output_schema: bool,
}

/// Returns the name of the field for the output limit: the new one, or the one that old servers
/// accept.
pub(in super::super) fn limit_field(is_new: bool) -> &'static str {
    if is_new {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

/// A serialised message.
pub(in super::super) struct Fragment {
    messages: Vec<u8>,
    /// The images of tool results. In this API, results can only contain text, so their images
    /// follow in a user message after the last result.
    images: Vec<u8>,
}

pub(in super::super) fn body(
    request: &Request,
    model: &Model,
    form: &Form,
    encoded: &mut Encoded<Fragment>,
) -> Bytes {
    let mut head = json!({"model": request.model, "stream": true});
    if form.stream_options {
        head["stream_options"] = json!({"include_usage": true});
    }
    if !request.tools.is_empty() {
        head["tools"] = request.tools.iter().map(tool).collect();
        if !request.may_call {
            head["tool_choice"] = "none".into();
        }
    }
    if let Some((field, limit)) = form.limit {
        head[field] = limit.into();
    }
    if let Some(effort) = effort(request, model) {
        head["reasoning_effort"] = effort.into();
    }
    if let Some(schema) = request
        .output_schema
        .as_deref()
        .filter(|_| form.output_schema)
    {
        let schema = json!({"name": "answer", "schema": schema, "strict": false});
        head["response_format"] = json!({"type": "json_schema", "json_schema": schema});
    }
    let buffer = encoded.buffer();
    let mut body = buffer.take();
    push_object_up_to_list(&mut body, &head, "messages");
    if !request.system.trim().is_empty() {
        push_element(
            &mut body,
            &json!({"role": "system", "content": &*request.system}),
        );
    }
    let messages = encoded.update(&request.model, &request.messages, |message| {
        fragment(message, &request.model)
    });
    let mut images = Vec::new();
    for (message, fragment) in messages {
        if message.role != Role::Tool {
            flush(&mut images, &mut body);
        }
        if !fragment.messages.is_empty() {
            separate(&mut body);
            body.extend_from_slice(&fragment.messages);
        }
        if !fragment.images.is_empty() {
            images.push(b',');
            images.extend_from_slice(&fragment.images);
        }
    }
    flush(&mut images, &mut body);
    body.extend_from_slice(b"]}");
    buffer.body(body)
}

/// Appends the message with the images of the preceding results. Each image begins with a comma.
fn flush(images: &mut Vec<u8>, body: &mut Vec<u8>) {
    const BEGINNING: &[u8] =
        br#"{"role":"user","content":[{"type":"text","text":"(images from the tool results above)"}"#;
    if images.is_empty() {
        return;
    }
    separate(body);
    body.extend_from_slice(BEGINNING);
    body.append(images);
    body.extend_from_slice(b"]}");
}

fn fragment(message: &Message, model: &str) -> Fragment {
    let mut images = Vec::new();
    let messages: Vec<Value> = match message.role {
        Role::User => user(&message.content).into_iter().collect(),
        Role::Assistant => assistant(&message.content, model).into_iter().collect(),
        Role::Tool => {
            let results = message.content.iter();
            results.filter_map(|it| result(it, &mut images)).collect()
        }
    };
    Fragment {
        messages: elements(messages),
        images: elements(images),
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.schema,
    }})
}

fn user(blocks: &[Block]) -> Option<Value> {
    let mut texts = Vec::new();
    let mut parts = Vec::new();
    for block in blocks {
        match block {
            Block::Text { text } | Block::Remark { text } if !text.is_empty() => {
                texts.push(&**text);
                parts.push(json!({"type": "text", "text": text}));
            }
            Block::Image { mime_type, data } => parts.push(image(mime_type, data)),
            _ => {}
        }
    }
    if parts.is_empty() {
        return None;
    }
    // Send a plain string if there are no images: some small servers accept nothing else.
    let content: Value = if texts.len() == parts.len() {
        texts.join("\n\n").into()
    } else {
        parts.into()
    };
    Some(json!({"role": "user", "content": content}))
}

fn assistant(blocks: &[Block], model: &str) -> Option<Value> {
    let mut message = json!({"role": "assistant"});
    let mut calls = Vec::new();
    // Gemini's signature of the next call.
    let mut signature = None;
    for block in blocks {
        match block {
            Block::Thinking {
                text,
                signature: sealed,
            } => match sealed.as_deref().and_then(|it| Sealed::parse(it, model)) {
                Some(Sealed::Reasoning(field)) => {
                    let before = message[field].as_str().unwrap_or_default();
                    message[field] = format!("{before}{text}").into();
                }
                Some(Sealed::Google(new)) => signature = Some(new),
                None => {}
            },
            Block::ToolCall { id, name, args } => {
                let arguments = Value::Object(args.clone()).to_string();
                let function = json!({"name": name, "arguments": arguments});
                let mut call = json!({"id": id, "type": "function", "function": function});
                if let Some(signature) = signature.take() {
                    call["extra_content"] = json!({"google": {"thought_signature": signature}});
                }
                calls.push(call);
            }
            _ => {}
        }
    }
    let text = text_of(blocks);
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    message["content"] = if text.is_empty() {
        Value::Null
    } else {
        text.into()
    };
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    Some(message)
}

fn result(block: &Block, images: &mut Vec<Value>) -> Option<Value> {
    let Block::ToolResult {
        call_id,
        is_error,
        content,
    } = block
    else {
        return None;
    };
    let mut text = String::new();
    let mut has_image = false;
    for content in content {
        match content {
            Content::Text(part) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&part.text);
            }
            Content::Image(part) => {
                has_image = true;
                images.push(image(&part.mime_type, &part.data));
            }
            _ => {}
        }
    }
    if text.is_empty() && has_image {
        "(an image, below)".clone_into(&mut text);
    }
    if *is_error {
        text.insert_str(0, "error: ");
    }
    Some(json!({"role": "tool", "tool_call_id": call_id, "content": text}))
}

fn image(mime_type: &str, data: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": format!("data:{mime_type};base64,{data}")}})
}
