//! The frames up to ready, which every transcript would begin with.

use super::Recorded;
use crate::{Party, transcript::Verb};

/// The verbs of a recording, those of its handshake as one where that says the same.
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

/// The indices of the frames that `use` stands for; none where it would not.
///
/// That is all up to `ready`, and the `hello_ack`, which the Go host sends after an extension that does not wait for it.
/// Without a `ready` it is all up to the first frame of another kind. One of another kind before `ready` would be lost.
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

/// Whether a `ready` comes before the host has said anything but `hello_ack`.
fn comes_later(recorded: &[Recorded], from: usize) -> bool {
    recorded[from..]
        .iter()
        .take_while(|recorded| recorded.who == Party::Extension)
        .any(|recorded| recorded.kind == "ready")
}
