//! Replaces the handshake frames at the start of a transcript with one step.

use super::Recorded;
use crate::{Party, transcript::Verb};

/// Returns the verbs of a recording, with the handshake frames collapsed into `use` if they are
/// equivalent.
pub(super) fn collapsed(recorded: &[Recorded]) -> Vec<Verb> {
    let handshake = handshake(recorded);
    let mut verbs = Vec::with_capacity(recorded.len());
    if !handshake.is_empty() {
        verbs.push(Verb::UseHandshake);
    }
    let rest = recorded.iter().enumerate();
    let rest = rest.filter(|(index, _)| !handshake.contains(index));
    verbs.extend(rest.map(|(_, recorded)| recorded.verb.clone()));
    verbs
}

/// Returns the indices of the frames that `use` replaces; none if it is not equivalent.
///
/// These are all frames up to `ready`, and the `hello_ack`, which the Go host sends after `ready`
/// if the extension does not wait for it. Without a `ready`, they are all frames before the first
/// one that is not part of a handshake. If such a frame comes before `ready`, `use` is not
/// equivalent, because it would lose that frame.
fn handshake(recorded: &[Recorded]) -> Vec<usize> {
    let is =
        |index: usize, who, kind: &str| recorded[index].who == who && recorded[index].kind == kind;
    let registers = |index: &usize| {
        recorded[*index].who == Party::Extension
            && matches!(
                recorded[*index].kind.as_str(),
                "register_command" | "register_tool" | "subscribe" | "ready"
            )
    };
    let acks: Vec<usize> = (0..recorded.len())
        .filter(|index| is(*index, Party::Host, "hello_ack"))
        .collect();
    let ([ack], Some(_)) = (&acks[..], recorded.first()) else {
        return Vec::new();
    };
    if !is(0, Party::Extension, "hello") {
        return Vec::new();
    }
    let opening = (1..recorded.len()).take_while(|index| index == ack || registers(index));
    let opening: Vec<usize> = std::iter::once(0).chain(opening).collect();
    if !opening.contains(ack) {
        return Vec::new();
    }
    let ready = opening
        .iter()
        .position(|index| is(*index, Party::Extension, "ready"));
    match ready {
        Some(ready) => opening
            .into_iter()
            .filter(|index| *index <= ready || index == ack)
            .collect(),
        None if comes_later(recorded, opening.len()) => Vec::new(),
        None => opening,
    }
}

/// Reports whether a `ready` arrives before the host sends anything but `hello_ack`.
fn comes_later(recorded: &[Recorded], from: usize) -> bool {
    recorded[from..]
        .iter()
        .take_while(|recorded| recorded.who == Party::Extension)
        .any(|recorded| recorded.kind == "ready")
}
