//! The interactive agent.

mod app;
mod bridge;
mod builtin;
pub(crate) mod editor;
mod message;
mod state;
mod terminal;
pub(crate) mod text;
pub(crate) mod theme;
mod transcript;
mod update;
mod view;
mod widget;

pub(crate) use app::run;
pub(crate) use terminal::is_terminal;
