//! Memory for one datagram, or for a text of one.

use motemix_neighbour::diet::settled::ANSWER_LEN;

use super::{DATAGRAM_LEN, edhoc};

pub(super) struct Buffer<const LEN: usize = DATAGRAM_LEN> {
    len: usize,
    bytes: [u8; LEN],
}

/// What a datagram is answered with: an answer to a hello, or a receipt.
pub(super) type Reply = Buffer<{ edhoc::LENGTH }>;

const _: () = assert!(ANSWER_LEN <= edhoc::LENGTH);

impl<const LEN: usize> Buffer<LEN> {
    pub(super) const EMPTY: Self = Self { len: 0, bytes: [0; LEN] };

    /// Takes bytes in; longer ones leave it empty.
    pub(super) fn set(&mut self, bytes: &[u8]) {
        self.len = 0;
        if let Some(place) = self.bytes.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
            self.len = bytes.len();
        }
    }

    /// Has `write` write so many bytes; empty if they do not fit, or if it fails.
    pub(super) fn fill(&mut self, len: usize, write: impl FnOnce(&mut [u8]) -> bool) -> bool {
        self.len = 0;
        let written = self.bytes.get_mut(..len).is_some_and(write);
        if written {
            self.len = len;
        }
        written
    }

    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// What is in it, once.
    pub(super) fn take(&mut self) -> &[u8] {
        let len = core::mem::take(&mut self.len);
        self.bytes.get(..len).unwrap_or_default()
    }
}
