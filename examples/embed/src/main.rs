//! Embeds the agent in a program.
//!
//! ```sh
//! cargo run -p zot-example-embed -- demo "what does this project do?"
//! ```
//!
//! The first argument is the provider. The API key is looked up in the same places as in `zot`.
//! Ctrl-C aborts the turn.

use std::{
    env,
    io::{self, Write},
    sync::Arc,
};

use anyhow::{Context, bail};
use zot_host::{
    EventStream, Hooks, Prompt, Runtime, RuntimeConfig,
    approval::{Approvals, ConfirmMode},
    home::Home,
    provider::{Catalogue, Wanted, resolve},
    settings::Settings,
};
use zot_protocol::{NoteLevel, rpc::Event};

/// Prints messages from extensions and from the agent itself.
struct Notes;

impl Hooks for Notes {
    fn note(&self, extension: &str, _: NoteLevel, message: &str) {
        eprintln!("[{extension}] {message}");
    }

    fn notice(&self, _: NoteLevel, message: &str) {
        eprintln!("! {message}");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [provider, message] = &words[..] else {
        bail!("usage: zot-example-embed PROVIDER MESSAGE");
    };
    let runtime = Runtime::new(config(provider)?)?;
    let events = runtime.prompt(Prompt::text(message))?;
    let followed = follow(&runtime, events).await;
    let usage = runtime.usage().await;
    // Stops the extensions and every process they started.
    runtime.close().await;
    eprintln!("{} tokens in, {} out", usage.input, usage.output);
    followed
}

/// Returns the agent's configuration, read from the user's settings as `zot` does.
fn config(provider: &str) -> anyhow::Result<RuntimeConfig> {
    let home = Home::from_env()?;
    let cwd = env::current_dir().context("cannot read the working directory")?;
    let settings = Settings::load(&home);
    let catalogue = Arc::new(Catalogue::load(&home, &settings.config).0);
    let wanted = Wanted {
        provider: Some(provider.to_owned()),
        ..Wanted::default()
    };
    let model = resolve(&wanted, &settings.config, &home, &catalogue, |name| {
        env::var_os(name)
    })?;
    let mut config = RuntimeConfig::new(home, cwd, model);
    config.catalogue = catalogue;
    config.extensions = settings.config.extensions;
    // This program cannot ask the user, so calls that match an `ask` rule are refused.
    config.approvals = Arc::new(Approvals::new(
        settings.config.approvals,
        ConfirmMode::Rules,
    ));
    config.hooks = Arc::new(Notes);
    Ok(config)
}

/// Prints the text as it streams. Returns an error if the run failed.
async fn follow(runtime: &Runtime, mut events: EventStream) -> anyhow::Result<()> {
    let mut failure = None;
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            _ = tokio::signal::ctrl_c() => {
                // Keep reading: the stream still ends with `done`.
                runtime.cancel();
                continue;
            }
        };
        match event {
            Some(Event::TextDelta(piece)) => {
                print!("{}", piece.delta);
                io::stdout().flush()?;
            }
            Some(Event::ToolCall(call)) => eprintln!("\n> {}", call.name),
            Some(Event::Error(error)) => failure = Some(error.message),
            Some(_) => {}
            None => break,
        }
    }
    println!();
    match failure {
        Some(why) => bail!(why),
        None => Ok(()),
    }
}
