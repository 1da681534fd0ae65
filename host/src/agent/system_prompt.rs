//! Builds the system prompt.

use super::surroundings::Surroundings;
use crate::{
    RuntimeConfig,
    context_files::{ContextFile, ContextKind},
    tool::Skills,
};

/// The default system prompt.
const BUILT_IN: &str = "\
You are zot, a coding agent in the user's terminal. You work in their project with the tools you have.

- Investigate before you change anything: read the relevant files and run what helps.
- Make the smallest change that does what the user asked for, in the style of the code around it.
- Change files with the `edit` tool rather than with `sed` or a script: the user sees what you change.
- Show that it works: run the tests or the program, and report what you saw.
- When a tool call is refused, the reason comes from the user's side: follow it, and do not work around it.
- Say in a few plain sentences what you did. Do not repeat code that the user can see.";

/// Builds the system prompt. The user's own prompt or `SYSTEM.md` replaces the built-in one.
pub(super) fn system_prompt(
    config: &RuntimeConfig,
    context: &[ContextFile],
    skills: &Skills,
    surroundings: &Surroundings,
) -> String {
    let is_system = |file: &&ContextFile| file.kind == ContextKind::System;
    let system = context.iter().find(is_system);
    let own = config.system_prompt.as_deref();
    let own = own.or(system.map(|file| &*file.text));
    let built_in_or_own = own.unwrap_or(BUILT_IN);
    let mut prompt = built_in_or_own.trim().to_owned();
    let mut add = |text: &str| {
        prompt.push_str("\n\n");
        prompt.push_str(text.trim());
    };
    let cwd = config.cwd.display();
    let Surroundings {
        date,
        system,
        shell,
        branch,
    } = surroundings;
    let mut facts =
        format!("The working directory is {cwd}. Today is {date}. The system is {system}.");
    if let Some(shell) = shell {
        facts.push_str(&format!(
            " The user's shell is {shell}; the `bash` tool runs bash."
        ));
    }
    if let Some(branch) = branch {
        facts.push_str(&format!(" The git branch is {branch}."));
    }
    add(&facts);
    if skills.iter().next().is_some() {
        add(&skills.prompt());
    }
    let rest = context.iter().filter(|file| !is_system(file));
    for ContextFile { path, text, .. } in rest {
        add(&format!("# {}\n\n{}", path.display(), text.trim()));
    }
    for text in &config.appended {
        add(text);
    }
    prompt
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        home::Home,
        provider::{Catalogue, Demo, Resolved},
    };

    #[test]
    fn the_parts_are_in_order() {
        let demo = Resolved {
            provider: Box::new(Demo::new()),
            model: Catalogue::built_in().model("demo", "demo"),
        };
        let mut config = RuntimeConfig::new(Home::at("/home"), "/w", demo);
        config.system_prompt = Some("You are a test.".to_owned());
        config.appended = vec!["Be brief.".to_owned()];
        let context = [ContextFile {
            path: "/w/AGENTS.md".into(),
            text: "Use tabs.\n".to_owned(),
            kind: ContextKind::Project,
        }];
        let surroundings = Surroundings {
            date: "2026-11-16".to_owned(),
            system: "Linux 6.1 x86_64".to_owned(),
            shell: Some("zsh".to_owned()),
            branch: Some("main".to_owned()),
        };
        let skills = Skills::builtin();
        let about = &skills.get("write-zot-extension").unwrap().description;
        let prompt =
            |config: &RuntimeConfig| system_prompt(config, &context, &skills, &surroundings);
        assert_eq!(
            prompt(&config),
            format!(
                "You are a test.\n\n\
                 The working directory is /w. Today is 2026-11-16. The system is Linux 6.1 x86_64. \
                 The user's shell is zsh; the `bash` tool runs bash. The git branch is main.\n\n\
                 Skills are instructions for specific tasks. Load one by name with the `skill` tool:\n\
                 - write-zot-extension: {about}\n\n\
                 # /w/AGENTS.md\n\nUse tabs.\n\n\
                 Be brief."
            )
        );
        config.system_prompt = None;
        assert!(prompt(&config).starts_with("You are zot, "));
    }
}
