//! Misbehaving extensions in real processes. Each test runs in its own process and ends with
//! `FaultTest::finish`, which checks that the host and the other extension still work and that
//! nothing is left behind.

mod deadlines;
mod end;
mod flow;
mod start;
mod wire;
