//! Texts as lines of a terminal: cleaned, coloured, and none wider than it may be.
//!
//! Whatever comes in here may be of a model's or an extension's making. What goes out holds no control character.

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
mod figures;
#[cfg(test)]
mod scenes;
#[cfg(test)]
pub(crate) mod tests;
