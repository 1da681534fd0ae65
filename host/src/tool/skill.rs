//! The `skill` tool: instructions for specific tasks, which a model loads on demand.

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
pub(super) struct Args {
    name: String,
}

/// The built-in skills.
const BUILTIN: [&str; 1] = [include_str!("skill/write-zot-extension/SKILL.md")];

/// A skill: instructions for a kind of task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name.
    pub name: String,
    /// When to use it.
    pub description: String,
    source: SkillSource,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SkillSource {
    /// Built into this program.
    Builtin(&'static str),
    /// In a folder.
    Folder {
        /// Symlinks must not lead out of this folder; `None` for no limit.
        root: Option<PathBuf>,
        /// The path of the skill's folder, relative to `root`.
        rest: PathBuf,
    },
}

impl Skill {
    /// The folder of its `SKILL.md`; `None` for a built-in skill.
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.source {
            SkillSource::Builtin(_) => None,
            SkillSource::Folder { root, rest } => Some(match root {
                Some(root) => root.join(rest),
                None => rest.clone(),
            }),
        }
    }

    /// Reads the current instructions.
    pub fn body(&self) -> Result<String, String> {
        match &self.source {
            SkillSource::Builtin(text) => {
                let (_, body) = find::parse(text.as_bytes())?;
                Ok(body)
            }
            SkillSource::Folder { root, rest } => {
                let (_, body) = find::read(root.as_deref(), rest)?;
                Ok(body)
            }
        }
    }
}

/// The available skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skills {
    skills: Vec<Skill>,
    warnings: Vec<String>,
}

impl Skills {
    /// Returns an empty list of skills, for which the tool is not offered.
    pub fn none() -> Self {
        Self {
            skills: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Returns the built-in skills.
    pub fn builtin() -> Self {
        let mut skills = Self::none();
        skills.add_builtin();
        skills
    }

    /// Returns the skills of the project and the user, and the built-in ones. Looks in
    /// `.zot/skills`, `$ZOT_HOME/skills`, `.claude/skills` and `.agents/skills` for folders with a
    /// `SKILL.md`. The first skill with a given name wins. The built-in ones come last, so they can
    /// be replaced.
    ///
    /// In the project, symlinks that lead out of it are not followed.
    pub fn find(cwd: &Path, home: &Home) -> Self {
        let mut skills = Self::none();
        skills.look(Some(cwd), Path::new(".zot/skills"));
        skills.look(None, &home.path().join("skills"));
        skills.look(Some(cwd), Path::new(".claude/skills"));
        skills.look(Some(cwd), Path::new(".agents/skills"));
        skills.add_builtin();
        skills
    }

    /// Returns all skills, in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    /// Returns the skill with this name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The folders that are not valid skills, and why, one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Lists names and descriptions for the system prompt.
    pub fn prompt(&self) -> String {
        let mut text = String::from(
            "Skills are instructions for specific tasks. Load one by name with the `skill` tool:\n",
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
                    source: SkillSource::Builtin(text),
                });
            }
        }
    }

    /// Adds a skill unless its name is taken. Returns whether it was added.
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
            "Loads the instructions of a skill. The system prompt lists the skills and when to use them."
                .to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "enum": names, "description": "The name of the skill."}
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
                "unknown skill `{}`; available: {}",
                args.name,
                names.join(", ")
            ));
        };
        match skill.body() {
            Ok(mut body) => {
                if let Some(folder) = skill.folder() {
                    let folder = folder.display();
                    body.push_str(&format!("\n(this skill's files are in {folder})\n"));
                }
                completed(body)
            }
            Err(why) => failed(format!("cannot read skill `{}`: {why}", skill.name)),
        }
    }
}
