//! `zot ext doctor`: starts each extension as `zot` would and reports problems.

mod clock;
mod diagnosis;
mod examine;
pub(crate) mod json;
pub(crate) mod text;

pub(crate) use diagnosis::{Diagnosis, Verdict};
pub(crate) use examine::examine;
