//! Keeps stdin and stdout for the protocol, so that nothing else in the process can read or write it by mistake.

use std::{
    fs::File,
    io::{self, BufReader},
};

/// The two ends of the connection.
pub(crate) struct Stdio {
    pub(crate) input: BufReader<File>,
    pub(crate) output: File,
}

/// Takes both from the process. From then on its stdin is `/dev/null` and its stdout is its stderr, for itself and for what it
/// starts; the descriptors that lead to the host are not inherited.
#[cfg(unix)]
pub(crate) fn take() -> io::Result<Stdio> {
    use std::os::fd::AsFd;

    // Both are closed on exec.
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let nothing = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    // Who started it without a stderr has no use for what is printed.
    if rustix::stdio::dup2_stdout(io::stderr()).is_err() {
        rustix::stdio::dup2_stdout(&nothing)?;
    }
    Ok(Stdio {
        input: BufReader::with_capacity(64 * 1024, input.into()),
        output: output.into(),
    })
}

/// Takes both from the process. Here a child can still inherit them: give it a stdin and a stdout of its own.
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
