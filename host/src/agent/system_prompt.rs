//! What the model is told before everything else: who it is, where it works, what the user and the project ask of it.

use std::path::{Path, PathBuf};

/// What a system prompt is made of.
#[derive(Debug, Clone)]
pub(super) struct Parts<'a> {
    /// Stands in the place of our own words, where the user gave one.
    pub(super) instead: Option<&'a str>,
    /// Goes behind everything else, in the order given.
    pub(super) appended: &'a [String],
    /// Where the user works.
    pub(super) cwd: &'a Path,
    /// Files that the project and the user keep for agents: where each is, and what it says.
    pub(super) context: &'a [(PathBuf, String)],
    /// The skills that can be read: name and description.
    pub(super) skills: &'a [(String, String)],
    /// The day, as people write it: `2026-11-16`.
    pub(super) today: &'a str,
}

/// Our own words.
const OWN: &str = "\
You are zot, a coding agent in the user's terminal. You work in their project with the tools you are given.

- Find things out before you change them: read the files that matter, run what can be run.
- Make the smallest change that does what was asked, in the style of the code around it.
- Show that it works: run the tests or the program, and say what you saw.
- When a tool is refused, the reason is a message from the user's side: follow it, do not work around it.
- Say in a few plain sentences what you did. Do not repeat code that the user can see.";

/// The whole prompt.
pub(super) fn system_prompt(parts: &Parts<'_>) -> String {
    let mut prompt = parts.instead.unwrap_or(OWN).trim().to_owned();
    let mut add = |text: &str| {
        prompt.push_str("\n\n");
        prompt.push_str(text.trim());
    };
    add(&format!(
        "The working directory is {}. Today is {}.",
        parts.cwd.display(),
        parts.today
    ));
    if !parts.skills.is_empty() {
        let list: Vec<String> = parts
            .skills
            .iter()
            .map(|(name, about)| format!("- {name}: {about}"))
            .collect();
        add(&format!(
            "Instructions for special tasks, which the tool `skill` gives by name:\n{}",
            list.join("\n")
        ));
    }
    for (path, text) in parts.context {
        add(&format!("# {}\n\n{}", path.display(), text.trim()));
    }
    for text in parts.appended {
        add(text);
    }
    prompt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_place() {
        let context = [(PathBuf::from("/w/AGENTS.md"), "Use tabs.\n".to_owned())];
        let skills = [("write-zot-extension".to_owned(), "how to".to_owned())];
        let appended = ["Be brief.".to_owned()];
        let mut parts = Parts {
            instead: Some("You are a test."),
            appended: &appended,
            cwd: Path::new("/w"),
            context: &context,
            skills: &skills,
            today: "2026-11-16",
        };
        assert_eq!(
            system_prompt(&parts),
            "You are a test.\n\n\
             The working directory is /w. Today is 2026-11-16.\n\n\
             Instructions for special tasks, which the tool `skill` gives by name:\n\
             - write-zot-extension: how to\n\n\
             # /w/AGENTS.md\n\nUse tabs.\n\n\
             Be brief."
        );
        parts.instead = None;
        assert!(system_prompt(&parts).starts_with("You are zot, "));
    }
}
