//! How much one extension may register.

use std::io::{self, Write};

use zot_protocol::{RegisterTool, limits::Limits};

use super::{Command, Registered};

/// What there is room for, in place of what is registered under the same name.
pub(super) struct Room<'l> {
    limits: &'l Limits,
    another: bool,
    bytes: usize,
}

impl<'l> Room<'l> {
    /// `count` are there of the kind, and `known` bytes of them are replaced.
    pub(super) fn of(
        registered: &Registered,
        count: usize,
        known: Option<usize>,
        limits: &'l Limits,
    ) -> Self {
        let commands = registered.commands.iter().map(command_bytes);
        let tools = registered.tools.iter().map(|tool| tool.bytes);
        let used: usize = commands.chain(tools).sum();
        Self {
            limits,
            another: known.is_some() || count < limits.registrations,
            bytes: (limits.registration_bytes + known.unwrap_or(0)).saturating_sub(used),
        }
    }

    pub(super) fn take(&self, bytes: usize) -> Result<(), String> {
        let Limits {
            registrations,
            registration_bytes,
            ..
        } = self.limits;
        if !self.another {
            return Err(format!(
                "there are {registrations} already, and may be no more"
            ));
        }
        if bytes > self.bytes {
            return Err(format!(
                "all that it registers would be larger than {registration_bytes} bytes"
            ));
        }
        Ok(())
    }
}

pub(super) fn command_bytes(command: &Command) -> usize {
    command.name.len() + command.description.len()
}

/// As many as it has when it is written.
pub(super) fn tool_bytes(frame: &RegisterTool) -> usize {
    let mut count = Count(0);
    serde_json::to_writer(&mut count, frame).expect("frames serialise");
    count.0
}

/// Counts what is written to it.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
