//! Hosts zot extensions: starts them, speaks the protocol with them, folds their interceptor chains.
//!
//! Nothing is here yet; `zot-process` beside it starts and ends the processes.
