//! What an extension may do wrong, against real processes. Each test runs in a process of its own and ends with
//! `Trial::hold`: the host lives, another extension answers, and nothing is left behind.

mod deadlines;
mod end;
mod flow;
mod start;
mod wire;
