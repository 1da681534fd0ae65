//! Write a zot extension in Rust.
//!
//! Nothing is here yet; the frames themselves are in `zot-protocol`.

#![warn(missing_docs)]
