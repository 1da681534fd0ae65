//! `zot-conform explain`: explains a check.

use std::{
    io::{Write, stdout},
    process::ExitCode,
};

use anyhow::bail;
use zot_conform::{Check, Level, Selection, catalogue, wrap};

/// Explains each check whose id matches.
pub(super) fn explain(id: &str) -> anyhow::Result<ExitCode> {
    let wanted = Selection {
        only: vec![id.to_owned()],
        ..Selection::default()
    };
    let found: Vec<_> = catalogue()
        .filter(|it| wanted.has(it.id, Level::Must))
        .collect();
    if found.is_empty() {
        bail!("no check matches `{id}`\nhint: run `zot-conform list` to see all checks");
    }
    let texts: Vec<String> = found.into_iter().map(text).collect();
    let _ = stdout().write_all(texts.join("\n").as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn text(check: &'static Check) -> String {
    let mut text = format!(
        "{} ({}): {}\n\n  What it does\n    {}\n\n  Why it matters\n    {}\n\n  How to fix it\n    {}\n",
        check.id,
        check.level.as_str(),
        check.title,
        wrapped(check.does),
        wrapped(check.why),
        wrapped(check.fix),
    );
    if check.profile == zot_conform::Profile::Full {
        text += "\n  Runs only with `--profile full`.\n";
    }
    if !check.needs.is_empty() {
        text += &format!(
            "\n  Blocked if one of these fails: {}\n",
            check.needs.join(", ")
        );
    }
    text
}

/// Wraps text at 76 columns. Continuation lines are indented like the first line.
fn wrapped(text: &str) -> String {
    wrap(text, 76, 0, 0).join("\n    ")
}
