//! The agent through [`zot_host::Runtime`], with the demo provider and real extensions.

mod abort;
mod compaction;
mod confirm;
mod fixture;
mod images;
mod intercept;
mod order;
mod state_changes;
