//! The rules in `approvals`, which must never allow more than the user intended.

use std::path::Path;

use serde_json::{Map, Value};
use zot_protocol::{ApprovalAction, ApprovalRule};

use super::{SettingsError, strict as parsed};
use crate::approval::index_for;

/// Reads the rules, and returns pointers to the invalid ones. An invalid rule becomes an `ask`
/// rule: for calls to its tool or, if the tool is invalid as well, for every call. A rule with an
/// unknown field is invalid, because the field may be meant to restrict it.
pub(super) fn strict(bytes: &[u8]) -> (Vec<ApprovalRule>, Vec<String>) {
    match parsed(bytes).and_then(|mut config| config.remove("approvals")) {
        None | Some(Value::Null) => (Vec::new(), Vec::new()),
        Some(Value::Array(rules)) => {
            let mut invalid = Vec::new();
            let rules = rules.into_iter().enumerate().map(|(index, rule)| {
                rule_of(&rule).unwrap_or_else(|| {
                    invalid.push(format!("/approvals/{index}"));
                    let tool = rule.get("tool").and_then(Value::as_str);
                    ApprovalRule::new(tool.unwrap_or("*"), ApprovalAction::Ask)
                })
            });
            (rules.collect(), invalid)
        }
        Some(_) => (
            vec![ApprovalRule::new("*", ApprovalAction::Ask)],
            vec!["/approvals".to_owned()],
        ),
    }
}

/// Decodes a rule. Returns `None` if it is invalid or has unknown fields.
fn rule_of(value: &Value) -> Option<ApprovalRule> {
    let rule: ApprovalRule = serde_json::from_value(value.clone()).ok()?;
    let mut fields = value.as_object()?.iter();
    let known: Map<String, Value> = match serde_json::to_value(&rule).ok()? {
        Value::Object(fields) => fields,
        _ => return None,
    };
    fields
        .all(|(name, value)| value.is_null() || known.contains_key(name))
        .then_some(rule)
}

/// Returns the list with a new rule, or `None` if the rule is already in effect.
pub(super) fn with(
    rule: &ApprovalRule,
    bytes: &[u8],
    list: Option<Value>,
    path: &Path,
) -> Result<Option<Value>, SettingsError> {
    let damaged = || SettingsError::Damaged(path.to_owned());
    let mut list = match list {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(damaged()),
    };
    let (rules, _) = strict(bytes);
    let index = index_for(rule, &rules).ok_or_else(|| SettingsError::Conflict(path.to_owned()))?;
    if rules[..index].contains(rule) {
        return Ok(None);
    }
    list.insert(index, serde_json::to_value(rule).map_err(|_| damaged())?);
    Ok(Some(Value::Array(list)))
}
