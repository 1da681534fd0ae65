//! The smallest useful extension: two slash commands.

use std::process::ExitCode;

use zot_sdk::{Extension, Reply};

/// The name to greet.
fn name_or_me(args: &str) -> &str {
    if args.is_empty() { "me" } else { args }
}

fn extension() -> Extension {
    Extension::new("hello", "1.0.0")
        .command("hello", "ask the model to greet someone", |args, _| {
            let name = name_or_me(&args);
            Reply::prompt(format!("Greet {name} warmly, in one sentence."))
        })
        .command("hi", "greet without the model", |args, ctx| {
            let project = ctx.host().cwd.rsplit('/').next().unwrap_or_default();
            Reply::display(format!("Hi {}, welcome to {project}.", name_or_me(&args)))
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
