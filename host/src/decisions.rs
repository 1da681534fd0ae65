//! The record of decisions: what the interceptors did with each event, and why.
//!
//! Each session has a file in `$ZOT_HOME/decisions`, with one JSON object per line. By default, a
//! record contains each interceptor's decision and the time, but not the event itself.

mod log;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zot_protocol::{DecisionDetail, Intercept, Tagged, ToolId};

use crate::{
    clock,
    extension::{
        chain::{ChainOutcome, InterceptRecord},
        fold::{Failure, Verdict},
    },
};

pub use log::{DecisionLog, DecisionsError, Recorded, read};

/// The maximum length of a reason or a failure, in bytes.
const MAX_REASON: usize = 1024;
/// The maximum size of an event in a full record, in bytes of JSON.
const MAX_VALUE: usize = 16 * 1024;

/// What the interceptors did with one event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decision {
    /// When the last interceptor answered, as an RFC 3339 timestamp.
    pub time: String,
    /// The event, such as `tool_call`.
    pub event: String,
    /// The tool, if the event is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The id of the tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// Where the event comes from: `model`, `user`, `zot`, or `extension:` and a name.
    pub origin: String,
    /// What happened to the event.
    pub outcome: Outcome,
    /// The extension that blocked the event. Absent if the event was not blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The interceptors, in the order in which they were asked.
    pub links: Vec<Link>,
    /// The event as the interceptors left it, in full records only. Absent if it is too large, if
    /// it was blocked before every interceptor was asked, or if an interceptor in audit mode did
    /// not allow it unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// What happened to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The event went ahead unchanged.
    Allowed,
    /// The event went ahead with an interceptor's changes.
    Rewritten,
    /// The event was blocked.
    Blocked,
}

/// What one interceptor did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Link {
    /// The extension.
    pub extension: String,
    /// What it did to the event or, in audit mode, would have done.
    pub verdict: LinkVerdict,
    /// Whether the answer was applied.
    pub mode: LinkMode,
    /// How long it took to answer, in milliseconds.
    pub ms: f64,
    /// Whether this is its second answer, as a final interceptor.
    #[serde(rename = "final", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
    /// What it changed, as JSON pointers into the event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Its reason for blocking the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it gave no valid answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What an interceptor did to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LinkVerdict {
    /// It left the event unchanged.
    Allow,
    /// It changed the event.
    Rewrite,
    /// It blocked the event.
    Block,
    /// It failed, and its policy is to allow the event.
    FailOpen,
    /// It failed, and its policy is to block the event.
    FailClosed,
}

/// Whether an interceptor's answer was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LinkMode {
    /// It was applied.
    Enforce,
    /// It was only recorded.
    Audit,
}

/// What a decision is about. Taken from the event before the interceptors are asked.
pub(crate) struct Subject {
    event: String,
    tool: Option<(String, Option<ToolId>)>,
    origin: String,
}

impl Subject {
    pub(crate) fn of(event: &Intercept) -> Self {
        let by = |caller: &Option<String>| match caller {
            Some(extension) => format!("extension:{extension}"),
            None => "model".to_owned(),
        };
        let (tool, origin) = match event {
            Intercept::ToolCall(call) => (
                Some((call.tool_name.clone(), call.tool_id.clone())),
                by(&call.caller),
            ),
            Intercept::ToolResult(result) => (
                Some((result.tool_name.clone(), Some(result.tool_id.clone()))),
                by(&result.caller),
            ),
            Intercept::AssistantMessage(_) => (None, "model".to_owned()),
            Intercept::UserMessage(_) => (None, "user".to_owned()),
            _ => (None, "zot".to_owned()),
        };
        Self {
            event: event.name().to_owned(),
            tool,
            origin,
        }
    }
}

