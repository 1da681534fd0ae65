//! `zot-conform list`: lists all checks.

use std::{
    io::{Write, stdout},
    process::ExitCode,
};

use serde_json::json;
use zot_conform::catalogue;

/// Prints one line per check, or one JSON document.
pub(super) fn list(as_json: bool) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    if as_json {
        let checks: Vec<_> = catalogue()
            .map(|check| {
                json!({
                    "id": check.id, "level": check.level.as_str(), "profile": check.profile.as_str(),
                    "title": check.title, "does": check.does, "why": check.why, "fix": check.fix,
                    "needs": check.needs,
                })
            })
            .collect();
        text = serde_json::to_string_pretty(&checks)?;
        text.push('\n');
    } else {
        for check in catalogue() {
            let from = match check.profile {
                zot_conform::Profile::Full => " (--profile full)",
                _ => "",
            };
            text += &format!(
                "{}  {:<6}  {}{from}\n",
                check.id,
                check.level.as_str(),
                check.title
            );
        }
    }
    // Ignore a broken pipe (`| head`).
    let _ = stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}
