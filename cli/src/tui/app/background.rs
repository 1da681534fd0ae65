//! `/tasks`: lists background commands and stops them.

use zot_host::Runtime;

use crate::{
    clean,
    tui::{
        message::EffectResult,
        state::{Choice, Level, Picked, Picker},
        widget::elapsed,
    },
};

/// Lists the running and finished background commands, newest first.
pub(super) async fn list(runtime: Runtime) -> Result<EffectResult, String> {
    let commands = runtime.toolbox().background();
    let choices = commands.into_iter().rev().map(|command| {
        let time = elapsed(command.time);
        let state = match &command.ended {
            Some(how) => format!("{how} after {time}"),
            None => format!("running for {time}"),
        };
        let first = command.command.lines().next().unwrap_or_default();
        Choice {
            label: clean::line(first),
            detail: clean::line(&format!(
                "{} · {state} · {}",
                command.id,
                command.output.display()
            )),
            picked: Picked::Background(command.id),
        }
    });
    let picker = Picker::new("Background commands", choices.collect(), 0).on_enter("stop");
    Ok(EffectResult::Choices(picker, "no background commands"))
}

/// Stops a command and all processes that it has started.
pub(super) async fn kill(runtime: Runtime, id: String) -> Result<EffectResult, String> {
    let text = if runtime.toolbox().kill_background(&id).await {
        format!("stopped {id}")
    } else {
        format!("{id} has already ended")
    };
    Ok(EffectResult::Notice(Level::Done, text))
}
