//! Texts as lines of a terminal: cleaned, coloured, and none wider than it may be.
//!
//! Whatever comes in here may be of a model's or an extension's making. What goes out holds no control character.

mod diff;
mod fit;
mod highlight;
mod stream;
mod wrap;

pub(crate) use diff::diff;
pub(crate) use fit::{fit, fit_line, width};
pub(crate) use highlight::code;
pub(crate) use stream::{Stream, markdown};
pub(crate) use wrap::{plain, rows, tidy, wrap, wrap_between};
