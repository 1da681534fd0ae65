//! Finds skills in folders.

use std::{ffi::OsString, io, path::Path};

use rustix::fs::FileType;

use super::{Skill, SkillSource, Skills, front_matter};
use crate::untrusted;

/// The largest `SKILL.md`, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// The maximum number of skills in one folder.
const MAX_SKILLS: usize = 200;
/// The maximum number of entries in a skills folder.
const ENTRIES: usize = 10_000;
/// The maximum length of a name and a description in characters, as defined by the format.
const NAME: usize = 64;
const DESCRIPTION: usize = 1024;

/// The front matter.
#[derive(Debug)]
pub(super) struct FrontMatter {
    pub(super) name: String,
    pub(super) description: String,
}

/// Reads the skill in a folder: its front matter and its body.
pub(super) fn read(root: Option<&Path>, folder: &Path) -> Result<(FrontMatter, String), String> {
    let file = folder.join("SKILL.md");
    let bytes = untrusted::read_whole(root, &file, MAX_BYTES);
    parse(&bytes.map_err(|error| error.to_string())?)
}

pub(super) fn parse(bytes: &[u8]) -> Result<(FrontMatter, String), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not valid UTF-8")?;
    let (mut keys, body) = front_matter::parse(text)?;
    let mut take = |key: &str, most: usize| {
        let value = keys.remove(key).unwrap_or_default();
        // Join it into one line, since it becomes a line of the system prompt.
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        match value.chars().count() {
            0 => Err(format!("missing `{key}` in the front matter")),
            length if length > most => Err(format!("`{key}` is longer than {most} characters")),
            _ => Ok(value),
        }
    };
    let head = FrontMatter {
        name: take("name", NAME)?,
        description: take("description", DESCRIPTION)?,
    };
    if head
        .name
        .chars()
        .any(|it| it.is_whitespace() || it.is_control() || it == '/')
    {
        return Err("`name` must not contain whitespace or `/`".to_owned());
    }
    Ok((head, body.trim_start_matches(['\r', '\n']).to_owned()))
}

impl Skills {
    /// Adds the skills in a folder, ordered by the names of their folders.
    pub(super) fn look(&mut self, root: Option<&Path>, folder: &Path) {
        let shown = match root {
            Some(root) => root.join(folder),
            None => folder.to_owned(),
        };
        let mut names = match names(root, folder) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                let warning = format!("ignored `{}`: {error}", shown.display());
                self.warnings.push(warning);
                return;
            }
        };
        names.sort_unstable();
        if names.len() > MAX_SKILLS {
            let left = names.len() - MAX_SKILLS;
            self.warnings.push(format!(
                "`{}` has more than {MAX_SKILLS} folders; ignored {left} of them",
                shown.display()
            ));
            names.truncate(MAX_SKILLS);
        }
        for name in names {
            let rest = folder.join(&name);
            match read(root, &rest) {
                Ok((head, _)) => {
                    self.add(Skill {
                        name: head.name,
                        description: head.description,
                        source: SkillSource::Folder {
                            root: root.map(Path::to_owned),
                            rest,
                        },
                    });
                }
                Err(why) => self.warnings.push(format!(
                    "ignored invalid skill `{}`: {why}",
                    shown.join(&name).join("SKILL.md").display()
                )),
            }
        }
    }
}

/// Returns the names of the folders in a folder, and of symlinks, which may point to a folder.
fn names(root: Option<&Path>, folder: &Path) -> io::Result<Vec<OsString>> {
    let mut entries = untrusted::list(root, folder, ENTRIES)?;
    // Skip regular files, such as a README, and hidden entries without a warning.
    entries.retain(|(name, kind)| {
        !name.as_encoded_bytes().starts_with(b".") && *kind != FileType::RegularFile
    });
    Ok(entries.into_iter().map(|(name, _)| name).collect())
}
