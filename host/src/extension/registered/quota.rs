//! Limits on what one extension may register.

use zot_protocol::{RegisterTool, limits::Limits, validate};

use super::{Command, Registered};

/// The size of a registration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// The length of a tool's JSON, or of a command's name and description.
    bytes: usize,
    /// The number of values. For a tool, as counted by [`validate::weight`].
    values: usize,
}

/// Checks that a registration stays within the limits. `count` is the number of commands or tools
/// registered so far. `replaced` is the size of an earlier registration that this one replaces,
/// which does not count towards the total.
pub(super) fn check_quota(
    registered: &Registered,
    count: usize,
    replaced: Option<Size>,
    size: Size,
    limits: &Limits,
) -> Result<(), String> {
    let Limits {
        registrations,
        registration_bytes,
        registration_values,
        ..
    } = limits;
    if replaced.is_none() && count >= *registrations {
        return Err(format!(
            "the limit of {registrations} registrations has been reached"
        ));
    }
    let commands = registered.commands.iter().map(command_size);
    let tools = registered.tools.iter().map(|tool| tool.size);
    let mut total = size;
    for other in commands.chain(tools) {
        total.bytes += other.bytes;
        total.values += other.values;
    }
    let replaced = replaced.unwrap_or_default();
    if total.bytes - replaced.bytes > *registration_bytes {
        return Err(format!(
            "its registrations would exceed {registration_bytes} bytes in total"
        ));
    }
    if total.values - replaced.values > *registration_values {
        return Err(format!(
            "its registrations would exceed {registration_values} values in total"
        ));
    }
    Ok(())
}

pub(super) fn command_size(command: &Command) -> Size {
    Size {
        bytes: command.name.len() + command.description.len(),
        values: 2,
    }
}

/// The size of the tool as JSON.
pub(super) fn tool_size(frame: &RegisterTool) -> Size {
    let json = serde_json::to_vec(frame).expect("frames serialise");
    Size {
        bytes: json.len(),
        values: validate::weight(&json),
    }
}
