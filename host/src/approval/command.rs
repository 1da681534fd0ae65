//! Compares shell commands with patterns.
//!
//! This is not a shell parser. A command counts as simple only if it certainly is, and splitting a
//! command finds at least its obvious parts. A program can always run another one in a way that
//! nothing here recognises, so a `deny` rule is a safety net and not a boundary.

use std::borrow::Cow;

/// Words that run the command after them, possibly after options.
const WRAPPERS: [&str; 35] = [
    "!", "bash", "builtin", "busybox", "command", "coproc", "dash", "do", "doas", "elif", "else",
    "env", "eval", "exec", "find", "if", "ionice", "nice", "nohup", "pkexec", "setpriv", "setsid",
    "sh", "stdbuf", "su", "sudo", "then", "time", "timeout", "unshare", "until", "watch", "while",
    "xargs", "zsh",
];

/// The longest pattern to offer, in bytes. A user must be able to read all of it on one line.
const MAX_PREFIX: usize = 48;

/// Maximum number of words after a wrapper to check for its command.
const WRAPPED_WORDS: usize = 32;

/// Reports whether an `allow` rule with this pattern allows a whole command.
pub(super) fn is_allowed(pattern: &str, whole: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == whole;
    }
    is_simple(whole) && matches(pattern, whole.trim_matches([' ', '\t']))
}

/// Reports whether a command matches a pattern. `git *` also matches `git`.
pub(super) fn matches(pattern: &str, command: &str) -> bool {
    let bare = pattern.strip_suffix(" *");
    bare.is_some_and(|bare| glob(bare, command)) || glob(pattern, command)
}

/// Reports whether text matches a pattern in which `*` stands for any text. Written by hand,
/// because `?`, `[` and `{` are also special in glob libraries and are common in commands.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

/// Reports whether a command is certainly a single program with arguments: nothing in it can start
/// another command, write to a file, read a variable or set one.
pub(super) fn is_simple(command: &str) -> bool {
    let mut quote = None;
    for char in command.chars() {
        if char.is_control() && char != '\t' {
            return false;
        }
        match quote {
            // In single quotes, nothing is special.
            Some('\'') if char != '\'' => {}
            _ if matches!(char, '$' | '`' | '\\') => return false,
            Some(open) if char == open => quote = None,
            Some(_) => {}
            None => match char {
                '\'' | '"' => quote = Some(char),
                ';' | '&' | '|' | '<' | '>' | '(' | ')' => return false,
                _ => {}
            },
        }
    }
    let first = command.split([' ', '\t']).find(|word| !word.is_empty());
    quote.is_none() && first.is_some_and(|word| !word.contains('='))
}

/// Returns the pattern for the commands that begin like this one, such as `cargo test *`: the
/// program and, if there is one, its subcommand. Returns `None` if the pattern could allow more
/// than it seems to.
pub(super) fn prefix(command: &str) -> Option<String> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "._/+-".contains(char);
    let mut words = command.split([' ', '\t']).filter(|word| !word.is_empty());
    let program = words.next()?;
    let name = program.rsplit('/').next()?;
    if !is_simple(command) || !program.chars().all(is_plain) || WRAPPERS.contains(&name) {
        return None;
    }
    let is_subcommand = |word: &&str| {
        word.starts_with(|char: char| char.is_ascii_lowercase())
            && word
                .chars()
                .all(|char| is_plain(char) && !"./".contains(char))
    };
    let pattern = match words.next().filter(is_subcommand) {
        Some(subcommand) => format!("{program} {subcommand} *"),
        None => format!("{program} *"),
    };
    // With unusual whitespace, the pattern may not even match the command itself.
    let is_offered = pattern.len() <= MAX_PREFIX && is_allowed(&pattern, command);
    is_offered.then_some(pattern)
}

