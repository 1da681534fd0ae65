//! The package manager: fetch a package, check it, stage it next to its destination, swap it in.
//!
//! ```text
//! source ─► fetch ─► contents ─► stage ─► swap ─► lock_file
//! ```
//!
//! **No code from a package runs**: files are written from git objects or copied byte by byte,
//! never checked out, and no git configuration is read. **An extension's directory always contains
//! one complete version**: a tree is complete and on disk before a rename puts it there, and a
//! [`journal`] lets the next run finish what a killed run started.

pub(crate) mod contents;
pub(crate) mod fetch;
pub(crate) mod guard;
pub(crate) mod inspect;
pub(crate) mod install;
pub(crate) mod installed;
pub(crate) mod journal;
mod links;
pub(crate) mod lock_file;
pub(crate) mod manifest_edit;
pub(crate) mod permission_summary;
pub(crate) mod source;
pub(crate) mod stage;
pub(crate) mod store;
pub(crate) mod swap;
pub(crate) mod switch;
pub(crate) mod uninstall;
pub(crate) mod update;
pub(crate) mod url;
