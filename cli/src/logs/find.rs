//! Finds the log of an extension.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::bail;
use zot_host::{extension::discover::escape, home::Home};

use crate::package::installed;

/// Returns the path of an extension's log. `name` is the name or directory name of an installed
/// extension, or the name of a removed one that still has a log.
pub(crate) fn find(name: &str, cwd: &Path, home: &Home) -> anyhow::Result<PathBuf> {
    let logs = names(home);
    if logs.iter().any(|known| known == name) {
        return Ok(home.log_of(name));
    }
    let all = installed::all_lenient(cwd, home)?;
    let mut matching = all
        .iter()
        .filter(|it| it.name() == name || it.dir_name == name);
    if let Some(it) = matching.next() {
        return Ok(home.log_of(it.name()));
    }
    let hint = if logs.is_empty() {
        "a log is created when an extension first starts".to_owned()
    } else {
        format!("logs exist for {}", escape::text(&logs.join(", ")))
    };
    bail!(
        "no extension or log named `{}`\nhint: {hint}",
        escape::text(name)
    )
}

/// Returns the names of all extensions that have a log, installed or not.
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
