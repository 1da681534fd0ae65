//! `zot ext new NAME --lang LANGUAGE`.

use super::Context;
use crate::{
    args::New,
    author::new::{self, Language, Request},
    output::{self, Style},
};

pub(super) fn run(context: &Context, args: &New) -> anyhow::Result<()> {
    let New { name, lang, sdk } = args;
    let made = new::new(&Request {
        name,
        language: *lang,
        sdk: sdk.as_deref(),
        cwd: &context.cwd,
    })?;
    let style = Style::of_stdout();
    let mut text = format!("✓ made {}\n", style.accent(format_args!("./{name}")));
    for file in &made.files {
        text.push_str(&format!("  {}\n", style.muted(file)));
    }
    text.push_str("\nNext:\n");
    let (build, clean) = match lang {
        Language::Rust => (
            Some("cargo install --path . --root ."),
            // The whole directory is copied.
            Some("cargo clean"),
        ),
        _ => (None, None),
    };
    let enter = format!("cd {name}");
    let try_it = format!("zot ext run . {} Ada", made.command);
    let steps = [
        Some(enter.as_str()),
        build,
        Some(&try_it),
        Some("zot-conform ."),
        clean,
        Some("zot ext install ."),
    ];
    for step in steps.into_iter().flatten() {
        text.push_str(&format!("  {step}\n"));
    }
    output::print(&text)?;
    for (program, from) in made.missing {
        output::note(format_args!(
            "! `{program}` is not on your PATH, and it needs that: {from}"
        ));
    }
    if *lang == Language::Rust && sdk.is_none() {
        output::note(
            "! it depends on the published `zot-sdk`; before that is out, use --sdk PATH, the directory of the crate",
        );
    }
    Ok(())
}
