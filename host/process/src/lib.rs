//! Starts, watches and ends a process tree.
