//! `zot ext …` with real directories, repositories, servers, terminals and signals.

mod concurrency;
mod data;
mod enable_disable;
mod fetching;
mod full_disk;
mod interrupted;
mod killed;
mod large;
mod listing;
mod refusing;
mod removing;
mod servers;
mod updating;
