//! `zot ext remove NAME [--purge]`.

use zot_host::extension::discover::escape;

use super::Context;
use crate::{
    args::Which,
    output,
    package::{
        installed,
        uninstall::{self, Data},
    },
};

pub(super) fn run(context: &Context, which: &Which, purge: bool) -> anyhow::Result<()> {
    let Context { home, cwd } = context;
    let it = installed::find(
        installed::all(cwd, home)?,
        &which.name,
        which.scoped.scope(),
    )?;
    let data = uninstall::remove(&it, &installed::all(cwd, home)?, home, purge)?;
    output::line(format_args!("✓ removed {} ({})", it.name(), it.store.scope))?;
    match data {
        Data::None => Ok(()),
        Data::Purged => output::line("  removed its data"),
        Data::Kept(path) => output::line(format_args!(
            "  kept its data in {} (use --purge to delete it)",
            escape::path(&path)
        )),
    }
}
