//! `zot auth …`: the keys of providers.

use std::{
    env,
    io::{self, IsTerminal, Read},
};

use anyhow::{Context, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zot_host::{
    home::Home,
    provider::{ApiKey, Credentials, Endpoint, base_url, check_key, credentials},
};

use crate::{
    args::{Auth, SetKey},
    clean,
    exit::Usage,
    interrupt,
    output::{self, Style},
    running,
    waiting::patiently,
};

/// Longer than any key; what follows is something else.
const MOST_BYTES: u64 = 64 * 1024;

pub(super) fn run(command: &Auth) -> anyhow::Result<()> {
    let keys = Credentials::of(&Home::from_env()?);
    match command {
        Auth::Set(args) => set(&keys, args),
        Auth::List => list(&keys),
        Auth::Remove { provider } => remove(&keys, provider),
    }
}

fn set(keys: &Credentials, args: &SetKey) -> anyhow::Result<()> {
    let provider = &args.provider;
    if !credentials::providers().any(|known| known == provider) {
        let known: Vec<&str> = credentials::providers().collect();
        let message = format!(
            "`{}` is not a provider with a key\nhint: one of {}",
            provider.escape_debug(),
            known.join(", ")
        );
        return Err(Usage::new(message).into());
    }
    let key = ApiKey::new(&read(provider)?)?;
    if !args.no_check {
        let base = args.base_url.as_deref().unwrap_or(base_url(provider));
        let endpoint = Endpoint::new(base, Some(key.clone()))
            .map_err(|error| Usage::new(format!("--base-url: {error}")))?;
        let trying = check_key(provider, endpoint);
        let tried = running::block_on(async {
            Ok(patiently(|| format!("trying the key with {provider}"), trying).await)
        })?;
        if let Err(error) = tried {
            bail!(
                "the key was not kept: {}\nhint: --no-check keeps it without trying it",
                without_hint(&error.to_string())
            );
        }
    }
    keys.set(provider, &key)?;
    output::line(format_args!("kept the key of {provider}"))
}

/// What went wrong, without the advice to do what was just done.
fn without_hint(message: &str) -> String {
    let (message, _) = message.split_once("\nhint:").unwrap_or((message, ""));
    clean::text(message)
}

fn list(keys: &Credentials) -> anyhow::Result<()> {
    let kept = keys.list()?;
    let mut lines = Vec::new();
    for provider in credentials::providers() {
        let variable = credentials::variable_of(provider)
            .filter(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
        let in_file = kept.iter().any(|it| it == provider);
        match (variable, in_file) {
            (Some(variable), true) => lines.push(format!(
                "{provider}  {variable}, which wins over the one kept here"
            )),
            (Some(variable), false) => lines.push(format!("{provider}  {variable}")),
            (None, true) => lines.push(format!("{provider}  kept here")),
            (None, false) => {}
        }
    }
    if lines.is_empty() {
        output::note(Style::of_stderr().muted("no keys\nhint: zot auth set anthropic"));
        return Ok(());
    }
    output::print(&(lines.join("\n") + "\n"))
}

fn remove(keys: &Credentials, provider: &str) -> anyhow::Result<()> {
    if !keys.remove(provider)? {
        bail!(
            "there is no key of `{}` here\nhint: zot auth list",
            provider.escape_debug()
        );
    }
    output::line(format_args!("forgot the key of {provider}"))?;
    if let Some(variable) = credentials::variable_of(provider)
        && env::var_os(variable).is_some()
    {
        output::note(
            Style::of_stderr().muted(format_args!("! {variable} is set, and still counts")),
        );
    }
    Ok(())
}

/// The key, from a terminal without showing it, or from what is piped in.
fn read(provider: &str) -> anyhow::Result<String> {
    let stdin = io::stdin();
    let mut text;
    if stdin.is_terminal() {
        interrupt::watch().context("cannot watch for Ctrl-C")?;
        let unseen = Unseen::begin().context("cannot hide what is typed")?;
        let answer = output::ask(&format!("key of {provider} (not shown): "));
        drop(unseen);
        text = answer?;
        output::note("");
    } else {
        text = String::new();
        let read = stdin.lock().take(MOST_BYTES).read_to_string(&mut text);
        read.context("cannot read standard input")?;
    }
    Ok(text)
}

/// Nothing that is typed is shown for as long as this is there.
struct Unseen(Termios);

impl Unseen {
    fn begin() -> rustix::io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}
