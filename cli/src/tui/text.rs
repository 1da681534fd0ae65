//! Turns text into lines for the terminal: sanitised, styled and wrapped to a width.
//!
//! The input may come from a model or an extension. The output contains no control characters.

mod blocks;
mod diff;
mod fit;
mod highlight;
mod pieces;
mod render;
mod stream;
mod table;
mod unfinished;
mod wrap;

pub(crate) use diff::diff;
pub(crate) use fit::{clusters, fit, fit_line, width};
pub(crate) use stream::{Stream, markdown};
pub(crate) use wrap::{plain, rows, tidy, wrap, wrap_between};

#[cfg(test)]
mod markdown_tests;
#[cfg(test)]
pub(crate) mod tests;
