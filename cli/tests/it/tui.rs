//! The interactive mode on a real terminal.

mod commands;
mod first;
mod flood;
mod hostile;
mod notes;
mod panel;
mod pictures;
mod puppet;
mod restored;
mod scenes;
pub(crate) mod screen;
mod sessions;
mod size;
mod tools;
mod tour;
mod trust;
mod turns;
