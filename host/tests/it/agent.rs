//! The agent through [`zot_host::Runtime`], with the demo model and real extensions.

mod abort;
mod changes;
mod confirmed;
mod intercepted;
mod order;
mod room;
mod stage;
