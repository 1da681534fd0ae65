//! Extensions made with the SDK as real processes: driven by hand, and under the real host.

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
