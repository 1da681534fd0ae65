//! Blocks shell commands that cannot be undone and says why, so that the model can find another
//! way.
//!
//! Its manifest sets `on_failure: block`, so no tool runs while the guard is not running.

mod rules;

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use zot_sdk::{Decision, Extension, NoteLevel, Reply};

fn extension() -> Extension {
    let blocked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&blocked);
    Extension::new("guard", "1.0.0")
        .command("guard", "show how many commands were blocked", move |_, _| {
            Reply::display(format!("blocked so far: {}", count.load(Ordering::Relaxed)))
        })
        .intercept_tool_call(move |call, ctx| {
            if call.tool_name != "bash" {
                return Decision::allow();
            }
            // Block a shell call without a command, too.
            let Some(command) = call.tool_args.get("command").and_then(|it| it.as_str()) else {
                return Decision::block("guard: the call has no command");
            };
            match rules::danger(command) {
                None => Decision::allow(),
                Some(why) => {
                    blocked.fetch_add(1, Ordering::Relaxed);
                    ctx.notify(NoteLevel::Warn, format!("blocked because {why}: {command}"));
                    Decision::block(format!(
                        "guard: blocked because {why}. Use a command that can be undone, or ask the user to run it."
                    ))
                }
            }
        })
}

fn main() -> ExitCode {
    extension().run()
}

#[cfg(test)]
mod tests {
    use zot_sdk::{Object, ToolCallIntercept, testing::TestHost};

    use super::*;

    #[test]
    fn blocks_only_commands_that_cannot_be_undone() {
        let host = TestHost::start(extension());
        let ask = |tool: &str, command: Option<&str>| {
            let args: Object = command
                .map(|command| ("command".to_owned(), command.into()))
                .into_iter()
                .collect();
            host.intercept(ToolCallIntercept::new(tool, args)).block
        };
        assert!(ask("bash", Some("rm -rf /")));
        assert!(ask("bash", None));
        assert!(!ask("bash", Some("ls")));
        assert!(!ask("read", None));
        let shown = host.command("guard", "").display;
        assert_eq!(shown.as_deref(), Some("blocked so far: 1"));
    }
}
