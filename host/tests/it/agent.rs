//! The agent through [`zot_host::Runtime`], with the demo provider and real extensions.

mod abort;
mod compaction;
mod confirm;
mod conversations;
mod fixture;
mod images;
mod intercept;
mod marks;
mod model_server;
mod order;
mod parallel;
mod prefix;
mod recovery;
mod state_changes;
mod steering;
mod talk;
