//! The smallest useful extension: two slash commands.

use std::process::ExitCode;

use zot_sdk::{Extension, Reply};

/// The name to greet.
fn whom(args: &str) -> &str {
    if args.is_empty() { "me" } else { args }
}

fn extension() -> Extension {
    Extension::new("hello", "1.0.0")
        .command("hello", "have the model greet somebody", |args, _| {
            let whom = whom(&args);
            Reply::prompt(format!("Greet {whom} warmly, in one sentence."))
        })
        .command("hi", "a greeting without the model", |args, ctx| {
            let project = ctx.host().cwd.rsplit('/').next().unwrap_or_default();
            Reply::display(format!("Hi {}, welcome to {project}.", whom(&args)))
        })
}

fn main() -> ExitCode {
    extension().run()
}

#[cfg(test)]
mod tests {
    use zot_sdk::testing::TestHost;

    use super::*;

    #[test]
    fn greets() {
        let host = TestHost::start(extension());
        let asked = host.command("hello", "Ada").prompt;
        assert_eq!(asked.as_deref(), Some("Greet Ada warmly, in one sentence."));
        let shown = host.command("hi", "").display;
        assert_eq!(shown.as_deref(), Some("Hi me, welcome to project."));
    }
}
