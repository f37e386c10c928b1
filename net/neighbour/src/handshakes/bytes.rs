//! A message in memory of its own.

use super::HandshakeDrop;

/// The longest message: message_2 behind its echo, with a key of the curve and the names of both.
pub const MAX_MESSAGE: usize = 48;
/// The same where credentials of P-256 or X25519 travel by value: message_2 has 131 bytes with one
/// of P-256.
pub const MAX_MESSAGE_BY_VALUE: usize = 144;

/// A message of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bytes<const LEN: usize> {
    len: u8,
    bytes: [u8; LEN],
}

impl<const LEN: usize> Bytes<LEN> {
    pub(super) const EMPTY: Self = Self { len: 0, bytes: [0; LEN] };

    /// [`HandshakeDrop::Malformed`] if it is too long, as all of these.
    pub(super) fn new(message: &[u8]) -> Result<Self, HandshakeDrop> {
        let mut bytes = Self::EMPTY;
        bytes.append(message)?;
        Ok(bytes)
    }

    /// A message of this kind.
    pub(super) fn of(kind: u8, message: &[u8]) -> Result<Self, HandshakeDrop> {
        let mut bytes = Self::new(&[kind])?;
        bytes.append(message)?;
        Ok(bytes)
    }

    pub(super) fn append(&mut self, more: &[u8]) -> Result<(), HandshakeDrop> {
        let at = usize::from(self.len);
        let room = self.bytes.get_mut(at..at + more.len()).ok_or(HandshakeDrop::Malformed)?;
        room.copy_from_slice(more);
        self.len += more.len() as u8;
        Ok(())
    }
}

impl<const LEN: usize> AsRef<[u8]> for Bytes<LEN> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl<const LEN: usize> AsMut<[u8]> for Bytes<LEN> {
    fn as_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..usize::from(self.len)).unwrap_or_default()
    }
}
