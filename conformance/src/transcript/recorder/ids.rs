//! Which fields of which frames are ids, who creates them, and their names in a transcript.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Party;

/// The namespaces of ids. The same id may mean different things in different namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    /// Requests from the host.
    Host,
    /// Calls from the extension.
    Extension,
    /// Panels of the extension.
    Panel,
}

impl Space {
    fn owner(self) -> Party {
        match self {
            Self::Host => Party::Host,
            Self::Extension | Self::Panel => Party::Extension,
        }
    }
}

/// The names given to ids so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    names: BTreeMap<(Space, String), String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Ids {
    /// Replaces the ids of `frame` with names in `written`, the copy to be recorded.
    pub(super) fn name(&mut self, who: Party, kind: &str, frame: &Value, written: &mut Value) {
        for (pointer, space, label) in fields(who, kind) {
            let Some(id) = frame.pointer(pointer).and_then(Value::as_str) else {
                continue;
            };
            if let Some(name) = self.of(who, *space, label, id)
                && let Some(place) = written.pointer_mut(pointer)
            {
                *place = name;
            }
        }
    }

    /// Returns the replacement for an id. An id that the other side never created stays literal, so
    /// that the transcript shows the invalid id.
    fn of(&mut self, who: Party, space: Space, label: &'static str, id: &str) -> Option<Value> {
        if let Some(name) = self.names.get(&(space, id.to_owned())) {
            return Some(json!({"$ref": name}));
        }
        if who != space.owner() || label.is_empty() {
            return None;
        }
        let count = self.counts.entry(label).or_default();
        *count += 1;
        let name = format!("{label}{count}");
        self.names.insert((space, id.to_owned()), name.clone());
        Some(match who {
            Party::Host => json!({"$new": name}),
            Party::Extension => json!({"$cap": name}),
        })
    }
}

/// Returns the id fields of a frame, each with the name for a new id; `""` if the id cannot be new.
fn fields(who: Party, kind: &str) -> &'static [(&'static str, Space, &'static str)] {
    match (who, kind) {
        (Party::Host, "command_invoked") => &[("/id", Space::Host, "command")],
        (Party::Host, "tool_call") => &[("/id", Space::Host, "tool")],
        (Party::Host, "event_intercept") => &[("/id", Space::Host, "intercept")],
        (Party::Host, "tool_cancel") => &[("/id", Space::Host, "")],
        (Party::Host, "tool_result") | (Party::Extension, "call_tool_cancel") => {
            &[("/id", Space::Extension, "")]
        }
        (Party::Host, "error") => &[("/id", Space::Host, ""), ("/id", Space::Extension, "")],
        (Party::Host, "panel_key" | "panel_resize") => &[("/panel_id", Space::Panel, "")],
        (_, "panel_close") | (Party::Extension, "panel_render") => {
            &[("/panel_id", Space::Panel, "")]
        }
        (Party::Extension, "command_response") => &[
            ("/id", Space::Host, ""),
            ("/open_panel/id", Space::Panel, "panel"),
        ],
        (Party::Extension, "tool_result" | "tool_progress" | "event_intercept_response") => {
            &[("/id", Space::Host, "")]
        }
        (Party::Extension, "call_tool") => &[
            ("/id", Space::Extension, "call"),
            ("/parent_id", Space::Host, ""),
        ],
        (Party::Extension, "open_panel") => &[("/panel/id", Space::Panel, "panel")],
        _ => &[],
    }
}
