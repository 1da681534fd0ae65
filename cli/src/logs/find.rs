//! Which log a name means.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::bail;
use zot_host::{extension::discover::shown, home::Home};

use crate::package::installed;

/// The log of the extension `name`: one that is installed, by its name or its directory's, or one that was once.
pub(crate) fn find(name: &str, cwd: &Path, home: &Home) -> anyhow::Result<PathBuf> {
    let logs = names(home);
    if logs.iter().any(|known| known == name) {
        return Ok(home.log_of(name));
    }
    let all = installed::all_at_least(cwd, home)?;
    let mut meant = all
        .iter()
        .filter(|it| it.name() == name || it.dir_name == name);
    if let Some(it) = meant.next() {
        return Ok(home.log_of(it.name()));
    }
    let hint = if logs.is_empty() {
        "an extension has one from its first start on".to_owned()
    } else {
        format!("there are logs of {}", shown::text(&logs.join(", ")))
    };
    bail!(
        "no extension is called `{}`, and none of that name has left a log\nhint: {hint}",
        shown::text(name)
    )
}

/// The extensions that have a log, installed or not.
pub(crate) fn names(home: &Home) -> Vec<String> {
    let Ok(entries) = fs::read_dir(home.logs()) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let name = name.strip_suffix(".1").unwrap_or(&name);
            Some(name.strip_prefix("ext-")?.strip_suffix(".log")?.to_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    names
}
