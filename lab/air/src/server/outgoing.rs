//! Bytes that wait until a connection takes them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};

/// A bounded queue of bytes.
#[derive(Default)]
pub(super) struct Outgoing {
    bytes: VecDeque<u8>,
}

impl Outgoing {
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes all of the bytes, or none if they would be more than `most` then.
    pub fn push(&mut self, bytes: &[u8], most: usize) -> bool {
        let fits = self.bytes.len() + bytes.len() <= most;
        if fits {
            self.bytes.extend(bytes);
        }
        fits
    }

    /// Writes as much as the connection takes.
    pub fn flush(&mut self, mut to: impl Write) -> io::Result<()> {
        while !self.bytes.is_empty() {
            match to.write(self.bytes.as_slices().0) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.bytes.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
