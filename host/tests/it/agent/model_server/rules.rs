//! The rules of each API about what a request may contain.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Api, Limits, Part};

/// The largest image, in pixels on one side and in bytes of base64.
const MAX_PIXELS: u32 = 8000;
const MAX_IMAGE: usize = 5 << 20;

/// An answer that the server has given.
pub(super) struct Issued {
    /// The request that it answered, from [`canonical`].
    pub(super) request: Canonical,
    /// The content blocks or output items.
    pub(super) items: Vec<Value>,
}

/// A request without the parts that do not affect signatures and caches.
pub(super) struct Canonical {
    /// The system prompt and the tools.
    start: [Value; 2],
    /// The messages, or input items.
    messages: Vec<Value>,
}

fn parts(api: Api) -> [&'static str; 3] {
    match api {
        Api::Anthropic => ["system", "tools", "messages"],
        Api::Responses => ["instructions", "tools", "input"],
        Api::Chat => ["", "tools", "messages"],
    }
}

pub(super) fn canonical(api: Api, body: &Value) -> Canonical {
    let mut body = body.clone();
    remove_cache_marks(&mut body);
    let [system, tools, messages] = parts(api).map(|name| body[name].take());
    let Value::Array(messages) = messages else {
        return Canonical {
            start: [system, tools],
            messages: Vec::new(),
        };
    };
    Canonical {
        start: [system, tools],
        messages,
    }
}

fn remove_cache_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(remove_cache_marks);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_cache_marks),
        _ => {}
    }
}

/// Returns the items of an answer, in the API's format.
pub(super) fn items(api: Api, parts: &[Part], ids: &mut usize) -> Vec<Value> {
    let mut items = Vec::new();
    for part in parts {
        *ids += 1;
        let id = *ids;
        let item = match (api, part) {
            (Api::Anthropic, Part::Thinking(text)) => {
                json!({"type": "thinking", "thinking": text, "signature": format!("signed {id}")})
            }
            (Api::Anthropic, Part::Redacted) => {
                json!({"type": "redacted_thinking", "data": format!("hidden {id}")})
            }
            (Api::Anthropic, Part::Text(text)) => json!({"type": "text", "text": text}),
            (Api::Anthropic, Part::Call(name, args)) => {
                json!({"type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": args})
            }
            (Api::Responses, Part::Thinking(text)) => {
                json!({"type": "reasoning", "id": format!("rs_{id}"), "encrypted_content": format!("sealed {id}"),
                    "summary": [{"type": "summary_text", "text": text}]})
            }
            (Api::Responses, Part::Redacted) => {
                json!({"type": "reasoning", "id": format!("rs_{id}"), "encrypted_content": format!("sealed {id}"),
                    "summary": []})
            }
            (Api::Responses, Part::Text(text)) => {
                json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]})
            }
            (Api::Responses, Part::Call(name, args)) => {
                json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
                    "name": name, "arguments": args})
            }
            (Api::Chat, Part::Thinking(_) | Part::Redacted) => continue,
            (Api::Chat, Part::Text(text)) => json!({"text": text}),
            (Api::Chat, Part::Call(name, args)) => {
                json!({"id": format!("call_{id}"), "type": "function",
                    "function": {"name": name, "arguments": args}})
            }
        };
        items.push(item);
    }
    items
}

/// Returns the message for a request that exceeds a limit, in the provider's words.
pub(super) fn over_limit(api: Api, body: &Value, limits: Limits) -> Option<String> {
    let names = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let asked = names.iter().find_map(|name| body[*name].as_u64());
    if let (Some(asked), Some(most)) = (asked, limits.output)
        && asked > most
    {
        return Some(format!(
            "max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens"
        ));
    }
    let [.., messages] = parts(api);
    if limits.rejects_images && !images(&body[messages]).is_empty() {
        return Some("Could not process image".to_owned());
    }
    let count = images(&body[messages]).len();
    if let Some(most) = limits.images.filter(|most| count > *most) {
        return Some(format!(
            "messages: too many images and documents: {count} + 0 > {most}"
        ));
    }
    let bytes = body[messages].to_string().len();
    let most = limits.window.filter(|most| bytes > *most)?;
    Some(match api {
        Api::Anthropic => format!("prompt is too long: {bytes} tokens > {most} maximum"),
        _ => "Your input exceeds the context window of this model.".to_owned(),
    })
}

/// Checks a request. `Err` describes the rule that it breaks.
pub(super) fn check(api: Api, body: &Value, issued: &[Issued]) -> Result<(), String> {
    let request = canonical(api, body);
    if request.messages.is_empty() {
        return Err("there are no messages".to_owned());
    }
    images(&body[parts(api)[2]])
        .into_iter()
        .try_for_each(image)?;
    match api {
        Api::Anthropic => anthropic(&request, issued, &body["thinking"]),
        Api::Responses => responses(&request, issued),
        Api::Chat => chat(&request),
    }
}

/// Returns the base64 data of all images.
fn images(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(fields) => {
            let data = (fields.get("type") == Some(&"base64".into())).then(|| &fields["data"]);
            let url = fields.get("image_url");
            let url = url.map(|url| url.get("url").unwrap_or(url));
            let inner = fields.values().flat_map(images);
            let found = data.or(url).and_then(Value::as_str);
            let data = found.map(|it| it.rsplit_once(',').map_or(it, |(_, data)| data));
            match data {
                Some(data) => vec![data],
                None => inner.collect(),
            }
        }
        Value::Array(values) => values.iter().flat_map(images).collect(),
        _ => Vec::new(),
    }
}

