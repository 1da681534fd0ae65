//! Interactive mode in a real terminal.

mod bell;
mod commands;
mod confirm;
mod draft;
mod failed_commands;
mod flood;
mod history_search;
mod hostile;
mod images;
mod notes;
mod panel;
mod pictures;
mod puppet;
mod rewind;
mod scenes;
pub(crate) mod screen;
mod sessions;
mod shell;
mod size;
mod startup;
mod steering;
mod terminal_restore;
mod thinking;
mod tools;
mod tour;
mod trust;
mod turns;
