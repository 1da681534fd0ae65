//! Reserves stdin and stdout for the protocol, so that nothing else in the process uses them by
//! mistake.

use std::{
    fs::File,
    io::{self, BufReader},
};

/// The two ends of the connection.
pub(crate) struct Stdio {
    pub(crate) input: BufReader<File>,
    pub(crate) output: File,
}

/// Takes stdin and stdout from the process. Afterwards, for the process and its children, stdin is
/// `/dev/null` and stdout is redirected to stderr. Children do not inherit the descriptors that are
/// connected to the host.
#[cfg(unix)]
pub(crate) fn take() -> io::Result<Stdio> {
    use std::os::fd::AsFd;

    // Both copies are close-on-exec.
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let nothing = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    // Without a stderr, printed output is discarded.
    if rustix::stdio::dup2_stdout(io::stderr()).is_err() {
        rustix::stdio::dup2_stdout(&nothing)?;
    }
    Ok(Stdio {
        input: BufReader::with_capacity(64 * 1024, input.into()),
        output: output.into(),
    })
}

/// Duplicates the handles of stdin and stdout. On Windows, the process and its children keep the
/// originals, so handlers must not print to stdout, and must redirect the stdin and stdout of every
/// child that they start.
#[cfg(windows)]
pub(crate) fn take() -> io::Result<Stdio> {
    use std::os::windows::io::AsHandle;

    let input = io::stdin().as_handle().try_clone_to_owned()?;
    let output = io::stdout().as_handle().try_clone_to_owned()?;
    Ok(Stdio {
        input: BufReader::with_capacity(64 * 1024, input.into()),
        output: output.into(),
    })
}
