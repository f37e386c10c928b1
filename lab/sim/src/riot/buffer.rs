//! The packet buffer: `gnrc_pktbuf_static`, as a number of bytes. Holes between packets are not
//! modelled.

/// How much of the packet buffer is taken.
pub struct Buffer {
    room: u32,
    taken: u32,
    part: u32,
    interface_header: u32,
}

impl Buffer {
    pub fn new(room: u32, part: u16, interface_header: u16) -> Self {
        let (part, interface_header) = (part.into(), interface_header.into());
        Self { room, taken: 0, part, interface_header }
    }

    /// Takes so many bytes, if they are there.
    pub fn take(&mut self, bytes: u32) -> bool {
        if bytes > self.room - self.taken {
            return false;
        }
        self.taken += bytes;
        true
    }

    pub fn give(&mut self, bytes: u32) {
        self.taken = self.taken.saturating_sub(bytes);
    }

    /// A frame between two threads: header of the interface, bytes.
    pub fn frame(&self, bytes: usize) -> u32 {
        2 * self.part + self.interface_header + u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// A datagram under reassembly: IPv6's bytes.
    pub fn incomplete(&self, size: u16) -> u32 {
        self.part + u32::from(size)
    }

    /// A datagram between two threads: header of the interface, IPv6, UDP, payload.
    pub fn datagram(&self, size: u16) -> u32 {
        4 * self.part + self.interface_header + u32::from(size)
    }
}
