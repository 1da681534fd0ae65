//! `zot --list-models`.

use std::{env, sync::Arc};

use anyhow::bail;
use zot_host::{
    clock,
    home::Home,
    provider::{Catalogue, Model, resolve},
    settings::Settings,
};
use zot_protocol::Config;

use crate::{
    agent::{headless::log_message, wanted},
    args::{Flags, LogLevel},
    clean,
    exit::Usage,
    output::{self, Style},
    short_lived_host,
    spinner::with_spinner,
};

pub(super) fn run(flags: &Flags) -> anyhow::Result<()> {
    let home = Home::from_env()?;
    let config = Settings::load_quietly(&home);
    let (catalogue, faults) = Catalogue::load(&home, &config);
    for fault in &faults {
        log_message(flags.log_level, LogLevel::Warn, fault);
    }
    let catalogue = Arc::new(catalogue);
    let wanted = |provider: &str| flags.provider.as_deref().is_none_or(|it| it == provider);
    let known = catalogue.models().iter();
    let mut models: Vec<Model> = known
        .filter(|model| wanted(&model.provider))
        .cloned()
        .collect();
    if flags.provider.is_some() {
        for model in listed(flags, &config, &home, &catalogue)? {
            if !models.iter().any(|known| known.id == model.id) {
                models.push(model);
            }
        }
    }
    if let Some(provider) = flags.provider.as_deref().filter(|_| models.is_empty()) {
        bail!(
            "no known models for {}\nhint: to list the models of its server, save an API key: zot auth set {0}",
            clean::line(provider)
        );
    }
    let today = &clock::now()[..10];
    let rows: Vec<[String; 5]> = models
        .iter()
        .map(|model| {
            let retired = model.retired.as_deref().filter(|_| model.is_retired(today));
            let source = match retired {
                Some(date) => format!("{} (retired {})", model.source, clean::line(date)),
                None => model.source.to_string(),
            };
            [
                clean::line(&model.provider),
                clean::line(&model.id),
                thousands(model.context_window),
                thousands(model.max_output),
                source,
            ]
        })
        .collect();
    let head = ["PROVIDER", "MODEL", "CONTEXT", "OUTPUT", "SOURCE"].map(str::to_owned);
    let widths: Vec<usize> = (0..5)
        .map(|column| {
            let rows = rows.iter().chain([&head]);
            rows.map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in [&head].into_iter().chain(&rows) {
        let [provider, model, context, output, source] = row;
        let [w0, w1, w2, w3, _] = widths[..] else {
            unreachable!("there is one width per column")
        };
        text.push_str(&format!(
            "{provider:w0$}  {model:w1$}  {context:>w2$}  {output:>w3$}  {source}\n"
        ));
    }
    output::print(&text)?;
    let date = Catalogue::date();
    output::note(Style::of_stderr().muted(format_args!("the built-in list is from {date}")));
    Ok(())
}

/// Returns the models that the provider's server lists. Prints a warning if the request fails.
fn listed(
    flags: &Flags,
    config: &Config,
    home: &Home,
    catalogue: &Arc<Catalogue>,
) -> anyhow::Result<Vec<Model>> {
    let mut wanted = wanted(flags)?;
    // Listing models does not use a model, but `resolve` requires one.
    wanted.model = Some(String::new());
    let resolved = resolve(&wanted, config, home, catalogue, |name| env::var_os(name));
    let resolved = match resolved {
        Ok(resolved) => resolved,
        Err(error) if error.is_no_key() => return Ok(Vec::new()),
        Err(error) => return Err(Usage::new(error.to_string()).into()),
    };
    let name = resolved.provider.name().to_owned();
    let answer = short_lived_host::block_on(async {
        let asking = resolved.provider.models();
        Ok(with_spinner(|| format!("asking {name} for its models"), asking).await)
    })?;
    match answer {
        Ok(listed) => Ok(listed
            .iter()
            .map(|listed| catalogue.model(&name, &listed.id).listed(listed))
            .collect()),
        Err(error) => {
            log_message(flags.log_level, LogLevel::Warn, &error.to_string());
            Ok(Vec::new())
        }
    }
}

/// Formats a token count in its usual short form, such as `200k`.
fn thousands(tokens: u64) -> String {
    match tokens {
        1_000_000.. if tokens.is_multiple_of(1_000_000) => format!("{}M", tokens / 1_000_000),
        1_000_000.. if tokens.is_multiple_of(100_000) => {
            format!("{}.{}M", tokens / 1_000_000, tokens / 100_000 % 10)
        }
        1_000.. => format!("{}k", tokens / 1_000),
        _ => tokens.to_string(),
    }
}
