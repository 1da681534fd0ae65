//! A conversation that is gone on with, as it is shown again.

use zot_host::{
    Runtime,
    message::{Block, Message, Role, shown_content},
};
use zot_protocol::{
    AssistantMessageIntercept, Intercept, InterceptName, Object, ToolId, ToolStatus,
};

use super::{
    message::{Conversation, Model},
    state::{Item, Ran},
    update::shown,
};
use crate::clean;

/// So many messages are shown again. The model has them all.
const MOST: usize = 50;

/// The conversation that a runtime is at.
pub(crate) async fn conversation(runtime: &Runtime, title: &str) -> Conversation {
    let messages = runtime.messages().await;
    let model = runtime.model().await;
    let context = runtime.context().await;
    let from = beginning(&messages);
    let mut items = Vec::new();
    if !messages.is_empty() {
        // Whoever keeps something from the user does so again.
        runtime.started().await;
    }
    let mut calls = Vec::new();
    for message in &messages[from..] {
        add(runtime, message, &mut calls, &mut items).await;
    }
    let title = match (title, messages.len()) {
        (_, 0) => title.to_owned(),
        (title, count) if from == 0 => format!("{title} · {count} messages"),
        (title, count) => format!("{title} · {count} messages, the last {}", count - from),
    };
    Conversation {
        title,
        items,
        model: Model {
            provider: model.provider,
            id: model.id,
            window: context.window,
        },
        used: context.used,
        jailed: runtime.toolbox().is_jailed(),
    }
}

/// Where to begin: with something that the user said.
fn beginning(messages: &[Message]) -> usize {
    let from = messages.len().saturating_sub(MOST);
    let said = messages[from..]
        .iter()
        .position(|message| message.role == Role::User);
    from + said.unwrap_or(0)
}

/// Calls whose results are still to come.
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
                    let (text, images) = shown(&shown_content(content));
                    items.push(Item::Ran(Ran {
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

/// What the user may see of a text: the transcript has what the model said.
async fn visible(runtime: &Runtime, text: String) -> String {
    let host = runtime.host();
    if text.is_empty() || !host.intercepts(&InterceptName::AssistantMessage) {
        return text;
    }
    let asked = AssistantMessageIntercept::new(text);
    match host.intercept(asked.into()).await.result {
        Ok(Intercept::AssistantMessage(message)) => message.text,
        Ok(_) => unreachable!("a chain keeps the kind of its event"),
        Err(block) => block.reason,
    }
}
