//! The package store: what was named is fetched, looked through, staged beside its place, and swapped in whole.
//!
//! ```text
//! source ─► fetch ─► contents ─► stage ─► swap ─► lock_file
//! ```
//!
//! **Nothing of a package runs**: files are written from the objects or copied byte by byte, never checked out, and no
//! configuration of git's is read. **What is at an extension's place is one version, whole**: a tree is complete and on
//! disk before one rename puts it there, and a [`journal`] lets the next run finish what a killed one began.

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
pub(crate) mod may;
pub(crate) mod source;
pub(crate) mod stage;
pub(crate) mod store;
pub(crate) mod swap;
pub(crate) mod switch;
pub(crate) mod uninstall;
pub(crate) mod update;
pub(crate) mod url;
