//! `skill`: guides for a kind of work, that a model gets when it needs one.

mod find;
mod front_matter;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::{
    args::{completed, failed},
    spec,
};
use crate::{ToolOutcome, home::Home, provider::ToolSpec};

pub(super) const NAME: &str = "skill";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    name: String,
}

/// The skills that come with this program.
const BUILTIN: [&str; 1] = [include_str!("skill/write-zot-extension/SKILL.md")];

/// A guide: what it is for, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is called.
    pub name: String,
    /// What it is for, for whoever chooses.
    pub description: String,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// In this program.
    Builtin(&'static str),
    /// In a folder.
    Folder {
        /// No link may lead out of this; `None`: anywhere.
        root: Option<PathBuf>,
        /// From there.
        rest: PathBuf,
    },
}

impl Skill {
    /// The folder of its `SKILL.md` and what goes with it; `None` for one that comes with this program.
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.source {
            Source::Builtin(_) => None,
            Source::Folder { root, rest } => Some(match root {
                Some(root) => root.join(rest),
                None => rest.clone(),
            }),
        }
    }

    /// All that it says, as it is now.
    pub fn body(&self) -> Result<String, String> {
        match &self.source {
            Source::Builtin(text) => {
                let (_, body) = find::parse(text.as_bytes())?;
                Ok(body)
            }
            Source::Folder { root, rest } => {
                let (_, body) = find::read(root.as_deref(), rest)?;
                Ok(body)
            }
        }
    }
}

/// The skills there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skills {
    skills: Vec<Skill>,
    warnings: Vec<String>,
}

impl Skills {
    /// None; the tool is not offered then.
    pub fn none() -> Self {
        Self {
            skills: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Those that come with this program.
    pub fn builtin() -> Self {
        let mut skills = Self::none();
        skills.add_builtin();
        skills
    }

    /// Those of the project and of the user too: in `.zot/skills`, `$ZOT_HOME/skills`, `.claude/skills` and `.agents/skills`,
    /// a folder each with a `SKILL.md`. Of several with one name the first counts; this program's come last, so that they can
    /// be replaced.
    ///
    /// A project's skills must be in it: links that lead out are not followed.
    pub fn find(cwd: &Path, home: &Home) -> Self {
        let mut skills = Self::none();
        skills.look(Some(cwd), Path::new(".zot/skills"));
        skills.look(None, &home.path().join("skills"));
        skills.look(Some(cwd), Path::new(".claude/skills"));
        skills.look(Some(cwd), Path::new(".agents/skills"));
        skills.add_builtin();
        skills
    }

    /// All of them, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// What was found and is no skill, and why, one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Names and descriptions, for the system prompt.
    pub fn prompt(&self) -> String {
        let mut text = String::from(
            "Skills are guides for a kind of work. Before such work, get the guide with the tool `skill`:\n",
        );
        for skill in &self.skills {
            text.push_str(&format!("- {}: {}\n", skill.name, skill.description));
        }
        text
    }

    fn add_builtin(&mut self) {
        for text in BUILTIN {
            if let Ok((head, _)) = find::parse(text.as_bytes()) {
                self.add(Skill {
                    name: head.name,
                    description: head.description,
                    source: Source::Builtin(text),
                });
            }
        }
    }

    /// Whether it is the first of its name.
    fn add(&mut self, skill: Skill) -> bool {
        let is_first = self.get(&skill.name).is_none();
        if is_first {
            self.skills.push(skill);
        }
        is_first
    }

    pub(super) fn tool_spec(&self) -> ToolSpec {
        let names: Vec<&str> = self.iter().map(|skill| skill.name.as_str()).collect();
        spec(
            NAME,
            "Shows the guide for a kind of work: one of the skills that the system prompt lists with what they are for."
                .to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "enum": names, "description": "The skill."}
                },
                "required": ["name"],
                "additionalProperties": false
            }),
        )
    }

    pub(super) fn run(&self, args: &Args) -> ToolOutcome {
        let Some(skill) = self.get(&args.name) else {
            let names: Vec<&str> = self.iter().map(|skill| skill.name.as_str()).collect();
            return failed(format!(
                "there is no skill `{}`; there are: {}",
                args.name,
                names.join(", ")
            ));
        };
        match skill.body() {
            Ok(mut body) => {
                if let Some(folder) = skill.folder() {
                    let folder = folder.display();
                    body.push_str(&format!("\n(the files of this skill are in {folder})\n"));
                }
                completed(body)
            }
            Err(why) => failed(format!("the skill `{}` cannot be read: {why}", skill.name)),
        }
    }
}
