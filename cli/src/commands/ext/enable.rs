//! `zot ext enable NAME` and `zot ext disable NAME`.

use super::Context;
use crate::{
    args::Which,
    output,
    package::{installed, switch},
};

pub(super) fn run(context: &Context, which: &Which, enabled: bool) -> anyhow::Result<()> {
    let all = installed::all(&context.cwd, &context.home)?;
    let it = installed::find(all, &which.name, which.scoped.scope())?;
    let changed = switch::set_enabled(&it, enabled)?;
    let (name, scope) = (it.name(), it.store.scope);
    let state = if enabled { "enabled" } else { "disabled" };
    let already = if changed { "" } else { "already " };
    output::line(format_args!("✓ {name} is {already}{state} ({scope})"))
}
