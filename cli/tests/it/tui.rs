//! Interactive mode in a real terminal.

mod commands;
mod flood;
mod hostile;
mod notes;
mod panel;
mod pictures;
mod puppet;
mod scenes;
pub(crate) mod screen;
mod sessions;
mod size;
mod startup;
mod terminal_restore;
mod tools;
mod tour;
mod trust;
mod turns;
