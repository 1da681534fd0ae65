//! For authors of extensions: a new one to begin with, and one question to one of them without an agent around it.

pub(crate) mod answer;
pub(crate) mod new;
pub(crate) mod one_request;
pub(crate) mod target;
mod template;
