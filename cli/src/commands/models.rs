//! `zot --list-models`.

use zot_host::{home::Home, provider::Catalogue};

use crate::{
    agent::headless::log_message,
    args::{Flags, LogLevel},
    clean, output,
};

pub(super) fn run(flags: &Flags) -> anyhow::Result<()> {
    let (catalogue, faults) = Catalogue::load(&Home::from_env()?);
    for fault in &faults {
        log_message(flags.log_level, LogLevel::Warn, fault);
    }
    let wanted = |provider: &str| flags.provider.as_deref().is_none_or(|it| it == provider);
    let rows: Vec<[String; 5]> = catalogue
        .models()
        .iter()
        .filter(|model| wanted(&model.provider))
        .map(|model| {
            [
                clean::line(&model.provider),
                clean::line(&model.id),
                thousands(model.context_window),
                thousands(model.max_output),
                model.source.to_string(),
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
            unreachable!("one for each column")
        };
        text.push_str(&format!(
            "{provider:w0$}  {model:w1$}  {context:>w2$}  {output:>w3$}  {source}\n"
        ));
    }
    output::print(&text)
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
