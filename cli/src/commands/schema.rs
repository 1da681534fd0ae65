//! `zot schema [NAME] [--out DIR]`.

use std::{fs, path::Path};

use anyhow::Context;
use zot_protocol::schema::published;

use crate::output;

pub(super) fn run(name: Option<&str>, out: Option<&Path>) -> anyhow::Result<()> {
    let mut schemas: Vec<_> = published().collect();
    if let Some(name) = name {
        let wanted = name.trim_end_matches(".json");
        let names: Vec<&str> = schemas.iter().map(|(name, _)| *name).collect();
        schemas.retain(|(name, _)| *name == wanted);
        if schemas.is_empty() {
            anyhow::bail!("no schema named `{name}`\nhint: {}", hint(wanted, &names));
        }
    }
    match (name, out) {
        (_, Some(folder)) => write_all(&schemas, folder),
        (Some(_), None) => {
            let texts: Vec<&str> = schemas.iter().map(|(_, text)| *text).collect();
            output::print(&texts.concat())
        }
        (None, None) => {
            let names: Vec<&str> = schemas.iter().map(|(name, _)| *name).collect();
            output::line(names.join("\n"))
        }
    }
}

/// Suggests the names that end in `wanted`. If there are none, explains how to list all names.
fn hint(wanted: &str, names: &[&str]) -> String {
    let names = names.iter().copied();
    let close: Vec<&str> = names.filter(|name| name.ends_with(wanted)).collect();
    if close.is_empty() {
        "run `zot schema` to list the names".to_owned()
    } else {
        format!("did you mean {}?", close.join(" or "))
    }
}

fn write_all(schemas: &[(&str, &str)], folder: &Path) -> anyhow::Result<()> {
    for (name, text) in schemas {
        let path = folder.join(format!("{name}.json"));
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create `{}`", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    eprintln!("wrote {} schemas to {}", schemas.len(), folder.display());
    Ok(())
}
