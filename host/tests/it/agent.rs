//! The agent through [`zot_host::Runtime`], with the demo model and real extensions.

mod abort;
mod intercepted;
mod order;
mod stage;