impl Decision {
    pub(crate) fn new(subject: Subject, chain: &ChainOutcome, detail: DecisionDetail) -> Self {
        let applied = |verdict: &Verdict| {
            let mut records = chain.records.iter();
            records.any(|record| !record.is_audit && record.verdict == *verdict)
        };
        let outcome = match &chain.result {
            Err(_) => Outcome::Blocked,
            Ok(_) if applied(&Verdict::Rewritten) => Outcome::Rewritten,
            Ok(_) => Outcome::Allowed,
        };
        let (tool, tool_id) = subject.tool.unzip();
        let value = (detail == DecisionDetail::Full)
            .then(|| value_of(chain))
            .flatten();
        Self {
            time: clock::now(),
            event: subject.event,
            tool: tool.map(|tool| short(&tool)),
            tool_id: tool_id.flatten().map(|id| ToolId::from(short(id.as_str()))),
            origin: subject.origin,
            outcome,
            by: chain.result.as_ref().err().map(|block| block.by.clone()),
            links: chain.records.iter().map(|it| Link::of(it, chain)).collect(),
            value,
        }
    }
}

impl Link {
    fn of(record: &InterceptRecord, chain: &ChainOutcome) -> Self {
        let failure = |failure: &Failure| {
            Some(match failure {
                // The reason quotes the answer, which may contain what another interceptor redacts.
                Failure::Refused(_) => "invalid answer".to_owned(),
                failure => short(&failure.to_string()),
            })
        };
        let (verdict, failure) = match &record.verdict {
            Verdict::Allowed => (LinkVerdict::Allow, None),
            Verdict::Rewritten => (LinkVerdict::Rewrite, None),
            Verdict::Blocked => (LinkVerdict::Block, None),
            Verdict::FailedOpen(why) => (LinkVerdict::FailOpen, failure(why)),
            Verdict::FailedClosed(why) => (LinkVerdict::FailClosed, failure(why)),
        };
        Self {
            extension: record.extension.clone(),
            verdict,
            mode: if record.is_audit {
                LinkMode::Audit
            } else {
                LinkMode::Enforce
            },
            // Microseconds are precise enough.
            ms: (record.latency.as_secs_f64() * 1e6).round() / 1e3,
            is_final: record.is_final,
            changed: known_places(&record.changed, chain),
            reason: (record.reason.as_deref())
                .filter(|_| verdict == LinkVerdict::Block)
                .map(short),
            failure,
        }
    }
}

/// Returns the pointers without names that are no longer in the event, because an interceptor may
/// have redacted them.
fn known_places(pointers: &[String], chain: &ChainOutcome) -> Vec<String> {
    let left = (chain.result.as_ref().ok()).or(chain.blocked.as_ref());
    let left = left.and_then(|event| serde_json::to_value(event).ok());
    let known = |pointer: &String| {
        let mut known = pointer.as_str();
        let exists = |known: &str| {
            left.as_ref()
                .is_some_and(|left| left.pointer(known).is_some())
        };
        // The name of the event's field says nothing about its contents.
        while known.rfind('/').is_some_and(|at| at > 0) && !exists(known) {
            known = &known[..known.rfind('/').unwrap_or_default()];
        }
        known.to_owned()
    };
    let mut places: Vec<String> = pointers.iter().map(known).collect();
    places.dedup();
    places
}

/// Returns the event after the chain. Returns `None` if the event is too large or may contain what
/// an interceptor would have redacted: one was not asked, failed, or is in audit mode and did not
/// allow the event unchanged.
fn value_of(chain: &ChainOutcome) -> Option<Value> {
    let event = match &chain.result {
        Ok(event) => event,
        // A blocked message or result was blocked for what it contains.
        Err(_) => (chain.blocked.as_ref()).filter(|it| matches!(it, Intercept::ToolCall(_)))?,
    };
    let has_applied = |record: &InterceptRecord| match record.verdict {
        Verdict::Allowed => true,
        Verdict::Rewritten | Verdict::Blocked => !record.is_audit,
        Verdict::FailedOpen(_) | Verdict::FailedClosed(_) => false,
    };
    if !chain.records.iter().all(has_applied) {
        return None;
    }
    let text = serde_json::to_string(event).ok()?;
    (text.len() <= MAX_VALUE).then(|| serde_json::from_str(&text).ok())?
}

fn short(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_REASON)].to_owned()
}
