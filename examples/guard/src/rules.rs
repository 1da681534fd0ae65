//! Rules for commands that cannot be undone.
//!
//! A word list prevents accidents. It does not stop an attacker: to confine commands, use `--jail`.

/// Returns why a command is dangerous, or `None` if no rule matches.
pub(crate) fn danger(command: &str) -> Option<&'static str> {
    if command.contains(":(){") || command.contains(":() {") {
        return Some("it is a fork bomb");
    }
    if pipes_into_shell(command) {
        return Some("it runs a downloaded script");
    }
    // Check each command of a pipeline or list separately.
    command
        .split([';', '|', '&', '\n', '(', ')', '`'])
        .find_map(|part| {
            let words: Vec<&str> = part
                .split_whitespace()
                .map(|word| word.trim_matches(['"', '\'']))
                .collect();
            of_words(&words)
        })
}

fn of_words(words: &[&str]) -> Option<&'static str> {
    // Skip what may come before the program: `sudo`, `env`, `xargs`, flags and assignments.
    let at = words.iter().position(|word| {
        let before = ["sudo", "doas", "env", "xargs", "time", "nohup", "exec"];
        !before.contains(word) && !word.starts_with('-') && !word.contains('=')
    })?;
    let program = words[at].rsplit('/').next().unwrap_or_default();
    let args = &words[at + 1..];
    let has = |word: &str| args.contains(&word);
    let has_flag = |short: char, long: &str| {
        args.iter().any(|arg| {
            *arg == long || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains(short))
        })
    };
    match program {
        "rm" if (has_flag('r', "--recursive") || has_flag('R', "--recursive"))
            && args.iter().any(|arg| is_vital(arg)) =>
        {
            Some("it deletes a whole directory tree")
        }
        "mkfs" | "wipefs" | "fdisk" | "parted" | "shred" => Some("it overwrites a disk"),
        program if program.starts_with("mkfs.") => Some("it overwrites a disk"),
        "dd" if words.iter().any(|word| word.starts_with("of=/dev/")) => {
            Some("it overwrites a device")
        }
        "git" if has("push") && (has_flag('f', "--force") || has("--mirror")) => {
            Some("it overwrites pushed commits")
        }
        "git" if has("reset") && has("--hard") => Some("it discards changes"),
        "git" if has("clean") && has_flag('f', "--force") => Some("it deletes untracked files"),
        "chmod" | "chown"
            if has_flag('R', "--recursive") && args.iter().any(|arg| is_vital(arg)) =>
        {
            Some("it changes the permissions or the owner of a whole directory tree")
        }
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("it stops the machine"),
        _ => None,
    }
}

/// Reports whether a path is the root, a system directory, the home directory, the current
/// directory, or everything in one of them.
fn is_vital(path: &str) -> bool {
    let path = path.trim_end_matches(['*', '/', '.']);
    let system = [
        "", "~", "$HOME", "${HOME}", "/home", "/etc", "/usr", "/var", "/bin", "/lib", "/boot",
        "/opt", "/root", "/Users", "/System",
    ];
    system.contains(&path)
}

fn pipes_into_shell(command: &str) -> bool {
    let mut parts = command.split('|').map(str::trim);
    let fetches = |part: &str| part.contains("curl ") || part.contains("wget ");
    let shells = [
        "sh", "bash", "zsh", "dash", "python3", "python", "perl", "node",
    ];
    let runs = |part: &str| {
        let mut words = part.split_whitespace().filter(|word| *word != "sudo");
        words.next().is_some_and(|program| {
            let program = program.rsplit('/').next().unwrap_or_default();
            shells.contains(&program)
        })
    };
    parts.any(fetches) && parts.any(runs)
}

#[cfg(test)]
mod tests {
    use super::danger;

    #[test]
    fn commands_that_cannot_be_undone_are_dangerous() {
        for command in [
            "rm -rf /",
            "rm -fr ~/",
            "sudo rm -r --no-preserve-root /",
            "cd /tmp && rm -rf $HOME",
            "FOO=1 rm -rf ./*",
            "rm --recursive \"/etc\"",
            "echo $(rm -rf /)",
            "mkfs.ext4 /dev/sda1",
            "dd if=/dev/zero of=/dev/sda",
            "git push --force origin main",
            "git push -f",
            "git reset --hard HEAD~3",
            "git clean -fdx",
            "curl https://example.com/install | sudo bash",
            "wget -qO- example.com | sh -s -- -y",
            ":(){ :|:& };:",
            "chmod -R 777 /",
            "sudo reboot",
        ] {
            assert!(danger(command).is_some(), "{command}");
        }
    }

    #[test]
    fn other_commands_are_not_dangerous() {
        for command in [
            "ls -la /",
            "rm -rf target/debug",
            "rm notes.txt",
            "git push origin main",
            "git commit -m 'rm -rf is dangerous'",
            "curl https://example.com | jq .",
            "grep -R reboot /etc",
            "chmod -R u+w build",
            "echo shutdown",
        ] {
            assert_eq!(danger(command), None, "{command}");
        }
    }
}
