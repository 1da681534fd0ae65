//! `zot ext why`.

use zot_host::decisions::{self, Decision, DecisionsError};

use super::Context;
use crate::{
    args::Why,
    clean, decision_text,
    output::{self, Style},
};

pub(super) fn run(context: &Context, args: &Why) -> anyhow::Result<()> {
    let recorded = match decisions::read(&context.home, args.session.as_deref()) {
        Ok(recorded) => recorded,
        Err(error @ DecisionsError::None) => {
            let hint = "zot records what extensions do with the events that they intercept";
            output::note(format_args!("{error}\nhint: {hint}"));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let is_wanted = |decision: &&Decision| match &args.tool {
        Some(tool) => decision.tool.as_ref() == Some(tool),
        None => true,
    };
    let wanted: Vec<&Decision> = recorded.decisions.iter().filter(is_wanted).collect();
    let last = &wanted[wanted.len().saturating_sub(args.last)..];
    if args.json {
        let lines = last.iter().map(|decision| {
            let value = serde_json::to_value(decision).unwrap_or_default();
            clean::json(&value) + "\n"
        });
        return output::print(&lines.collect::<String>());
    }
    let style = Style::of_stdout();
    let date = last.first().and_then(|it| it.time.get(..10));
    let session = clean::line(&recorded.session);
    let heading = format!(
        "session {session}, {}",
        date.unwrap_or("no matching decisions")
    );
    let mut text = format!("{}\n", style.muted(heading));
    for decision in last {
        text.push_str(&decision_text::of(decision, style));
    }
    if last.len() < wanted.len() {
        let more = wanted.len() - last.len();
        let hint = format!("… {more} earlier; --last {} shows all", wanted.len());
        text.push_str(&format!("{}\n", style.muted(hint)));
    }
    output::print(&text)
}
