//! The text output of `zot ext doctor`.

use std::time::Duration;

use zot_host::extension::discover::escape;

use super::{Diagnosis, Verdict};
use crate::{clean, output::Style, registration_summary};

/// Formats all diagnoses, followed by a count per verdict.
pub(crate) fn of(diagnoses: &[Diagnosis], style: Style) -> String {
    let mut text: String = diagnoses
        .iter()
        .map(|diagnosis| one(diagnosis, style))
        .collect();
    let count = |verdict| {
        diagnoses
            .iter()
            .filter(|it| it.verdict() == verdict)
            .count()
    };
    let counts: Vec<String> = [
        (Verdict::Healthy, "healthy"),
        (Verdict::Warning, "with warnings"),
        (Verdict::Broken, "broken"),
        (Verdict::NotStarted, "not started"),
    ]
    .into_iter()
    .map(|(verdict, word)| (verdict, count(verdict), word))
    .filter(|(_, count, _)| *count > 0)
    .map(|(verdict, count, word)| format!("{} {count} {word}", sign(verdict, style)))
    .collect();
    text.push_str(&counts.join("  "));
    text.push('\n');
    text
}

fn sign(verdict: Verdict, style: Style) -> String {
    match verdict {
        Verdict::Healthy => style.accent(verdict.sign()),
        Verdict::Broken => style.error(verdict.sign()),
        Verdict::Warning => verdict.sign().to_owned(),
        Verdict::NotStarted => style.muted(verdict.sign()),
    }
}

fn one(it: &Diagnosis, style: Style) -> String {
    let mut lines = vec![heading(it, style)];
    let mut row = |label: &str, text: String| {
        lines.push(format!("    {} {text}", style.muted(format!("{label:<9}"))));
    };
    if let Some(aside) = &it.aside {
        row("why", clean::line(aside));
    }
    for problem in &it.problems {
        let place = problem.place.as_ref().map(|(file, pointer)| {
            let pointer = pointer.as_deref().map(clean::line);
            format!(
                "{}: {}",
                escape::path(file),
                pointer.map_or(String::new(), |it| it + ": ")
            )
        });
        let what = clean::line(&problem.what);
        row(
            "why",
            style.error(format!("{}{what}", place.unwrap_or_default())),
        );
        if let Some(hint) = &problem.hint {
            row("hint", clean::line(hint));
        }
    }
    for (index, line) in it.stderr.iter().enumerate() {
        row(if index == 0 { "stderr" } else { "" }, style.muted(line));
    }
    for warning in &it.warnings {
        row("!", warning.clone());
    }
    if let Some(known) = &it.registers {
        let registers = registration_summary::one_line(known);
        row(
            "registers",
            registers.unwrap_or_else(|| "nothing".to_owned()),
        );
    }
    if let Some(permissions) = &it.permissions {
        row("access", clean::line(&permissions.to_string()));
    }
    if it.permissions.is_some() {
        row("log", escape::path(&it.log));
    }
    lines.join("\n") + "\n\n"
}

/// Formats the heading, such as `✓ weather 1.0.0 (global): hello after 31 ms, ready after 32 ms`.
fn heading(it: &Diagnosis, style: Style) -> String {
    let name = style.accent(clean::line(&it.name));
    let version = it.version.as_deref().map_or(String::new(), |version| {
        format!(" {}", clean::line(version))
    });
    let state = match it.state {
        "ready" => times(it),
        "failed" => "failed to start".to_owned(),
        "late" => "not ready in time".to_owned(),
        "broken" => "invalid manifest".to_owned(),
        other => other.to_owned(),
    };
    let state = if it.state == "failed" && it.times.hello.is_some() {
        "exited".to_owned()
    } else {
        state
    };
    format!(
        "{} {name}{version} ({}): {state}",
        sign(it.verdict(), style),
        it.scope
    )
}

fn times(it: &Diagnosis) -> String {
    let mut parts = Vec::new();
    if let Some(hello) = it.times.hello {
        parts.push(format!("hello after {}", milliseconds(hello)));
    }
    if let Some(ready) = it.times.ready {
        parts.push(format!("ready after {}", milliseconds(ready)));
    }
    parts.join(", ")
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}
