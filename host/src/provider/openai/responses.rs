//! The Responses API. Nothing is stored on the server: every request contains the whole
//! conversation, with the model's reasoning in encrypted form.

mod answer;
mod request;

pub(super) use answer::Answer;
pub(super) use request::{Form, body};
