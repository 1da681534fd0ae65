//! Limits on what one extension may register.

use zot_protocol::{RegisterTool, limits::Limits, validate};

use super::{Command, Registered};

/// What is left of the limits for a registration. One that it replaces does not count.
pub(super) struct Quota<'l> {
    limits: &'l Limits,
    another: bool,
    left: Size,
}

/// The size of a registration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Bytes of JSON.
    bytes: usize,
    /// Number of values, as counted by [`validate::weight`].
    values: usize,
}

impl<'l> Quota<'l> {
    /// Computes what is left. `count` is the number of commands or tools registered so far, and
    /// `known` the size of the one that is replaced.
    pub(super) fn of(
        registered: &Registered,
        count: usize,
        known: Option<Size>,
        limits: &'l Limits,
    ) -> Self {
        let commands = registered.commands.iter().map(command_size);
        let tools = registered.tools.iter().map(|tool| tool.size);
        let mut used = Size::default();
        for size in commands.chain(tools) {
            used.bytes += size.bytes;
            used.values += size.values;
        }
        let replaced = known.unwrap_or_default();
        let left = |limit: usize, replaced: usize, used| (limit + replaced).saturating_sub(used);
        Self {
            limits,
            another: known.is_some() || count < limits.registrations,
            left: Size {
                bytes: left(limits.registration_bytes, replaced.bytes, used.bytes),
                values: left(limits.registration_values, replaced.values, used.values),
            },
        }
    }

    pub(super) fn check(&self, size: Size) -> Result<(), String> {
        let Limits {
            registrations,
            registration_bytes,
            registration_values,
            ..
        } = self.limits;
        if !self.another {
            return Err(format!("the limit of {registrations} is reached"));
        }
        if size.bytes > self.left.bytes {
            return Err(format!(
                "its registrations would exceed {registration_bytes} bytes in total"
            ));
        }
        if size.values > self.left.values {
            return Err(format!(
                "its registrations would exceed {registration_values} values in total"
            ));
        }
        Ok(())
    }
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
