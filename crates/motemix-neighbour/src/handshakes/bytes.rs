//! A message in memory of its own.

/// The longest message: one with the key of a curve, a cookie and the names of both has 46 bytes.
pub const MAX_MESSAGE: usize = 48;

/// A message of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bytes {
    len: u8,
    bytes: [u8; MAX_MESSAGE],
}

impl Bytes {
    pub(super) const EMPTY: Self = Self { len: 0, bytes: [0; MAX_MESSAGE] };

    /// `None` if it is too long.
    pub(super) fn new(message: &[u8]) -> Option<Self> {
        let mut bytes = Self::EMPTY;
        bytes.append(message)?;
        Some(bytes)
    }

    /// A message of this kind.
    pub(super) fn of(kind: u8, message: &[u8]) -> Option<Self> {
        let mut bytes = Self::new(&[kind])?;
        bytes.append(message)?;
        Some(bytes)
    }

    pub(super) fn append(&mut self, more: &[u8]) -> Option<()> {
        let at = usize::from(self.len);
        self.bytes.get_mut(at..at + more.len())?.copy_from_slice(more);
        self.len += more.len() as u8;
        Some(())
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl AsMut<[u8]> for Bytes {
    fn as_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..usize::from(self.len)).unwrap_or_default()
    }
}