fn image(data: &str) -> Result<(), String> {
    let bytes = STANDARD.decode(data).map_err(|error| error.to_string())?;
    if data.len() > MAX_IMAGE {
        return Err(format!("image exceeds 5 MB maximum: {} bytes", data.len()));
    }
    // The dimensions of a PNG are at a fixed offset. JPEG images in these tests are small.
    if bytes.starts_with(b"\x89PNG") {
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let (width, height) = (number(16), number(20));
        if width.max(height) > MAX_PIXELS {
            return Err(format!(
                "At least one of the image dimensions exceed max allowed size: {MAX_PIXELS} pixels ({width}x{height})"
            ));
        }
    }
    Ok(())
}

fn is_reasoning(item: &Value) -> bool {
    let kind = item["type"].as_str().unwrap_or_default();
    matches!(kind, "thinking" | "redacted_thinking" | "reasoning")
}

fn same_start(request: &Canonical, of: &Issued, messages: usize) -> Result<(), String> {
    let is_same =
        request.start == of.request.start && request.messages[..messages] == of.request.messages;
    if is_same {
        Ok(())
    } else {
        Err("reasoning is sent back after a different system prompt, tools or messages".to_owned())
    }
}

fn anthropic(request: &Canonical, issued: &[Issued], thinking: &Value) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != role {
            return Err(format!("message {index} must be from the {role}"));
        }
        let blocks = message["content"]
            .as_array()
            .ok_or("content must be a list")?;
        let ids = |kind: &str, id: &'static str| -> Vec<&str> {
            let of_kind = blocks.iter().filter(|block| block["type"] == kind);
            of_kind.filter_map(|block| block[id].as_str()).collect()
        };
        let mut results = ids("tool_result", "tool_use_id");
        results.sort_unstable();
        open.sort_unstable();
        if results != open {
            return Err(format!("tool results {results:?} for calls {open:?}"));
        }
        if blocks
            .iter()
            .skip(results.len())
            .any(|block| block["type"] == "tool_result")
        {
            return Err("tool results must come first".to_owned());
        }
        open = ids("tool_use", "id");
        let reasoning: Vec<&Value> = blocks.iter().filter(|it| is_reasoning(it)).collect();
        if reasoning.is_empty() {
            continue;
        }
        let of = issued.iter().find(|of| {
            let of = of.items.iter().filter(|it| is_reasoning(it));
            of.eq(reasoning.iter().copied())
        });
        let of = of.ok_or("thinking blocks must be sent back as they came")?;
        same_start(request, of, index)?;
        let kinds = |items: &[Value]| -> Vec<Value> {
            items.iter().map(|item| item["type"].clone()).collect()
        };
        if !kinds(&of.items).starts_with(&kinds(blocks)) {
            return Err("the order of the blocks has changed".to_owned());
        }
    }
    let last = request.messages.last().expect("there are messages");
    let continues = last["content"][0]["type"] == "tool_result";
    if !thinking.is_null() && continues && thinking["type"] == "enabled" {
        let before = &request.messages[request.messages.len() - 2]["content"];
        if !is_reasoning(&before[0]) {
            return Err("the last answer must begin with its thinking block".to_owned());
        }
    }
    Ok(())
}

fn responses(request: &Canonical, issued: &[Issued]) -> Result<(), String> {
    let items = &request.messages;
    let ids = |kind: &str| -> Vec<&str> {
        let of_kind = items.iter().filter(|item| item["type"] == kind);
        of_kind
            .filter_map(|item| item["call_id"].as_str())
            .collect()
    };
    let (calls, outputs) = (ids("function_call"), ids("function_call_output"));
    if calls != outputs {
        return Err(format!("outputs {outputs:?} for calls {calls:?}"));
    }
    for (index, item) in items.iter().enumerate() {
        if !is_reasoning(item) {
            continue;
        }
        let of = issued.iter().find_map(|of| {
            let at = of.items.iter().position(|it| it == item)?;
            Some((of, at))
        });
        let (of, at) = of.ok_or("reasoning items must be sent back as they came")?;
        let follower = of.items.get(at + 1).map(|it| &it["type"]);
        let next = items.get(index + 1).map(|it| &it["type"]);
        if follower.is_some() && follower != next {
            return Err("reasoning was sent without its required following item".to_owned());
        }
        same_start(request, of, index - at)?;
    }
    Ok(())
}

fn chat(request: &Canonical) -> Result<(), String> {
    let mut open: Vec<&Value> = Vec::new();
    for message in &request.messages {
        if message["role"] == "tool" {
            let id = &message["tool_call_id"];
            let at = open.iter().position(|it| *it == id);
            open.remove(at.ok_or_else(|| format!("no call has the id {id}"))?);
            continue;
        }
        if !open.is_empty() {
            return Err(format!("calls without results: {open:?}"));
        }
        let calls = message["tool_calls"].as_array();
        open = calls
            .into_iter()
            .flatten()
            .map(|call| &call["id"])
            .collect();
    }
    Ok(())
}
