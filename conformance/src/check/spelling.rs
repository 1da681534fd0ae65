//! Mistakes that a host ignores silently, found in the text of the frames: a byte order mark, and
//! unknown types and fields.

use zot_protocol::validate::Hint;

use super::{Check, Profile, Run};
use crate::{
    session::{History, ReceivedLine},
    verdict::{Finding, Level},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "ROB-12",
        level: Level::Should,
        profile: Profile::Quick,
        title: "no line starts with a byte order mark",
        does: "Looks at the first bytes of every line.",
        why: "zot skips a byte order mark only at the start of stdout, and other hosts do not skip it at all.",
        fix: "Write UTF-8 without a byte order mark: in Python `utf-8` instead of `utf-8-sig`, in PowerShell `UTF8Encoding($false)`.",
        needs: &[],
        run: Run::Watched(byte_order_mark, |_, _| None),
    },
    Check {
        id: "ROB-13",
        level: Level::Should,
        profile: Profile::Quick,
        title: "no frame type or field is misspelt",
        does: "Compares unknown frame types and fields, at any depth, with the names in the schemas.",
        why: "A host ignores unknown frames and fields, so a misspelt one has no effect and causes no error.",
        fix: "Use the name in the hint. `zot schema from-extension` prints all of them.",
        needs: &[],
        run: Run::Watched(
            |received, before| unknown(received, before, true),
            |_, _| None,
        ),
    },
    Check {
        id: "ROB-14",
        level: Level::Info,
        profile: Profile::Quick,
        title: "frame types and fields that the protocol does not define",
        does: "Records unknown frame types and fields that resemble no known name.",
        why: "A host ignores them. They may be for another host, or for a later version.",
        fix: "Nothing is required.",
        needs: &[],
        run: Run::Watched(
            |received, before| unknown(received, before, false),
            |_, _| None,
        ),
    },
];

fn byte_order_mark(received: &ReceivedLine, _: &History) -> Option<Finding> {
    let hint = received
        .hints
        .iter()
        .find(|hint| **hint == Hint::ByteOrderMark)?;
    Some(finding(received, hint, None))
}

/// Returns a finding for the first unknown name. If `is_mistake`, looks for misspelt names, and
/// otherwise for names that resemble no known name.
fn unknown(received: &ReceivedLine, before: &History, is_mistake: bool) -> Option<Finding> {
    let is_judged = before.hellos > 0 || received.is("hello");
    let hints = received.hints.iter().filter(|_| is_judged);
    hints
        .filter(|hint| hint.is_mistake() == is_mistake)
        .find_map(|hint| match hint {
            Hint::UnknownType { .. } => Some(finding(received, hint, Some("/type"))),
            Hint::UnknownField { pointer, .. } => Some(finding(received, hint, Some(pointer))),
            _ => None,
        })
}

fn finding(received: &ReceivedLine, hint: &Hint, pointer: Option<&str>) -> Finding {
    let pointer = pointer.map(str::to_owned);
    let finding = Finding::new(hint.to_string()).frame(&received.shown, pointer);
    finding.hint(hint.fix())
}
