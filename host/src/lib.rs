//! Hosts zot extensions: starts them, speaks the protocol with them, folds their interceptor chains.
//!
//! Under construction. What is here works on its own and is tested so: lines from an extension
//! ([`extension::wire`]), and the fold of an interceptor chain ([`extension::fold`], [`extension::chain`]). The host
//! that joins them to processes follows.

#![warn(missing_docs)]

pub mod extension;
