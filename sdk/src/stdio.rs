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

/// Takes stdin and stdout from the process. Afterwards its stdin is `/dev/null` and its stdout is
/// its stderr, for itself and its children. The descriptors connected to the host are not
/// inherited.
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

/// Takes stdin and stdout from the process. On this platform a child still inherits them, so give
/// it its own.
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
