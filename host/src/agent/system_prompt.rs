//! Builds the system prompt.

use std::path::{Path, PathBuf};

/// The parts of a system prompt.
#[derive(Debug, Clone)]
pub(super) struct Parts<'a> {
    /// The user's replacement for the built-in text.
    pub(super) replacement: Option<&'a str>,
    /// Texts to append, in order.
    pub(super) appended: &'a [String],
    /// The working directory.
    pub(super) cwd: &'a Path,
    /// The context files: path and text.
    pub(super) context: &'a [(PathBuf, String)],
    /// The available skills: name and description.
    pub(super) skills: &'a [(String, String)],
    /// The date: `2026-11-16`.
    pub(super) today: &'a str,
}

/// The built-in text.
const BUILT_IN: &str = "\
You are zot, a coding agent in the user's terminal. You work in their project with the tools you have.

- Investigate before you change anything: read the relevant files and run what helps.
- Make the smallest change that does what the user asked for, in the style of the code around it.
- Show that it works: run the tests or the program, and report what you saw.
- When a tool call is refused, the reason comes from the user's side: follow it, and do not work around it.
- Say in a few plain sentences what you did. Do not repeat code that the user can see.";

/// Builds the prompt.
pub(super) fn system_prompt(parts: &Parts<'_>) -> String {
    let mut prompt = parts.replacement.unwrap_or(BUILT_IN).trim().to_owned();
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
            "Skills are instructions for special tasks. Load one by name with the `skill` tool:\n{}",
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
    fn the_parts_are_in_order() {
        let context = [(PathBuf::from("/w/AGENTS.md"), "Use tabs.\n".to_owned())];
        let skills = [("write-zot-extension".to_owned(), "how to".to_owned())];
        let appended = ["Be brief.".to_owned()];
        let mut parts = Parts {
            replacement: Some("You are a test."),
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
             Skills are instructions for special tasks. Load one by name with the `skill` tool:\n\
             - write-zot-extension: how to\n\n\
             # /w/AGENTS.md\n\nUse tabs.\n\n\
             Be brief."
        );
        parts.replacement = None;
        assert!(system_prompt(&parts).starts_with("You are zot, "));
    }
}
