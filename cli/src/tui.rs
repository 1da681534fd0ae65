//! The interactive agent.

pub(crate) mod editor;
pub(crate) mod text;
pub(crate) mod theme;
