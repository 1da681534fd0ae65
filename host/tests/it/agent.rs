//! The agent through [`zot_host::Runtime`], with the demo provider and real extensions.

mod abort;
mod compaction;
mod confirm;
mod intercept;
mod order;
mod stage;
mod state_changes;
