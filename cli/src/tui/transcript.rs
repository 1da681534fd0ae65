//! Turns a stored conversation into items to display.

use std::sync::Arc;

use zot_host::{
    Runtime,
    message::{Block, Message, Role, shown, shown_content},
    session::Mark,
};
use zot_protocol::{
    AssistantMessageIntercept, Intercept, InterceptName, Object, StopReason, ToolId, ToolStatus,
};

use super::{
    message::Conversation,
    state::{FinishedCall, Item, Level, Outputs, Thought},
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
    let marks = runtime.marks().await;
    let mut calls = Calls::new();
    for (at, message) in messages.iter().enumerate().skip(from) {
        add(runtime, message, &mut calls, &marks, &mut items).await;
        let after = marks.iter().filter(|(count, _)| *count == at + 1);
        items.extend(after.filter_map(|(_, mark)| turn_end(mark)));
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
fn first_shown(messages: &[Arc<Message>]) -> usize {
    let from = messages.len().saturating_sub(MAX_MESSAGES);
    let offset = messages[from..]
        .iter()
        .position(|message| message.role == Role::User);
    from + offset.unwrap_or(0)
}

/// Tool calls whose results come later in the transcript.
type Calls<'m> = Vec<(&'m ToolId, &'m str, &'m Object)>;

async fn add<'m>(
    runtime: &Runtime,
    message: &'m Message,
    calls: &mut Calls<'m>,
    marks: &[(usize, Mark)],
    items: &mut Vec<Item>,
) {
    match message.role {
        Role::User => {
            let (text, images) = block_text(&shown(&message.content));
            // As when the message was sent, show one line for each output.
            let (text, mut outputs) = Outputs::split(&text);
            let (_, text) = outputs.take_into(text);
            let lines = Some(text).into_iter().filter(|text| !text.is_empty());
            let lines: Vec<String> = lines.chain(images).collect();
            items.push(Item::User(lines.join("\n")));
        }
        Role::Assistant => {
            items.extend(thought(runtime, message).map(Item::Thought));
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
                    let (status, extension) = call_end(marks, call_id, *is_error);
                    items.push(Item::Tool(FinishedCall {
                        name: clean::line(name),
                        args: args.clone(),
                        extension,
                        status,
                        text,
                        images,
                    }));
                }
            }
        }
    }
}

/// Returns how a call ended, and the extension that its tool belongs to.
fn call_end(marks: &[(usize, Mark)], id: &ToolId, is_error: bool) -> (ToolStatus, Option<String>) {
    let ended = marks.iter().find_map(|(_, mark)| match mark {
        Mark::ToolEnd {
            call_id,
            status,
            extension,
        } if call_id == id => Some((status.clone(), extension.as_deref().map(clean::line))),
        _ => None,
    });
    let usual = if is_error {
        ToolStatus::Failed
    } else {
        ToolStatus::Completed
    };
    ended.unwrap_or((usual, None))
}

/// Returns the notice about a turn that did not end normally.
fn turn_end(mark: &Mark) -> Option<Item> {
    let Mark::TurnEnd { stop, error } = mark else {
        return None;
    };
    let (level, text) = match (stop, error) {
        (_, Some(error)) => (Level::Error, clean::text(error)),
        (StopReason::Aborted, None) => (Level::Muted, "cancelled".to_owned()),
        (StopReason::Length, None) => {
            let text = "the answer was cut off at the model's output limit";
            (Level::Warning, text.to_owned())
        }
        (stop, None) => (Level::Muted, format!("the turn ended with `{stop}`")),
    };
    Some(Item::Notice { level, text })
}

/// Returns the reasoning in a message, or `None` if an extension intercepts answers, because
/// interceptors do not see the reasoning.
fn thought(runtime: &Runtime, message: &Message) -> Option<Thought> {
    if runtime.host().intercepts(&InterceptName::AssistantMessage) {
        return None;
    }
    let mut thought = Thought::stored();
    for block in &message.content {
        if let Block::Thinking { text, .. } = block {
            thought.add(&clean::text(text));
            if !text.is_empty() {
                thought.add("\n");
            }
        }
    }
    (!thought.text.trim().is_empty()).then_some(thought)
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
