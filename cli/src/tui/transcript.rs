//! Turns a stored conversation into items to display.

use zot_host::{
    Runtime,
    message::{Block, Message, Role, shown_content},
};
use zot_protocol::{
    AssistantMessageIntercept, Intercept, InterceptName, Object, ToolId, ToolStatus,
};

use super::{
    message::Conversation,
    state::{FinishedCall, Item},
    update::block_text,
};
use crate::{clean, output};

/// Maximum number of messages to display. The model still receives all of them.
const MAX_MESSAGES: usize = 50;

/// Returns the runtime's current conversation.
pub(crate) async fn conversation(runtime: &Runtime, title: &str) -> Conversation {
    let messages = runtime.messages().await;
    let from = first_shown(&messages);
    let mut items = Vec::new();
    if !messages.is_empty() {
        // Wait until the extensions have started, because interceptors must filter the stored
        // answers again.
        runtime.started().await;
    }
    let mut calls = Vec::new();
    for message in &messages[from..] {
        add(runtime, message, &mut calls, &mut items).await;
    }
    let title = match (title, messages.len()) {
        (_, 0) => title.to_owned(),
        (title, count) if from == 0 => {
            format!("{title} · {}", output::counted(count as u64, "message"))
        }
        (title, count) => format!("{title} · last {} of {count} messages", count - from),
    };
    Conversation {
        title,
        items,
        model: runtime.model().await,
        used: runtime.context().await.used,
        jailed: runtime.toolbox().is_jailed(),
    }
}

/// Returns the index of the first message to display, which is a user message if possible.
fn first_shown(messages: &[Message]) -> usize {
    let from = messages.len().saturating_sub(MAX_MESSAGES);
    let offset = messages[from..]
        .iter()
        .position(|message| message.role == Role::User);
    from + offset.unwrap_or(0)
}

/// Tool calls whose results have not been reached yet.
type Calls<'m> = Vec<(&'m ToolId, &'m str, &'m Object)>;

async fn add<'m>(
    runtime: &Runtime,
    message: &'m Message,
    calls: &mut Calls<'m>,
    items: &mut Vec<Item>,
) {
    match message.role {
        Role::User => items.push(Item::User(clean::text(&message.text()))),
        Role::Assistant => {
            let text = visible(runtime, message.text()).await;
            if !text.trim().is_empty() {
                items.push(Item::Answer(clean::text(&text)));
            }
            calls.extend(message.content.iter().filter_map(|block| match block {
                Block::ToolCall { id, name, args } => Some((id, name.as_str(), args)),
                _ => None,
            }));
        }
        Role::Tool => {
            for block in &message.content {
                if let Block::ToolResult {
                    call_id,
                    is_error,
                    content,
                } = block
                {
                    let Some(at) = calls.iter().position(|(id, ..)| *id == call_id) else {
                        continue;
                    };
                    let (_, name, args) = calls.remove(at);
                    let (text, images) = block_text(&shown_content(content));
                    items.push(Item::Tool(FinishedCall {
                        name: clean::line(name),
                        args: args.clone(),
                        extension: None,
                        status: if *is_error {
                            ToolStatus::Failed
                        } else {
                            ToolStatus::Completed
                        },
                        text,
                        images,
                    }));
                }
            }
        }
    }
}

/// Returns the text that the user is allowed to see. The transcript contains the model's original
/// text, so the interceptors must run again.
async fn visible(runtime: &Runtime, text: String) -> String {
    let host = runtime.host();
    if text.is_empty() || !host.intercepts(&InterceptName::AssistantMessage) {
        return text;
    }
    let asked = AssistantMessageIntercept::new(text);
    match host.intercept(asked.into()).await.result {
        Ok(Intercept::AssistantMessage(message)) => message.text,
        Ok(_) => unreachable!("an intercept chain preserves the event type"),
        Err(block) => block.reason,
    }
}
