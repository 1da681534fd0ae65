//! The standard output of an extension, which can also be read past the runtime.

use std::io;

use rustix::buffer::spare_capacity;
use tokio::{
    io::{AsyncRead, DuplexStream},
    process::ChildStdout,
};

/// Where an extension is read from.
pub(crate) trait Source: AsyncRead + Send + Unpin {
    /// Adds what is there at this moment to `buffer`, as much as it has room for. Where that is nothing:
    /// [`WouldBlock`](io::ErrorKind::WouldBlock). Any other error will be met by who reads through the runtime, too.
    fn read_now(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize>;
}

impl Source for ChildStdout {
    /// The runtime is not told that the pipe is empty again, and need not be: it hears of whatever comes next, and of what
    /// has been taken away only that there is nothing.
    fn read_now(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        Ok(rustix::io::read(&*self, spare_capacity(buffer))?)
    }
}

/// In this program: its other end runs only while this one sleeps, so that looking would keep it from answering.
impl Source for DuplexStream {
    fn read_now(&mut self, _: &mut Vec<u8>) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
