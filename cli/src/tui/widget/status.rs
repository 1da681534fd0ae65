//! The status bar: model, context usage, cost, working directory and extensions.

use ratatui::text::{Line, Span};
use zot_host::approval::ConfirmMode;
use zot_protocol::rpc::ExtensionState;

use crate::{
    clean,
    tui::{state::State, text, theme::Theme},
};

pub(crate) fn line(state: &State, width: u16) -> Line<'static> {
    let (theme, status) = (&state.theme, &state.status);
    if state.is_exit_armed() {
        let text = text::fit("press ctrl+c again to exit", width);
        return Line::styled(text, theme.strong);
    }
    let mut parts = vec![(name(&status.provider, &status.model), theme.text)];
    if status.window > 0 {
        let percent = (status.used * 100).div_ceil(status.window).min(100);
        parts.push((
            format!("{percent}% of {}", tokens(status.window)),
            theme.muted,
        ));
    }
    parts.push((format!("${:.2}", status.cost), theme.muted));
    parts.push((status.cwd.clone(), theme.muted));
    let ready = |state: &ExtensionState| *state == ExtensionState::Ready;
    if !state.extensions.is_empty() {
        let count = state
            .extensions
            .iter()
            .filter(|it| ready(&it.state))
            .count();
        let text = format!("ext {count}/{}", state.extensions.len());
        let failed = |it: &ExtensionState| *it == ExtensionState::Failed;
        let style = if state.extensions.iter().any(|it| failed(&it.state)) {
            theme.error
        } else {
            theme.muted
        };
        parts.push((text, style));
    }
    let audited = state.extensions.iter().filter(|it| !it.audited.is_empty());
    let audited: Vec<String> = audited.map(|it| clean::line(&it.name)).collect();
    if !audited.is_empty() {
        parts.push((format!("audit: {}", audited.join(", ")), theme.strong));
    }
    if status.jailed {
        parts.push(("jailed".to_owned(), theme.accent));
    }
    if state.approvals.mode() == ConfirmMode::Always {
        parts.push(("confirm".to_owned(), theme.accent));
    }
    joined(parts, width, theme)
}

/// Joins the names of the provider and the model. If they are the same, the name is not repeated.
fn name(provider: &str, model: &str) -> String {
    if provider == model {
        provider.to_owned()
    } else {
        format!("{provider} {model}")
    }
}

fn joined(parts: Vec<(String, ratatui::style::Style)>, width: u16, theme: &Theme) -> Line<'static> {
    let mut spans = Vec::new();
    for (text, style) in parts {
        if !spans.is_empty() {
            spans.push(Span::styled(" · ", theme.muted));
        }
        spans.push(Span::styled(text, style));
    }
    text::fit_line(&Line::from(spans), width)
}

/// Formats a token count as `200k` or `1M`.
fn tokens(count: u64) -> String {
    match count {
        1_000_000.. => format!("{}M", count / 1_000_000),
        1_000.. => format!("{}k", count / 1_000),
        _ => count.to_string(),
    }
}
