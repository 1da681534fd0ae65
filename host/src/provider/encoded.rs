//! The JSON of the messages in a transcript. Each message is serialised once, and its bytes are
//! reused by every later request.

use std::sync::Arc;

use super::buffer::BodyBuffer;
use crate::message::Message;

/// Serialised messages. `F` is the type of a serialised message, which depends on the API.
pub(super) struct Encoded<F> {
    /// The model that they were serialised for: one model's reasoning is not sent to another.
    model: String,
    messages: Vec<(Arc<Message>, F)>,
    buffer: BodyBuffer,
}

impl<F> Default for Encoded<F> {
    fn default() -> Self {
        Self {
            model: String::new(),
            messages: Vec::new(),
            buffer: BodyBuffer::default(),
        }
    }
}

impl<F> Encoded<F> {
    /// Returns the buffer for request bodies.
    pub(super) fn buffer(&self) -> BodyBuffer {
        self.buffer.clone()
    }

    /// Returns the serialised form of each message. Serialises only those after the common prefix
    /// of this transcript and the previous one.
    pub(super) fn update(
        &mut self,
        model: &str,
        messages: &[Arc<Message>],
        encode: impl Fn(&Message) -> F,
    ) -> &[(Arc<Message>, F)] {
        if self.model != model {
            model.clone_into(&mut self.model);
            self.messages.clear();
        }
        let known = self.messages.iter().zip(messages);
        let same = known
            .take_while(|((known, _), message)| Arc::ptr_eq(known, message))
            .count();
        self.messages.truncate(same);
        let new = messages[same..].iter();
        self.messages
            .extend(new.map(|message| (Arc::clone(message), encode(message))));
        &self.messages
    }
}

/// Serialises values as the elements of a JSON list, without the brackets.
pub(super) fn elements(values: impl IntoIterator<Item = serde_json::Value>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        push_element(&mut bytes, &value);
    }
    bytes.shrink_to_fit();
    bytes
}

/// Appends an element to a JSON list without brackets.
pub(super) fn push_element(list: &mut Vec<u8>, value: &serde_json::Value) {
    separate(list);
    serde_json::to_writer(list, value).expect("JSON values serialise");
}

/// Appends a comma, unless the list has no elements yet: the buffer is empty or ends with the
/// opening bracket.
pub(super) fn separate(list: &mut Vec<u8>) {
    if !matches!(list.last(), None | Some(b'[')) {
        list.push(b',');
    }
}

/// Serialises an object whose last field is a list that the caller appends, up to the list's
/// opening bracket. The caller closes the list and the object with `]}`.
pub(super) fn push_object_up_to_list(to: &mut Vec<u8>, object: &serde_json::Value, list: &str) {
    serde_json::to_writer(&mut *to, object).expect("JSON values serialise");
    to.pop();
    if to.last() != Some(&b'{') {
        to.push(b',');
    }
    to.extend_from_slice(format!("\"{list}\":[").as_bytes());
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::message::Role;

    #[test]
    fn a_message_is_serialised_once_per_model() {
        let message = |text: &str| Arc::new(Message::of_text(Role::User, text, "t"));
        let (a, b, question) = (message("a"), message("b"), message("?"));
        let mut encoded = Encoded::default();
        let mut asked = |model: &str, messages: &[&Arc<Message>]| {
            let count = Cell::new(0);
            let messages: Vec<_> = messages.iter().map(|it| Arc::clone(it)).collect();
            let texts = encoded.update(model, &messages, |message| {
                count.set(count.get() + 1);
                message.text()
            });
            let texts: Vec<&str> = texts.iter().map(|(_, text)| &**text).collect();
            (texts.join(" "), count.get())
        };
        assert_eq!(asked("m", &[&a]), ("a".into(), 1));
        assert_eq!(asked("m", &[&a, &b]), ("a b".into(), 1));
        assert_eq!(asked("m", &[&a, &b, &question]), ("a b ?".into(), 1));
        assert_eq!(asked("m", &[&a, &b]), ("a b".into(), 0));
        assert_eq!(asked("m", &[&b]), ("b".into(), 1), "a shorter transcript");
        assert_eq!(asked("n", &[&b]), ("b".into(), 1), "another model");
    }
}
