//! The rules that a user can choose from to allow a call and similar ones.

use serde_json::Value;
use zot_protocol::{ApprovalAction, ApprovalRule};

use super::{PendingCall, command, decide::caller_of};

/// The tool for which allowing a call means allowing its `command`, whatever its other arguments.
const SHELL: &str = "bash";

/// The rules that allow a call and others like it, for its caller only. The user chooses one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Grants {
    /// Allows this call: for `bash`, the same command; for other tools, the same arguments.
    pub call: ApprovalRule,
    /// Allows commands with the same beginning. `None` if the call is not one simple command.
    pub prefix: Option<ApprovalRule>,
    /// Allows all calls to the tool.
    pub tool: ApprovalRule,
}

impl Grants {
    /// Returns the rules that allow a call.
    pub fn of(call: &PendingCall<'_>) -> Self {
        let tool = ApprovalRule::new(call.tool, ApprovalAction::Allow).by(caller_of(call));
        let command = match call.args.get("command") {
            Some(Value::String(command)) if call.tool == SHELL => Some(command.as_str()),
            _ => None,
        };
        let exact = match command {
            // In `command`, a `*` would stand for any text.
            Some(command) if !command.contains('*') => tool.clone().with_command(command),
            _ => tool.clone().with_args(call.args.clone()),
        };
        let prefix = command.and_then(command::prefix);
        Self {
            call: exact,
            prefix: prefix.map(|prefix| tool.clone().with_command(prefix)),
            tool,
        }
    }
}

/// Returns the index at which a new `allow` rule has the same effect in a list of rules as
/// [`Approvals::grant`](super::Approvals::grant): before every `ask` rule for the same tool and
/// caller, and after every `deny` rule. Returns `None` if there is no such index.
pub(crate) fn index_for(new: &ApprovalRule, rules: &[ApprovalRule]) -> Option<usize> {
    let concerns = |rule: &ApprovalRule, action| {
        let pairs = (rule.caller.as_ref()).zip(new.caller.as_ref());
        rule.action == action
            && command::glob(&rule.tool, &new.tool)
            && pairs.is_none_or(|(pattern, caller)| command::glob(pattern, caller))
    };
    let mut rules = rules.iter();
    let count = rules.len();
    let index = rules.position(|rule| concerns(rule, ApprovalAction::Ask));
    let denied = rules.any(|rule| concerns(rule, ApprovalAction::Deny));
    (!denied).then_some(index.unwrap_or(count))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::approval::{Approvals, ConfirmMode, Decision};

    fn grants(args: &Value) -> Grants {
        Grants::of(&PendingCall {
            caller: None,
            tool: "bash",
            args: args.as_object().unwrap(),
        })
    }

    #[test]
    fn every_offered_rule_allows_the_call() {
        for (tool, args) in [
            ("bash", json!({"command": "cargo test"})),
            ("bash", json!({"command": "rm *.o", "timeout": 5})),
            ("bash", json!({"command": "make; make install"})),
            ("bash", json!({"command": ""})),
            ("bash", json!({})),
            ("write", json!({"path": "a", "content": "*"})),
            ("deploy", json!({"command": "run", "host": "production"})),
        ] {
            for caller in [None, Some("todo")] {
                let args = args.as_object().unwrap();
                let call = PendingCall { caller, tool, args };
                let Grants {
                    call: exact,
                    prefix,
                    tool,
                } = Grants::of(&call);
                for rule in [Some(exact), prefix, Some(tool)].into_iter().flatten() {
                    let approvals = Approvals::default();
                    approvals.grant(rule.clone());
                    assert_eq!(approvals.decide(&call), Decision::Allow, "{rule}");
                    let other = PendingCall {
                        caller: Some("other"),
                        ..call
                    };
                    assert_eq!(approvals.decide(&other), Decision::Ask(None), "{rule}");
                }
            }
        }
    }

    #[test]
    fn a_command_with_a_star_is_not_saved_as_a_pattern() {
        let exact = grants(&json!({"command": "rm *.o"})).call;
        assert_eq!((exact.command, exact.args.is_some()), (None, true));
        let exact = grants(&json!({"command": "rm x"})).call;
        assert_eq!((exact.command.as_deref(), exact.args), (Some("rm x"), None));
    }

    #[test]
    fn the_exact_call_of_another_tool_has_the_same_arguments() {
        let args = json!({"command": "run", "host": "staging"});
        let call = |args| PendingCall {
            caller: None,
            tool: "deploy",
            args,
        };
        let granted = Approvals::default();
        granted.grant(Grants::of(&call(args.as_object().unwrap())).call);
        let other = json!({"command": "run", "host": "production"});
        let decided = granted.decide(&call(other.as_object().unwrap()));
        assert_eq!(decided, Decision::Ask(None));
    }

    /// A rule in the configuration must have the same effect as a grant of the same rule.
    #[test]
    fn a_saved_rule_means_the_same_as_a_grant() {
        let pool = [
            json!({"tool": "bash", "command": "git *", "do": "allow"}),
            json!({"tool": "bash", "command": "git *", "do": "ask"}),
            json!({"tool": "bash", "command": "git push *", "do": "deny"}),
            json!({"tool": "bash", "command": "ls *", "do": "deny"}),
            json!({"tool": "*", "do": "ask"}),
            json!({"tool": "*", "caller": "extension:*", "do": "deny"}),
            json!({"tool": "write", "do": "deny"}),
        ];
        let pool = pool.map(|rule| serde_json::from_value::<ApprovalRule>(rule).unwrap());
        let commands = [
            "git log",
            "git push x",
            "ls",
            "git log; git push",
            "git log; ls",
        ];
        let mut compared = 0;
        for picked in 0..pool.len().pow(3) {
            let count = pool.len();
            let digits = [
                picked % count,
                picked / count % count,
                picked / count / count,
            ];
            let rules: Vec<_> = digits.iter().map(|&at| pool[at].clone()).collect();
            let given = grants(&json!({"command": "git log"}));
            for new in [Some(given.call), given.prefix, Some(given.tool)]
                .into_iter()
                .flatten()
            {
                let Some(index) = index_for(&new, &rules) else {
                    continue;
                };
                for mode in [ConfirmMode::Rules, ConfirmMode::Always] {
                    let granted = Approvals::new(rules.clone(), mode);
                    granted.grant(new.clone());
                    let mut saved = rules.clone();
                    saved.insert(index, new.clone());
                    let saved = Approvals::new(saved, mode);
                    for (command, caller) in
                        commands.iter().flat_map(|it| [(it, None), (it, Some("x"))])
                    {
                        let args = json!({"command": command});
                        let call = PendingCall {
                            caller,
                            tool: "bash",
                            args: args.as_object().unwrap(),
                        };
                        let (one, other) = (granted.decide(&call), saved.decide(&call));
                        assert_eq!(one, other, "{command} by {caller:?}: {new} in {rules:?}");
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 1000);
    }
}
