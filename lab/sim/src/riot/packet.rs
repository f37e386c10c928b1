//! What a Sphinx packet means to the nodes on its path. Where the packet would be ciphertext, these
//! bytes are.

/// Hops to the receiver and back, at most.
pub const MAX_HOPS: usize = 10;
/// Bytes that the meaning takes in a packet.
pub const LEN: usize = 10 + 2 * MAX_HOPS;

/// A packet under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Who created it.
    pub origin: u16,
    /// The creator's number for the message. All its tries have it.
    pub message: u32,
    /// Nodes that have processed it.
    pub passed: u8,
    /// The place of the receiver on the path.
    pub there: u8,
    /// All nodes of the path, the receiver and at last the creator among them.
    pub hops: u8,
    pub path: [u16; MAX_HOPS],
}

impl Packet {
    /// Where it goes next.
    pub fn next(&self) -> Option<u16> {
        self.path.get(usize::from(self.passed)).copied().filter(|_| self.passed < self.hops)
    }

    pub fn write(&self, out: &mut [u8; LEN]) {
        out[..2].copy_from_slice(&self.origin.to_le_bytes());
        out[2..6].copy_from_slice(&self.message.to_le_bytes());
        out[6..10].copy_from_slice(&[self.passed, self.there, self.hops, 0]);
        for (bytes, node) in out[10..].as_chunks_mut().0.iter_mut().zip(self.path) {
            *bytes = node.to_le_bytes();
        }
    }

    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (origin, rest) = bytes.split_first_chunk()?;
        let (message, rest) = rest.split_first_chunk()?;
        let ([passed, there, hops, _], rest) = rest.split_first_chunk::<4>()?;
        let nodes = rest.first_chunk::<{ 2 * MAX_HOPS }>()?.as_chunks().0;
        let mut path = [0; MAX_HOPS];
        for (node, bytes) in path.iter_mut().zip(nodes) {
            *node = u16::from_le_bytes(*bytes);
        }
        Some(Self {
            origin: u16::from_le_bytes(*origin),
            message: u32::from_le_bytes(*message),
            passed: *passed,
            there: *there,
            hops: *hops,
            path,
        })
    }
}
