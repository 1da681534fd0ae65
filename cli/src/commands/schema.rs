//! `zot schema [NAME] [--out DIR]`.

use std::{fs, path::Path};

use anyhow::Context;
use zot_protocol::schema::{Document, documents};

use crate::output;

pub(super) fn run(name: Option<&str>, out: Option<&Path>) -> anyhow::Result<()> {
    let mut documents = documents();
    if let Some(name) = name {
        let wanted = name.trim_end_matches(".json");
        let names: Vec<String> = documents
            .iter()
            .map(|document| document.name.clone())
            .collect();
        documents.retain(|document| document.name == wanted);
        if documents.is_empty() {
            anyhow::bail!("no schema named `{name}`\nhint: {}", hint(wanted, &names));
        }
    }
    match (name, out) {
        (_, Some(folder)) => write_all(&documents, folder),
        (Some(_), None) => {
            let texts: Vec<String> = documents.iter().map(Document::to_text).collect();
            output::print(&texts.concat())
        }
        (None, None) => {
            let names: Vec<&str> = documents.iter().map(|it| it.name.as_str()).collect();
            output::line(names.join("\n"))
        }
    }
}

/// Suggests the names that end in `wanted`. If there are none, explains how to list all names.
fn hint(wanted: &str, names: &[String]) -> String {
    let close: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| name.ends_with(wanted))
        .collect();
    if close.is_empty() {
        "run `zot schema` to list the names".to_owned()
    } else {
        format!("did you mean {}?", close.join(" or "))
    }
}

fn write_all(documents: &[Document], folder: &Path) -> anyhow::Result<()> {
    for document in documents {
        let path = folder.join(format!("{}.json", document.name));
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create `{}`", parent.display()))?;
        fs::write(&path, document.to_text())
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    eprintln!("wrote {} schemas to {}", documents.len(), folder.display());
    Ok(())
}
