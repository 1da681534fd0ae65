//! Exports a session: as JSON Lines, as Markdown or as an HTML page.

mod html;

use std::path::Path;

use zot_protocol::Content;

use super::{
    SessionError,
    contents::Contents,
    line::{ExtensionCall, Head, Line, Mark},
    open::{FileOwner, composed},
    store::read,
};
use crate::{
    file::write_new,
    message::{Block, Message, Role},
};

/// Writes the session in `from` to a new file: as Markdown if its name ends in `.md`, as a
/// self-contained HTML page if it ends in `.html`, otherwise as JSON Lines, which can be imported.
/// Never overwrites a file.
pub fn export(from: &Path, to: &Path) -> Result<(), SessionError> {
    let (bytes, contents) = read(from)?;
    let Some(head) = &contents.head else {
        return Err(SessionError::NotASession(from.to_owned()));
    };
    let extension = to.extension().unwrap_or_default().to_ascii_lowercase();
    let whole = match extension.to_str() {
        Some("md") => markdown(head, &contents).into_bytes(),
        Some("html" | "htm") => html::page(head, &contents).into_bytes(),
        _ => composed(head, &contents, &bytes, usize::MAX, FileOwner::Zot),
    };
    write_new(to, &whole)
        .map(drop)
        .map_err(|error| SessionError::write(to, error))
}

/// Returns the session's current title.
fn title(contents: &Contents) -> &str {
    let mut titles = contents.lines.iter().filter_map(|(_, line)| match line {
        Line::Title(title) => Some(title.as_str()),
        _ => None,
    });
    titles.next_back().unwrap_or("Untitled session")
}

fn markdown(head: &Head, contents: &Contents) -> String {
    let mut page = format!(
        "# {}\n\n{} · {} {} · {}\n",
        title(contents),
        head.created,
        head.provider,
        head.model,
        head.cwd
    );
    for (_, line) in &contents.lines {
        match line {
            Line::Message(message) => add_message(&mut page, message),
            Line::Compaction(summary) => {
                page += "\n## Summary of the conversation so far\n";
                add_blocks(&mut page, &summary.content);
            }
            Line::Model { provider, model } => {
                page += &format!("\n*Model changed to {provider} {model}.*\n");
            }
            Line::ExtensionCall(call) => add_extension_call(&mut page, call),
            Line::Mark(Mark::TurnEnd { stop, error }) => {
                let why = error
                    .as_ref()
                    .map_or(String::new(), |error| format!(": {error}"));
                page += &format!("\n*The turn ended with `{stop}`{why}.*\n");
            }
            _ => {}
        }
    }
    page
}

fn add_extension_call(page: &mut String, call: &ExtensionCall) {
    let ExtensionCall {
        extension,
        tool,
        args,
        status,
        ..
    } = call;
    *page += &format!("\n*The extension {extension} called `{tool}`: {status}.*\n");
    if let Some(args) = args {
        let args = serde_json::to_string_pretty(args).unwrap_or_default();
        *page += &format!("\n{}", fenced("json", &args));
    }
}

fn add_message(page: &mut String, message: &Message) {
    let who = match message.role {
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tools",
    };
    *page += &format!("\n## {who}\n");
    add_blocks(page, &message.content);
}

fn add_blocks(page: &mut String, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Text { text } => *page += &format!("\n{}\n", text.trim_end()),
            Block::Image { mime_type, .. } => *page += &format!("\n*Image ({mime_type})*\n"),
            // Reasoning and remarks are only for the model.
            Block::Thinking { .. } | Block::Remark { .. } => {}
            Block::ToolCall { name, args, .. } => {
                let args = serde_json::to_string_pretty(args).unwrap_or_default();
                *page += &format!("\nCalls `{name}`:\n\n{}", fenced("json", &args));
            }
            Block::ToolResult {
                is_error, content, ..
            } => {
                *page += if *is_error {
                    "\nError:\n"
                } else {
                    "\nResult:\n"
                };
                for content in content {
                    match content {
                        Content::Text(text) => *page += &format!("\n{}", fenced("", &text.text)),
                        Content::Image(image) => {
                            *page += &format!("\n*Image ({})*\n", image.mime_type);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Formats a code block, with a fence longer than any in the text.
fn fenced(language: &str, text: &str) -> String {
    let longest = text
        .lines()
        .map(|line| {
            line.trim_start()
                .chars()
                .take_while(|tick| *tick == '`')
                .count()
        })
        .max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!(
        "{fence}{language}\n{}\n{fence}\n",
        text.trim_end_matches('\n')
    )
}
