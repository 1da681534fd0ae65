//! Decides which tool calls run, which are refused, and which need the user's confirmation.
//!
//! `decide::ruling` is a pure function of the rules and the call. [`Approvals`] adds what
//! changes while a program runs: the mode, and what the user has allowed for the session.

mod command;
mod decide;
mod grant;

use parking_lot::RwLock;
use zot_protocol::{ApprovalRule, Object};

use decide::{Ruling, ruling};

pub use grant::Grants;
pub(crate) use grant::index_for;

/// A tool call that has not run yet, with its final arguments.
#[derive(Debug, Clone, Copy)]
pub struct PendingCall<'c> {
    /// The extension that makes the call, or `None` for the model.
    pub caller: Option<&'c str>,
    /// The tool.
    pub tool: &'c str,
    /// The arguments after interception.
    pub args: &'c Object,
}

/// Which calls need the user's confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConfirmMode {
    /// None: a rule that says `ask` counts as `allow`.
    Never,
    /// Calls for which a rule says `ask`.
    Rules,
    /// Also calls that no rule matches.
    #[default]
    Always,
}

/// What to do with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Run it.
    Allow,
    /// Ask the user, because of this rule or, if there is none, because of [`ConfirmMode::Always`].
    Ask(Option<ApprovalRule>),
    /// Refuse it because of this rule.
    Deny(ApprovalRule),
}

/// The user's rules, and what the user has allowed for the session. The default has no rules and
/// asks about every call.
#[derive(Debug, Default)]
pub struct Approvals(RwLock<Inner>);

#[derive(Debug, Default)]
struct Inner {
    mode: ConfirmMode,
    rules: Vec<ApprovalRule>,
    granted: Vec<ApprovalRule>,
}

impl Approvals {
    /// Creates approvals with the rules from the configuration.
    pub fn new(rules: Vec<ApprovalRule>, mode: ConfirmMode) -> Self {
        Self(RwLock::new(Inner {
            mode,
            rules,
            granted: Vec::new(),
        }))
    }

    /// Returns the mode.
    pub fn mode(&self) -> ConfirmMode {
        self.0.read().mode
    }

    /// Changes the mode, and withdraws what was allowed for the session.
    pub fn set_mode(&self, mode: ConfirmMode) {
        let mut inner = self.0.write();
        inner.mode = mode;
        inner.granted.clear();
    }

    /// Stops asking about the calls that `rule` allows, for the rest of the session. The user's
    /// own rules that say `deny` still apply.
    pub fn grant(&self, rule: ApprovalRule) {
        let mut inner = self.0.write();
        if !inner.granted.contains(&rule) {
            inner.granted.push(rule);
        }
    }

    /// Decides what to do with a call.
    pub fn decide(&self, call: &PendingCall<'_>) -> Decision {
        let inner = self.0.read();
        let rule = match ruling(&inner.rules, call) {
            Ruling::Deny(rule) => return Decision::Deny(rule.clone()),
            Ruling::Ask(rule) => Some(rule.clone()),
            Ruling::None if inner.mode == ConfirmMode::Always => None,
            Ruling::Allow | Ruling::None => return Decision::Allow,
        };
        let granted = || matches!(ruling(&inner.granted, call), Ruling::Allow);
        if inner.mode == ConfirmMode::Never || granted() {
            return Decision::Allow;
        }
        Decision::Ask(rule)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zot_protocol::ApprovalAction::{Allow, Ask, Deny};

    use super::*;

    fn decide(approvals: &Approvals, caller: Option<&str>, command: &str) -> Decision {
        let args = json!({"command": command});
        approvals.decide(&PendingCall {
            caller,
            tool: "bash",
            args: args.as_object().unwrap(),
        })
    }

    #[test]
    fn the_mode_decides_about_calls_without_a_rule_and_about_ask_rules() {
        let ask = ApprovalRule::new("bash", Ask).with_command("git *");
        for (mode, git, other) in [
            (ConfirmMode::Never, Decision::Allow, Decision::Allow),
            (
                ConfirmMode::Rules,
                Decision::Ask(Some(ask.clone())),
                Decision::Allow,
            ),
            (
                ConfirmMode::Always,
                Decision::Ask(Some(ask.clone())),
                Decision::Ask(None),
            ),
        ] {
            let approvals = Approvals::new(vec![ask.clone()], mode);
            assert_eq!(decide(&approvals, None, "git log"), git, "{mode:?}");
            assert_eq!(decide(&approvals, None, "make"), other, "{mode:?}");
        }
    }

    #[test]
    fn no_mode_and_no_grant_overrides_a_deny_rule() {
        let deny = ApprovalRule::new("bash", Deny).with_command("rm *");
        for mode in [ConfirmMode::Never, ConfirmMode::Rules, ConfirmMode::Always] {
            let approvals = Approvals::new(vec![deny.clone()], mode);
            approvals.grant(ApprovalRule::new("bash", Allow));
            let denied = Decision::Deny(deny.clone());
            assert_eq!(decide(&approvals, None, "rm -rf x"), denied);
            assert_eq!(decide(&approvals, None, "ls"), Decision::Allow);
        }
    }

    #[test]
    fn a_grant_lasts_until_the_mode_changes() {
        let ask = ApprovalRule::new("bash", Ask);
        let approvals = Approvals::new(vec![ask.clone()], ConfirmMode::Always);
        approvals.grant(ApprovalRule::new("bash", Allow).by("model"));
        assert_eq!(decide(&approvals, None, "ls"), Decision::Allow);
        let asked = Decision::Ask(Some(ask));
        assert_eq!(decide(&approvals, Some("todo"), "ls"), asked);
        approvals.set_mode(ConfirmMode::Always);
        assert_eq!(decide(&approvals, None, "ls"), asked);
    }
}
