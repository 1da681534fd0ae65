//! Tests of the `zot-conform` binary and library.

mod accept;
mod baseline;
mod catalogue;
mod diagnosis;
mod examples;
mod figures;
mod fixture;
mod fuzz;
mod help;
mod record;
mod replay;
mod report;
mod run;
mod sample;
mod shrink;
mod skill;
mod stage;
mod support;
mod transcript;
mod validate;
mod waiting;
mod watch;
