//! `zot auth …`: manages API keys.

use std::{
    env,
    io::{self, IsTerminal, Read},
};

use anyhow::{Context, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zot_host::{
    home::Home,
    provider::{ApiKey, Credentials, Endpoint, Providers, list_models},
    settings::Settings,
};

use crate::{
    args::{Auth, SetKey},
    clean,
    exit::Usage,
    interrupt,
    output::{self, Style},
    short_lived_host,
    spinner::with_spinner,
};

/// The maximum number of bytes to read; no key is longer.
const MAX_BYTES: u64 = 64 * 1024;

pub(super) fn run(command: &Auth) -> anyhow::Result<()> {
    let home = Home::from_env()?;
    let keys = Credentials::of(&home);
    let providers = Providers::of(&Settings::load_quietly(&home));
    match command {
        Auth::Set(args) => set(&keys, &providers, args),
        Auth::List => list(&keys, &providers),
        Auth::Remove { provider } => remove(&keys, &providers, provider),
    }
}

fn set(keys: &Credentials, providers: &Providers, args: &SetKey) -> anyhow::Result<()> {
    let provider = &args.provider;
    let Some(spec) = providers.get(provider) else {
        return Err(Usage::new(providers.unknown(provider)).into());
    };
    let key = ApiKey::new(&read(provider)?)?;
    // If the provider's URL depends on the account, the key cannot be checked.
    let base_url = args.base_url.as_ref().or(spec.base_url.as_ref());
    let endpoint = base_url.map(|base_url| {
        Endpoint::new(base_url, Some(key.clone()))
            .map_err(|error| Usage::new(format!("--base-url: {error}")))
    });
    let endpoint = endpoint.transpose()?;
    if let Some(endpoint) = endpoint.clone().filter(|_| !args.no_check) {
        let checking = list_models(provider, spec.api, endpoint);
        let tried = short_lived_host::block_on(async {
            Ok(with_spinner(|| format!("checking the key with {provider}"), checking).await)
        })?;
        if let Err(error) = tried {
            bail!(
                "API key not saved: {}\nhint: use --no-check to save it without checking",
                without_hint(&error.to_string())
            );
        }
    }
    keys.set(provider, &key, endpoint.as_ref())?;
    output::line(format_args!("saved API key for {provider}"))
}

/// Returns the message without its hint, which would suggest the command that just ran.
fn without_hint(message: &str) -> String {
    let (message, _) = message.split_once("\nhint:").unwrap_or((message, ""));
    clean::text(message)
}

fn list(keys: &Credentials, providers: &Providers) -> anyhow::Result<()> {
    let kept = keys.list()?;
    let mut lines = Vec::new();
    for provider in providers.names() {
        let variable = providers
            .key_variable(provider)
            .filter(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
        let in_file = kept.iter().any(|it| it == provider);
        match (variable, in_file) {
            (Some(variable), true) => {
                lines.push(format!("{provider}  {variable} (overrides the saved key)"));
            }
            (Some(variable), false) => lines.push(format!("{provider}  {variable}")),
            (None, true) => lines.push(format!("{provider}  saved")),
            (None, false) => {}
        }
    }
    if lines.is_empty() {
        output::note(Style::of_stderr().muted("no API keys found\nhint: zot auth set anthropic"));
        return Ok(());
    }
    output::print(&(lines.join("\n") + "\n"))
}

fn remove(keys: &Credentials, providers: &Providers, provider: &str) -> anyhow::Result<()> {
    if !keys.remove(provider)? {
        bail!(
            "no saved API key for `{}`\nhint: zot auth list",
            provider.escape_debug()
        );
    }
    output::line(format_args!("removed API key for {provider}"))?;
    if let Some(variable) = providers.key_variable(provider)
        && env::var_os(variable).is_some()
    {
        output::note(
            Style::of_stderr().muted(format_args!("! {variable} is still set and will be used")),
        );
    }
    Ok(())
}

/// Reads the key from the terminal without echo, or from piped standard input.
fn read(provider: &str) -> anyhow::Result<String> {
    let stdin = io::stdin();
    let mut text;
    if stdin.is_terminal() {
        interrupt::watch().context("cannot watch for Ctrl-C")?;
        let echo_off = EchoOff::new().context("cannot disable terminal echo")?;
        let answer = output::ask(&format!("API key for {provider} (hidden): "));
        drop(echo_off);
        text = answer?;
        output::note("");
    } else {
        text = String::new();
        let read = stdin.lock().take(MAX_BYTES).read_to_string(&mut text);
        read.context("cannot read standard input")?;
    }
    Ok(text)
}

/// Disables terminal echo until it is dropped.
struct EchoOff(Termios);

impl EchoOff {
    fn new() -> rustix::io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}
