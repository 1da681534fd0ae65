//! Ids that naive code converts, truncates or splits. A host may use any id of 1 to 64 letters,
//! digits, `_` and `-`.

use serde_json::json;

use super::{Checked, Cx, Request, Stop, broken};
use crate::session::Session;

const UUID: &str = "6fa459ea-ee8a-3ca4-894e-db77e160355e";
const DIGITS: &str = "00123456789012345678";
const LONG: &str = "aZ09_-aZ09_-aZ09_-aZ09_-aZ09_-aZ09_-aZ09_-aZ09_-aZ09_-aZ09_-aZ09";

/// Sends a request once with each id.
pub(super) async fn verbatim(
    cx: &Cx,
    make: impl Fn(&mut Session) -> Result<Request, Stop>,
) -> Checked {
    let mut slot = None;
    let mut faults = Vec::new();
    for id in [UUID, DIGITS, LONG] {
        let session = cx.session(&mut slot).await?;
        let request = make(session)?.with("id", json!(id));
        if let Err(fault) = cx.ask(session, &request).await {
            let gave_up = fault.is_open;
            faults.push(fault.prefixed(format_args!("id `{id}`")));
            if gave_up {
                break;
            }
            slot = None;
        }
    }
    broken(faults)
}
