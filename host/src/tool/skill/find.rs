//! Skills in folders.

use std::{ffi::OsString, io, path::Path};

use rustix::fs::FileType;

use super::{Skill, Skills, Source, front_matter};
use crate::untrusted;

/// The largest `SKILL.md`, in bytes.
const FILE: usize = 64 << 10;
/// The most skills of one folder.
const SKILLS: usize = 200;
/// A folder with more entries than this is not looked through.
const ENTRIES: usize = 10_000;
/// The longest name and description, in characters, as the format has them.
const NAME: usize = 64;
const DESCRIPTION: usize = 1024;

/// What the front matter says.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) description: String,
}

/// Reads the skill in a folder: what it says it is, and its body.
pub(super) fn read(root: Option<&Path>, folder: &Path) -> Result<(Head, String), String> {
    let file = folder.join("SKILL.md");
    let beginning = untrusted::read(root, &file, FILE).map_err(|error| error.to_string())?;
    if beginning.cut {
        return Err(format!("it is longer than {} KiB", FILE >> 10));
    }
    parse(&beginning.bytes)
}

pub(super) fn parse(bytes: &[u8]) -> Result<(Head, String), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
    let (mut keys, body) = front_matter::parse(text)?;
    let mut take = |key: &str, most: usize| {
        let value = keys.remove(key).unwrap_or_default();
        // One line, whatever it looks like in the file: it becomes a line of the system prompt.
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        match value.chars().count() {
            0 => Err(format!("its front matter has no `{key}`")),
            length if length > most => Err(format!("its `{key}` is longer than {most} characters")),
            _ => Ok(value),
        }
    };
    let head = Head {
        name: take("name", NAME)?,
        description: take("description", DESCRIPTION)?,
    };
    if head
        .name
        .chars()
        .any(|it| it.is_whitespace() || it.is_control() || it == '/')
    {
        return Err("its `name` has white space or `/` in it".to_owned());
    }
    Ok((head, body.trim_start_matches(['\r', '\n']).to_owned()))
}

impl Skills {
    /// Adds those in a folder, by the names of their folders.
    pub(super) fn look(&mut self, root: Option<&Path>, folder: &Path) {
        let shown = match root {
            Some(root) => root.join(folder),
            None => folder.to_owned(),
        };
        let mut names = match names(root, folder) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                let warning = format!("`{}` is not used: {error}", shown.display());
                self.warnings.push(warning);
                return;
            }
        };
        names.sort_unstable();
        if names.len() > SKILLS {
            let left = names.len() - SKILLS;
            self.warnings.push(format!(
                "`{}` has more than {SKILLS} folders; {left} are not used",
                shown.display()
            ));
            names.truncate(SKILLS);
        }
        for name in names {
            let rest = folder.join(&name);
            match read(root, &rest) {
                Ok((head, _)) => {
                    self.add(Skill {
                        name: head.name,
                        description: head.description,
                        source: Source::Folder {
                            root: root.map(Path::to_owned),
                            rest,
                        },
                    });
                }
                Err(why) => self.warnings.push(format!(
                    "`{}` is no skill: {why}",
                    shown.join(&name).join("SKILL.md").display()
                )),
            }
        }
    }
}

/// The folders in a folder, and links that may be ones.
fn names(root: Option<&Path>, folder: &Path) -> io::Result<Vec<OsString>> {
    let mut entries = untrusted::list(root, folder, ENTRIES)?;
    // A README beside them, and what is hidden, is nobody's mistake.
    entries.retain(|(name, kind)| {
        !name.as_encoded_bytes().starts_with(b".") && *kind != FileType::RegularFile
    });
    Ok(entries.into_iter().map(|(name, _)| name).collect())
}
