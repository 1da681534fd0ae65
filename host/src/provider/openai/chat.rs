//! Chat Completions. Tolerates servers that omit usage, ids or the end-of-stream marker.

mod answer;
mod request;

pub(super) use answer::Answer;
pub(super) use request::{Form, Fragment, body, limit_field};
