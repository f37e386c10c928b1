//! What has come and is not read yet. It waits here while answers wait for a slow reader.

use std::collections::VecDeque;

use super::frame::{Frame, NoFrame};

/// What carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carriage {
    /// A stream of bytes: TCP, alone or under TLS.
    Bytes,
    /// Binary messages of a WebSocket.
    WebSocket,
}

#[derive(Debug)]
pub(super) enum Inbox {
    Bytes { bytes: Vec<u8>, read: usize },
    WebSocket { messages: VecDeque<Vec<u8>>, len: usize },
}

impl Inbox {
    pub(super) fn new(carriage: Carriage) -> Self {
        match carriage {
            Carriage::Bytes => Self::Bytes { bytes: Vec::new(), read: 0 },
            Carriage::WebSocket => Self::WebSocket { messages: VecDeque::new(), len: 0 },
        }
    }

    pub(super) fn carriage(&self) -> Carriage {
        match self {
            Self::Bytes { .. } => Carriage::Bytes,
            Self::WebSocket { .. } => Carriage::WebSocket,
        }
    }

    /// Bytes that wait; each message of a WebSocket counts for one more than it has.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Bytes { bytes, read } => bytes.len() - read,
            Self::WebSocket { len, .. } => *len,
        }
    }

    pub(super) fn push(&mut self, more: &[u8]) {
        match self {
            Self::Bytes { bytes, read } => {
                bytes.drain(..*read);
                *read = 0;
                bytes.extend_from_slice(more);
            }
            Self::WebSocket { messages, len } => {
                *len += more.len() + 1;
                messages.push_back(more.to_vec());
            }
        }
    }

    /// The next message that is whole.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<Frame>, NoFrame> {
        match self {
            Self::Bytes { bytes, read } => {
                let Some((frame, len)) = Frame::of_stream(&bytes[*read..], most)? else {
                    // An idle connection keeps no room.
                    if *read == bytes.len() {
                        (*bytes, *read) = (Vec::new(), 0);
                    }
                    return Ok(None);
                };
                *read += len;
                Ok(Some(frame))
            }
            Self::WebSocket { messages, len } => {
                let Some(message) = messages.pop_front() else { return Ok(None) };
                *len -= message.len() + 1;
                Frame::of_message(&message, most).map(Some)
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.carriage());
    }
}
