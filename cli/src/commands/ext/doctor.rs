//! `zot ext doctor [NAME] [--json]`.

use super::Context;
use crate::{
    args::Doctor,
    doctor::{self, Verdict},
    exit::Exit,
    output::{self, Style},
    package::installed,
};

pub(super) fn run(context: &Context, args: &Doctor) -> anyhow::Result<()> {
    let Context { home, cwd } = context;
    let all = installed::all_lenient(cwd, home)?;
    let matches = |it: &installed::Installed| match &args.name {
        Some(name) => it.name() == name || it.dir_name == *name,
        None => true,
    };
    let selected: Vec<bool> = all.iter().map(matches).collect();
    if let Some(name) = &args.name
        && !selected.contains(&true)
    {
        // This fails with an error that suggests a similar name.
        return installed::find(all, name, None).map(drop);
    }
    let mut selected = selected.into_iter();
    let mut diagnoses = doctor::examine(&all, cwd, home)?;
    diagnoses.retain(|_| selected.next().unwrap_or(true));
    if args.json {
        output::line(doctor::json::of(&diagnoses))?;
    } else if diagnoses.is_empty() {
        output::line(
            "no extensions installed\nhint: zot ext install PATH|GIT-URL, or zot ext new NAME --lang LANGUAGE",
        )?;
    } else {
        output::print(&doctor::text::of(&diagnoses, Style::of_stdout()))?;
    }
    if diagnoses.iter().any(|it| it.verdict() == Verdict::Broken) {
        return Err(Exit(1).into());
    }
    Ok(())
}
