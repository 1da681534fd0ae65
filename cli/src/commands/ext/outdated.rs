//! `zot ext outdated`.

use super::{Context, update::each};
use crate::{
    output,
    package::{
        installed,
        lock_file::short,
        update::{UpdateStatus, status},
    },
};

pub(super) fn run(context: &Context, allow_insecure: bool) -> anyhow::Result<()> {
    let all = installed::all(&context.cwd, &context.home)?;
    let mut behind = 0;
    let checked = each(&all, "checked", |it| {
        match status(it, &context.cwd, allow_insecure)? {
            UpdateStatus::Behind {
                old,
                new,
                moved_tag,
            } => {
                behind += 1;
                let moved = if moved_tag.is_some() {
                    "  ! tag was moved"
                } else {
                    ""
                };
                let (name, scope) = (it.name(), it.store.scope);
                output::line(format_args!(
                    "{name} ({scope}): {} → {}{moved}",
                    short(&old),
                    short(&new)
                ))
            }
            UpdateStatus::Current(_) | UpdateStatus::NotUpdatable(_) => Ok(()),
        }
    });
    if behind == 0 && checked.is_ok() {
        return output::line("everything is up to date");
    }
    checked
}
