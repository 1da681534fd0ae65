//! Writes requests for the Responses API.

use bytes::Bytes;
use serde_json::{Value, json};
use zot_protocol::Content;

use crate::{
    message::{Block, Message, Role},
    provider::{
        Model, Request, ToolSpec,
        catalogue::Thinks,
        encoded::{Encoded, elements, push_object_up_to_list, separate},
    },
};

use super::{super::effort, answer::Sealed};

/// The parameters that depend on what the server accepts.
pub(in super::super) struct Form {
    /// The output limit; `None` for the server's own.
    pub(in super::super) limit: Option<u64>,
    /// Whether to ask for summaries of the reasoning.
    pub(in super::super) summaries: bool,
    /// Whether to send the JSON Schema of the answer.
    pub(in super::super) output_schema: bool,
}

pub(in super::super) fn body(
    request: &Request,
    model: &Model,
    form: &Form,
    encoded: &mut Encoded<Vec<u8>>,
) -> Bytes {
    let mut head = json!({
        "model": request.model,
        "stream": true,
        "store": false,
    });
    if !request.system.trim().is_empty() {
        head["instructions"] = (*request.system).into();
    }
    if !request.tools.is_empty() {
        head["tools"] = request.tools.iter().map(tool).collect();
        if !request.may_call {
            head["tool_choice"] = "none".into();
        }
    }
    if let Some(limit) = form.limit {
        head["max_output_tokens"] = limit.into();
    }
    if model.thinks != Thinks::None {
        head["include"] = json!(["reasoning.encrypted_content"]);
        let mut reasoning = json!({});
        if let Some(effort) = effort(request, model) {
            reasoning["effort"] = effort.into();
        }
        if form.summaries {
            reasoning["summary"] = "auto".into();
        }
        head["reasoning"] = reasoning;
    }
    if let Some(schema) = request
        .output_schema
        .as_deref()
        .filter(|_| form.output_schema)
    {
        let format =
            json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": false});
        head["text"] = json!({"format": format});
    }
    let buffer = encoded.buffer();
    let mut body = buffer.take();
    let items = encoded.update(&request.model, &request.messages, |message| {
        elements(items(message, &request.model))
    });
    push_object_up_to_list(&mut body, &head, "input");
    for (_, items) in items.iter().filter(|(_, items)| !items.is_empty()) {
        separate(&mut body);
        body.extend_from_slice(items);
    }
    body.extend_from_slice(b"]}");
    buffer.body(body)
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function", "name": tool.name, "description": tool.description,
        "parameters": tool.schema, "strict": false,
    })
}

fn items(message: &Message, model: &str) -> Vec<Value> {
    match message.role {
        Role::User => user(&message.content).into_iter().collect(),
        Role::Assistant => assistant(&message.content, model),
        Role::Tool => message.content.iter().filter_map(result).collect(),
    }
}

fn user(blocks: &[Block]) -> Option<Value> {
    let parts = blocks.iter().filter_map(|block| match block {
        Block::Text { text } | Block::Remark { text } if !text.is_empty() => Some(input_text(text)),
        Block::Image { mime_type, data } => Some(input_image(mime_type, data)),
        _ => None,
    });
    let parts: Vec<Value> = parts.collect();
    (!parts.is_empty()).then(|| json!({"type": "message", "role": "user", "content": parts}))
}

fn assistant(blocks: &[Block], model: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut phase = None;
    for block in blocks {
        match block {
            Block::Text { text } if text.trim().is_empty() => {}
            Block::Text { text } => {
                let mut item = json!({"type": "message", "role": "assistant", "content": text});
                if let Some(phase) = phase.take() {
                    item["phase"] = Value::String(phase);
                }
                items.push(item);
            }
            Block::Thinking { signature, .. } => {
                match signature.as_deref().and_then(|it| Sealed::parse(it, model)) {
                    Some(Sealed::Reasoning(item)) => items.push(item),
                    Some(Sealed::Phase(new)) => phase = Some(new),
                    None => {}
                }
            }
            Block::ToolCall { id, name, args } => items.push(json!({
                "type": "function_call", "call_id": id, "name": name,
                "arguments": Value::Object(args.clone()).to_string(),
            })),
            Block::Image { .. } | Block::Remark { .. } | Block::ToolResult { .. } => {}
        }
    }
    items
}

fn result(block: &Block) -> Option<Value> {
    let Block::ToolResult {
        call_id,
        is_error,
        content,
    } = block
    else {
        return None;
    };
    let mut parts = Vec::new();
    let mut text = if *is_error { "error: " } else { "" }.to_owned();
    for content in content {
        match content {
            Content::Text(part) => {
                if !matches!(&*text, "" | "error: ") {
                    text.push('\n');
                }
                text.push_str(&part.text);
            }
            Content::Image(part) => parts.push(input_image(&part.mime_type, &part.data)),
            _ => {}
        }
    }
    let output = if parts.is_empty() {
        Value::String(text)
    } else {
        if !text.is_empty() {
            parts.insert(0, input_text(&text));
        }
        parts.into()
    };
    Some(json!({"type": "function_call_output", "call_id": call_id, "output": output}))
}

fn input_text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn input_image(mime_type: &str, data: &str) -> Value {
    json!({
        "type": "input_image", "detail": "auto",
        "image_url": format!("data:{mime_type};base64,{data}"),
    })
}
