//! Extensions made with the SDK as real processes: driven by hand, and under the real host.

mod concurrency;
mod driver;
mod ending;
mod handshake;
mod replies;
mod stdout;
