//! The binary `zot-conform`, as an author runs it.

mod accept;
mod babble;
mod baseline;
mod catalogue;
mod diagnosis;
mod examples;
mod figures;
mod fixture;
mod help;
mod record;
mod replay;
mod report;
mod run;
mod sample;
mod seeds;
mod shrink;
mod skill;
mod stage;
mod support;
mod transcript;
mod validate;
mod watch;
