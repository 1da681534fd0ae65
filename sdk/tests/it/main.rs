//! Runs SDK extensions as real processes, driven by the test or by the real host.

mod concurrency;
mod documents;
mod driver;
mod ending;
mod examples;
mod figures;
mod handshake;
mod replies;
mod stage;
mod stdout;
