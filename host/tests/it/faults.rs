//! Misbehaving extensions in real processes. Each test runs in its own process and ends with
//! `FaultTest::finish`, which checks that the host and a well-behaved extension still work, and that
//! nothing is left behind.

mod deadlines;
mod end;
mod flow;
mod start;
mod wire;
