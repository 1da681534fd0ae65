//! Prints the response from a command or a tool, as text or as JSON.

use serde_json::Value;
use zot_protocol::{Action, CommandResponse, Content, Panel, ToolResult};

use super::one_request::Answer;
use crate::{
    clean,
    exit::Exit,
    output::{self, Style},
};

/// Prints the response: errors go to standard error, unless `as_json` is set. Fails with exit code
/// 1 for an error response.
pub(crate) fn print(answer: &Answer, raw: &Value, as_json: bool) -> anyhow::Result<()> {
    let failed = match answer {
        Answer::Command(response) => error_of(response).is_some(),
        Answer::Tool(result) => result.is_error,
    };
    if as_json {
        output::line(clean::json(raw))?;
    } else {
        match answer {
            Answer::Command(response) => print_response(response)?,
            Answer::Tool(result) => print_result(result)?,
        }
    }
    if failed { Err(Exit(1).into()) } else { Ok(()) }
}

fn error_of(response: &CommandResponse) -> Option<&str> {
    response.error.as_deref().filter(|error| !error.is_empty())
}

fn print_response(response: &CommandResponse) -> anyhow::Result<()> {
    if let Some(error) = error_of(response) {
        let style = Style::of_stderr();
        output::note(format_args!("{} {}", style.error("✗"), clean::text(error)));
        return Ok(());
    }
    let text = |text: &Option<String>| text.as_deref().map(clean::text).unwrap_or_default();
    let aside = |text: &str| output::note(Style::of_stderr().muted(text));
    match response.action.as_ref().unwrap_or(&Action::Noop) {
        Action::Display => block(&text(&response.display)),
        Action::Prompt => {
            let prompt = text(&response.prompt);
            aside(if prompt.trim().is_empty() {
                "would submit nothing: the prompt is blank"
            } else {
                "would submit this prompt:"
            });
            block(&prompt)
        }
        Action::Insert => {
            aside("would insert into the editor:");
            block(&text(&response.insert))
        }
        Action::OpenPanel => match &response.open_panel {
            Some(shown) => output::line(panel(shown, Style::of_stdout())),
            None => Ok(()),
        },
        Action::Noop => {
            aside("done; nothing to show");
            Ok(())
        }
        other => {
            aside(&format!("unknown action: {other:?}"));
            Ok(())
        }
    }
}

fn print_result(result: &ToolResult) -> anyhow::Result<()> {
    for content in &result.content {
        let text = match content {
            Content::Text(text) => clean::text(&text.text),
            Content::Image(image) => format!(
                "[image {}, {}]",
                clean::line(&image.mime_type),
                output::bytes(decoded_len(&image.data))
            ),
            _ => "[unknown content]".to_owned(),
        };
        if result.is_error {
            let style = Style::of_stderr();
            output::note(format_args!("{} {}", style.error("✗"), text.trim_end()));
        } else {
            block(&text)?;
        }
    }
    if result.content.is_empty() {
        output::note(Style::of_stderr().muted("empty result"));
    }
    Ok(())
}

/// Returns the decoded length of base64 data.
fn decoded_len(data: &str) -> u64 {
    let padding = data.bytes().rev().take_while(|&byte| byte == b'=').count();
    (data.len() / 4 * 3).saturating_sub(padding) as u64
}

/// Prints text, and a newline unless the text is empty or already ends with one.
fn block(text: &str) -> anyhow::Result<()> {
    if text.is_empty() || text.ends_with('\n') {
        output::print(text)
    } else {
        output::line(text)
    }
}

/// Formats a panel as zot would show it: title, lines, and a muted footer.
pub(super) fn panel(panel: &Panel, style: Style) -> String {
    let mut lines = Vec::new();
    if let Some(title) = &panel.title {
        lines.push(format!("┌ {}", style.accent(clean::line(title))));
    }
    lines.extend(
        panel
            .lines
            .iter()
            .map(|line| format!("│ {}", clean::line(line)).trim_end().to_owned()),
    );
    if let Some(footer) = &panel.footer {
        lines.push(format!("└ {}", style.muted(clean::line(footer))));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_shows_its_decoded_size() {
        let size = |data: &str| output::bytes(decoded_len(data));
        assert_eq!(size(""), "0 bytes");
        assert_eq!(size("aGk="), "2 bytes");
        assert_eq!(size("aA=="), "1 byte");
        assert_eq!(size(&"AAAA".repeat(512)), "1.5 KiB");
    }
}
