//! `zot ext update [NAME]`.

use super::Context;
use crate::{
    args::Update,
    interrupt::Interrupted,
    output::{self, Style},
    package::{
        installed::{self, Installed},
        update,
    },
};

pub(super) fn run(context: &Context, args: &Update) -> anyhow::Result<()> {
    let Context { home, cwd } = context;
    let scope = args.scoped.scope();
    let all = installed::all(cwd, home)?;
    if let Some(name) = &args.name {
        return update::update(&installed::find(all, name, scope)?, cwd, args);
    }
    let all: Vec<Installed> = all
        .into_iter()
        .filter(|it| scope.is_none_or(|scope| it.store.scope == scope))
        .collect();
    if all.is_empty() {
        return output::line("no extensions installed");
    }
    each(&all, "updated", |it| update::update(it, cwd, args))
}

/// Runs `act` on each extension. Continues after a failure, and returns an error at the end.
pub(super) fn each(
    all: &[Installed],
    done: &str,
    mut act: impl FnMut(&Installed) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut failed = 0;
    for it in all {
        if let Err(error) = act(it) {
            if error.is::<Interrupted>() {
                return Err(error);
            }
            let cross = Style::of_stderr().error("✗");
            output::note(format_args!("{cross} {}: {error:#}", it.name()));
            failed += 1;
        }
    }
    match failed {
        0 => Ok(()),
        1 => anyhow::bail!("one extension could not be {done}"),
        _ => anyhow::bail!("{failed} extensions could not be {done}"),
    }
}
