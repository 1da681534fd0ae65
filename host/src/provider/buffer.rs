//! The memory of a request body, which the next request reuses.
//!
//! The request of a long conversation is large, and the system clears the pages of a new buffer of
//! that size one by one, which takes longer than writing the request.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// A buffer is dropped if the request used less than `1 / WASTE` of it.
const WASTE: usize = 4;

/// Holds the buffer while no request uses it.
#[derive(Debug, Clone, Default)]
pub(super) struct BodyBuffer(Arc<Mutex<Vec<u8>>>);

impl BodyBuffer {
    /// Takes the buffer, which is empty but may have capacity.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Turns a written buffer into a body. When the body is dropped, the buffer can be taken again.
    pub(super) fn body(&self, written: Vec<u8>) -> Bytes {
        let buffer = self.0.clone();
        Bytes::from_owner(Written { written, buffer })
    }
}

struct Written {
    written: Vec<u8>,
    buffer: Arc<Mutex<Vec<u8>>>,
}

impl AsRef<[u8]> for Written {
    fn as_ref(&self) -> &[u8] {
        &self.written
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let mut written = std::mem::take(&mut self.written);
        if written.capacity() / WASTE <= written.len() {
            written.clear();
            *self.buffer.lock() = written;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_reused_unless_most_of_it_was_empty() {
        let buffer = BodyBuffer::default();
        let mut written = buffer.take();
        written.extend_from_slice(&[1; 1000]);
        let memory = written.as_ptr();
        let body = buffer.body(written);
        assert_eq!(&body[..], [1; 1000]);
        assert_eq!(buffer.take().capacity(), 0, "the body is still in use");
        drop(body);
        let mut again = buffer.take();
        assert_eq!((again.as_ptr(), again.len()), (memory, 0));
        again.push(1);
        drop(buffer.body(again));
        assert_eq!(buffer.take().capacity(), 0);
    }
}
