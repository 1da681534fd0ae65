//! `zot ext list [--json]`.

mod json;
mod table;

use zot_host::settings::Settings;

use super::Context;
use crate::{output, package::installed};

pub(super) fn run(context: &Context, as_json: bool) -> anyhow::Result<()> {
    let all = installed::all_lenient(&context.cwd, &context.home)?;
    let config = Settings::load_quietly(&context.home);
    if as_json {
        return output::line(json::of(&all, &context.home, &config));
    }
    if all.is_empty() {
        return output::line(
            "no extensions installed\nhint: zot ext install PATH|GIT-URL, or `zot ext install --help`",
        );
    }
    output::print(&table::of(&all, &context.home, &config, output::columns()))
}
