//! Finds what the rules say about a call.
//!
//! The first rule that matches applies. A shell command can consist of several commands, so rules
//! that restrict must not be avoidable by adding another command, and rules that permit must not
//! permit more than they name. An `allow` rule therefore matches only the whole command. An `ask`
//! or `deny` rule matches the whole command or any part of it; each part has its own first match,
//! and the strictest one counts.

use std::borrow::Cow;

use serde_json::Value;
use zot_protocol::{ApprovalAction, ApprovalRule};

use super::{PendingCall, command};

/// What the rules say about a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ruling<'r> {
    /// No rule matches.
    None,
    Allow,
    Ask(&'r ApprovalRule),
    Deny(&'r ApprovalRule),
}

pub(super) fn ruling<'r>(rules: &'r [ApprovalRule], call: &PendingCall<'_>) -> Ruling<'r> {
    let whole = match call.args.get("command") {
        Some(Value::String(command)) => Some(command.as_str()),
        _ => None,
    };
    let restricts = |rule: &ApprovalRule| {
        rule.command.is_some() && !matches!(rule.action, ApprovalAction::Allow)
    };
    // Splitting a command is necessary only if a rule checks the parts.
    let mut open: Vec<Option<Cow<'_, str>>> = match whole {
        Some(whole) if rules.iter().any(restricts) => {
            command::parts(whole).into_iter().map(Some).collect()
        }
        Some(whole) => vec![Some(whole.into())],
        None => vec![None],
    };
    let mut asked = None;
    for rule in rules.iter().filter(|rule| applies(rule, call)) {
        match rule.action {
            ApprovalAction::Allow => {
                let allowed = match (&rule.command, whole) {
                    (None, _) => true,
                    (Some(pattern), Some(whole)) => command::is_allowed(pattern, whole),
                    (Some(_), None) => false,
                };
                if allowed {
                    return asked.map_or(Ruling::Allow, Ruling::Ask);
                }
            }
            action => {
                let count = open.len();
                open.retain(|part| match (&rule.command, part) {
                    (None, _) => false,
                    (Some(pattern), Some(part)) => !command::matches(pattern, part),
                    (Some(_), None) => true,
                });
                let matched = open.len() < count;
                if matched && action == ApprovalAction::Deny {
                    return Ruling::Deny(rule);
                }
                if matched {
                    asked.get_or_insert(rule);
                }
                if open.is_empty() {
                    break;
                }
            }
        }
    }
    asked.map_or(Ruling::None, Ruling::Ask)
}

/// Reports whether a rule applies to the tool, the caller and the arguments, apart from the
/// command.
fn applies(rule: &ApprovalRule, call: &PendingCall<'_>) -> bool {
    command::glob(&rule.tool, call.tool)
        && rule.args.as_ref().is_none_or(|args| match rule.action {
            ApprovalAction::Allow => args == call.args,
            _ if args.is_empty() => call.args.is_empty(),
            // Extra arguments, which a tool may ignore, must not get around the rule.
            _ => args
                .iter()
                .all(|(name, value)| call.args.get(name) == Some(value)),
        })
        && (rule.caller.as_ref()).is_none_or(|caller| command::glob(caller, &caller_of(call)))
}