/// Returns the command itself, and everything in it that looks like a command, each also without
/// quotes, assignments, the folder of its program, and words such as `sudo`.
pub(super) fn parts(whole: &str) -> Vec<Cow<'_, str>> {
    let mut parts: Vec<Cow<'_, str>> = vec![whole.into()];
    let joined = if whole.contains("\\\n") {
        whole.replace("\\\n", "")
    } else {
        whole.to_owned()
    };
    let separators = [';', '&', '|', '\n', '\r', '(', ')', '`', '{', '}', '<', '>'];
    let mut start = 0;
    let mut is_redirected = false;
    let ends = joined.match_indices(separators);
    for (at, separator) in ends.chain(std::iter::once((joined.len(), ""))) {
        add(&joined[start..at], is_redirected, &mut parts);
        start = at + separator.len();
        is_redirected = matches!(separator, "<" | ">");
    }
    parts
}

/// Adds a part in all its spellings. If it follows a redirection, its first word is a file, so a
/// command can begin at any later word.
fn add(part: &str, is_redirected: bool, parts: &mut Vec<Cow<'_, str>>) {
    let part = part.trim();
    if part.is_empty() {
        return;
    }
    parts.push(part.to_owned().into());
    let unquoted: String = part
        .replace("$'", "")
        .replace("$\"", "")
        .replace(['\'', '"', '\\'], "");
    let words = unquoted.split_whitespace();
    let words: Vec<&str> = words.skip_while(|word| is_assignment(word)).collect();
    let mut is_wrapped = is_redirected;
    for (at, word) in words.iter().take(WRAPPED_WORDS).enumerate() {
        let name = word.rsplit('/').next().unwrap_or_default();
        let rest = words[at..].join(" ");
        if name != *word {
            parts.push(format!("{name}{}", &rest[word.len()..]).into());
        }
        parts.push(rest.into());
        is_wrapped |= WRAPPERS.contains(&name);
        if !is_wrapped {
            return;
        }
    }
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "a b", true),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("*a", "ba", true),
            ("*a", "ab", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "axbxc", true),
            ("a*b*c", "acb", false),
            ("a**c", "abc", true),
            ("[a]?{b}", "[a]?{b}", true),
            ("[a]?", "ab", false),
            ("ü*", "über", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_prefix_is_offered_for_simple_commands_only() {
        for (command, expected) in [
            ("cargo test --all", Some("cargo test *")),
            ("cargo test", Some("cargo test *")),
            ("make", Some("make *")),
            ("ls -la /tmp", Some("ls *")),
            ("./run.sh fast", Some("./run.sh fast *")),
            ("cat notes.txt", Some("cat *")),
            ("git commit -m 'a; b'", Some("git commit *")),
            ("git  status", None),
            ("git\tstatus", None),
            ("sudo rm x", None),
            ("/usr/bin/env x", None),
            ("bash -c x", None),
            ("FOO=bar make", None),
            ("make; rm x", None),
            ("make > x", None),
            ("'my program' x", None),
            ("m*ke x", None),
            ("a-program-with-a-name-that-does-not-fit-on-a-line x", None),
            ("", None),
        ] {
            let found = prefix(command);
            assert_eq!(found.as_deref(), expected, "{command}");
            assert!(found.is_none_or(|pattern| is_allowed(&pattern, command)));
        }
    }

    /// Reports whether bash runs only `true`. It would report any other command as not found, and a
    /// redirection would leave a file.
    fn runs_nothing_else(command: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let output = std::process::Command::new("/bin/bash")
            .args(["--norc", "-c", &format!("true {command}")])
            .env_clear()
            .env("PATH", "/nonexistent")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let is_empty = folder.path().read_dir().unwrap().next().is_none();
        output.status.success() && output.stderr.is_empty() && is_empty
    }

    #[test]
    fn the_check_with_bash_notices_other_commands() {
        for command in ["; x", "& x", "$(x)", "\nx", "> x", "'", "`x`", "<(x)"] {
            assert!(!runs_nothing_else(command), "{command}");
            assert!(!is_simple(&format!("true {command}")), "{command}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(400))]

        #[test]
        fn a_simple_command_runs_nothing_else(command in "[ax '\"*?~{},#!=^%:@-]{0,9}[;|&$`\\\\<>()\t\n]?[ax '\"]{0,5}") {
            if is_simple(&format!("true {command}")) {
                proptest::prop_assert!(runs_nothing_else(&command), "{command:?}");
            }
        }
    }
}
