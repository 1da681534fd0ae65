//! How each extension fares: it is started as `zot` would, and what there is to say is said.

mod clock;
mod diagnosis;
mod examine;
pub(crate) mod json;
pub(crate) mod text;

pub(crate) use diagnosis::{Diagnosis, Verdict};
pub(crate) use examine::examine;
