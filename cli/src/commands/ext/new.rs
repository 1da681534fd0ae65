//! `zot ext new NAME --lang LANGUAGE`.

use super::Context;
use crate::{
    args::New,
    author::new::{self, Language},
    output::{self, Style},
};

pub(super) fn run(context: &Context, args: &New) -> anyhow::Result<()> {
    let New { name, lang, sdk } = args;
    let created = new::new(args, &context.cwd)?;
    let style = Style::of_stdout();
    let mut text = format!("✓ created {}\n", style.accent(format_args!("./{name}")));
    for file in &created.files {
        text.push_str(&format!("  {}\n", style.muted(file)));
    }
    text.push_str("\nNext:\n");
    let build = (*lang == Language::Rust).then_some("cargo install --path . --root .");
    let enter = format!("cd {name}");
    let try_it = format!("zot ext run . {} Ada", created.command);
    let steps = [
        Some(enter.as_str()),
        build,
        Some(&try_it),
        Some("zot-conform ."),
        Some("zot ext install ."),
    ];
    for step in steps.into_iter().flatten() {
        text.push_str(&format!("  {step}\n"));
    }
    output::print(&text)?;
    for (program, from) in created.missing {
        output::note(format_args!(
            "! `{program}` is required but is not on your PATH; get it from {from}"
        ));
    }
    if *lang == Language::Rust && sdk.is_none() {
        output::note(
            "! the extension depends on `zot-sdk` from crates.io; until it is published there, pass the crate's directory with --sdk PATH",
        );
    }
    Ok(())
}