/// Returns the caller as a rule names it: `model` or `extension:NAME`. Without the prefix, a rule
/// for the model would also match an extension called `model`.
pub(super) fn caller_of(call: &PendingCall<'_>) -> Cow<'static, str> {
    match call.caller {
        None => "model".into(),
        Some(extension) => format!("extension:{extension}").into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns rules for `bash`, written as `allow git *`.
    fn rules(lines: &[&str]) -> Vec<ApprovalRule> {
        let rule = |line: &&str| {
            let (action, command) = line.split_once(' ').unwrap();
            let rule = json!({"tool": "bash", "command": command, "do": action});
            serde_json::from_value(rule).unwrap()
        };
        lines.iter().map(rule).collect()
    }

    #[test]
    fn more_arguments_do_not_get_around_a_rule() {
        let of = |action: &str| {
            let rule = json!({"tool": "read", "args": {"path": "secret"}, "do": action});
            [serde_json::from_value(rule).unwrap()]
        };
        let said = |rules: &[ApprovalRule], args: serde_json::Value| {
            let args = args.as_object().unwrap();
            let (caller, tool) = (None, "read");
            match ruling(rules, &PendingCall { caller, tool, args }) {
                Ruling::Deny(_) => "deny",
                Ruling::Ask(_) => "ask",
                Ruling::Allow => "allow",
                Ruling::None => "none",
            }
        };
        for action in ["deny", "ask", "allow"] {
            let rules = of(action);
            assert_eq!(said(&rules, json!({"path": "secret"})), action);
            let more = if action == "allow" { "none" } else { action };
            assert_eq!(said(&rules, json!({"path": "secret", "why": "x"})), more);
            assert_eq!(said(&rules, json!({"path": "other"})), "none");
        }
    }

    fn said(rules: &[ApprovalRule], command: &str) -> &'static str {
        let args = json!({"command": command});
        let call = PendingCall {
            caller: None,
            tool: "bash",
            args: args.as_object().unwrap(),
        };
        match ruling(rules, &call) {
            Ruling::None => "none",
            Ruling::Allow => "allow",
            Ruling::Ask(_) => "ask",
            Ruling::Deny(_) => "deny",
        }
    }

    #[test]
    fn an_allow_rule_with_a_wildcard_allows_one_simple_command() {
        let rules = rules(&["allow git *"]);
        for command in [
            "git",
            "git status",
            "  git log -p -- src/*.rs",
            "git commit -m 'fix; it | all > $(now)'",
            "git commit -m \"a; b & (c)\"",
            "git show HEAD@{1}",
        ] {
            assert_eq!(said(&rules, command), "allow", "{command}");
        }
        for command in [
            "git status; rm -rf ~",
            "git log $(curl evil.example)",
            "git log `curl evil.example`",
            "git log \"$(curl evil.example)\"",
            "git log \"`curl evil.example`\"",
            "git x && rm y",
            "git x & rm y",
            "git x || rm y",
            "git x | sh",
            "git x |& sh",
            "git show > ~/.bashrc",
            "git show >> ~/.bashrc",
            "git show &> x",
            "git x < /etc/passwd",
            "git diff <(rm x) y",
            "git x\nrm -rf ~",
            "git x\r\nrm -rf ~",
            "git commit -m 'a\nb'; rm x",
            "git commit -m 'a'\\''; rm x; '",
            "git commit -m \"a\\\"; rm x",
            "git commit -m 'unterminated; rm x",
            "git $HOME",
            "git ${x:=y}",
            "git \0x",
            "gitk",
            "git-evil x",
            "/tmp/git x",
            "x=1 git y",
            "sudo git x",
            "",
        ] {
            assert_eq!(said(&rules, command), "none", "{command}");
        }
    }

    #[test]
    fn a_wildcard_for_everything_still_allows_only_simple_commands() {
        let rules = rules(&["allow *"]);
        assert_eq!(said(&rules, "ls -l"), "allow");
        assert_eq!(said(&rules, "ls; rm x"), "none");
        assert_eq!(said(&rules, "PATH=/tmp ls"), "none");
    }

    #[test]
    fn a_rule_without_a_wildcard_matches_the_exact_command() {
        let rules = rules(&["allow make && make test"]);
        assert_eq!(said(&rules, "make && make test"), "allow");
        for other in [
            "make",
            "make && make test ",
            "make && make test; rm x",
            "make && make testing",
        ] {
            assert_eq!(said(&rules, other), "none", "{other}");
        }
    }

    #[test]
    fn a_deny_rule_matches_every_part_of_a_command() {
        let rules = rules(&["allow git *", "deny rm *"]);
        for command in [
            "rm x",
            "rm",
            "git status; rm -rf ~",
            "git status&&rm x",
            "git status | xargs rm -f",
            "echo $(rm x)",
            "echo `rm x`",
            "(rm x)",
            "{ rm x; }",
            "if true; then rm x; fi",
            "! rm x",
            "FOO=bar rm x",
            "sudo -u root rm x",
            "/bin/rm x",
            "\"rm\" x",
            "r\\m x",
            "r'm' x",
            "rm\tx",
            "ls\nrm x",
            "r\\\nm x",
            "2>/dev/null rm x",
            "> /dev/null rm x",
            "cat <(rm x)",
            "sh -c 'rm x'",
            "eval \"rm x\"",
            "$'rm' x",
            "env A=b rm x",
        ] {
            assert_eq!(said(&rules, command), "deny", "{command}");
        }
        for command in ["git rm x", "ls rm", "rmdir x", "git status"] {
            assert_ne!(said(&rules, command), "deny", "{command}");
        }
    }

    #[test]
    fn the_first_rule_counts_and_the_strictest_part() {
        let rules = rules(&[
            "allow git push --dry-run *",
            "ask git push *",
            "deny git push *",
            "deny curl *",
            "allow git *",
        ]);
        for (command, expected) in [
            ("git push --dry-run x", "allow"),
            ("git push x", "ask"),
            ("git log", "allow"),
            ("git push x; curl y", "deny"),
            ("cd x && git push", "ask"),
            ("git log && git log", "none"),
        ] {
            assert_eq!(said(&rules, command), expected, "{command}");
        }
    }

    #[test]
    fn a_later_allow_rule_does_not_override_a_part_that_must_be_confirmed() {
        let mut rules = rules(&["ask git push *"]);
        rules.push(ApprovalRule::new("bash", ApprovalAction::Allow));
        assert_eq!(said(&rules, "cd x && git push"), "ask");
        assert_eq!(said(&rules, "cd x && make"), "allow");
    }

    #[test]
    fn rules_match_tools_callers_and_arguments() {
        let args = json!({"path": "a"});
        let call = |caller, tool| PendingCall {
            caller,
            tool,
            args: args.as_object().unwrap(),
        };
        let deny = |rule: serde_json::Value, call: PendingCall<'_>| {
            let rules = [serde_json::from_value(rule).unwrap()];
            matches!(ruling(&rules, &call), Ruling::Deny(_))
        };
        for (rule, caller, tool, expected) in [
            (json!({"tool": "*"}), None, "read", true),
            (json!({"tool": "re*"}), None, "read", true),
            (json!({"tool": "read"}), None, "reader", false),
            (
                json!({"tool": "*", "caller": "model"}),
                Some("model"),
                "read",
                false,
            ),
            (
                json!({"tool": "*", "caller": "extension:*"}),
                Some("todo"),
                "read",
                true,
            ),
            (
                json!({"tool": "*", "caller": "extension:*"}),
                None,
                "read",
                false,
            ),
            (
                json!({"tool": "*", "args": {"path": "a"}}),
                None,
                "read",
                true,
            ),
            (json!({"tool": "*", "args": {}}), None, "read", false),
            (json!({"tool": "*", "command": "*"}), None, "read", false),
        ] {
            let mut rule = rule;
            rule["do"] = json!("deny");
            assert_eq!(deny(rule.clone(), call(caller, tool)), expected, "{rule}");
        }
    }

    #[test]
    fn a_long_command_is_judged_quickly() {
        let rules = rules(&["deny *rm*x*", "allow git *"]);
        let start = std::time::Instant::now();
        for text in ["; ", "sudo a ", "' ", "> ", "a=b "] {
            said(&rules, &text.repeat(50_000));
        }
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
