//! Tools for extension authors: create an extension, and send it a single request without an
//! agent.

pub(crate) mod answer;
pub(crate) mod mistakes;
pub(crate) mod new;
pub(crate) mod one_request;
pub(crate) mod target;
mod template;
