//! Checks `README.md` and `docs/*.md`: commands run, frames validate, links resolve, fields exist,
//! tables are complete.

mod dependencies;
mod fields;
mod json;
mod links;
mod promises;
mod shell;
mod tables;

use std::{fs, path::Path};

use crate::support::examples::workspace as root;

/// A Markdown document.
struct Page {
    /// The page's path relative to the repository root, such as `docs/packages.md`.
    name: String,
    text: String,
}

impl Page {
    fn read(name: &str) -> Self {
        let text = fs::read_to_string(root().join(name)).expect("failed to read page");
        let name = name.to_owned();
        Self { name, text }
    }

    /// Reads every page.
    fn all() -> Vec<Self> {
        let docs = fs::read_dir(root().join("docs")).expect("failed to read directory");
        let mut names: Vec<String> = docs
            .map(|entry| entry.expect("failed to read directory entry").file_name())
            .map(|name| format!("docs/{}", name.display()))
            .filter(|name| Path::new(name).extension().is_some_and(|it| it == "md"))
            .collect();
        names.sort();
        names.push("README.md".to_owned());
        names.iter().map(|name| Self::read(name)).collect()
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines().enumerate();
        let mut remark = None;
        while let Some((index, line)) = lines.next() {
            let Some(language) = line.trim_start().strip_prefix("```") else {
                if !line.is_empty() {
                    remark = line.strip_prefix("<!-- not run: ");
                }
                continue;
            };
            let body = lines.by_ref().map(|(_, line)| line);
            let body = body.take_while(|line| line.trim_start() != "```");
            let text = body.flat_map(|line| [line, "\n"]).collect();
            blocks.push(Block {
                page: self.name.clone(),
                line: index + 1,
                language: language.to_owned(),
                text,
                not_run: remark
                    .take()
                    .and_then(|it| it.strip_suffix(" -->"))
                    .map(str::to_owned),
            });
        }
        blocks
    }
}

/// A block of code in a document.
struct Block {
    page: String,
    line: usize,
    language: String,
    text: String,
    /// Why the block is not run, from the comment before it: `<!-- not run: needs a key -->`.
    not_run: Option<String>,
}

impl Block {
    /// Returns `page:line`, which editors can open.
    fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }

    fn first_line(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }
}
