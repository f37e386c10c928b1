//! Every length of a packet, derived once.

use core::ops::Range;

/// Bytes of the group element.
pub const GROUP_ELEMENT_LEN: usize = 32;
/// Bytes of the header MAC.
pub const HEADER_MAC_LEN: usize = 16;
/// Bytes of a routing field: two bits of command, fourteen of argument.
pub const ROUTING_FIELD_LEN: usize = 2;
/// Bytes of a hop block: a routing field and the next header MAC (or a header id).
pub const BLOCK_LEN: usize = ROUTING_FIELD_LEN + HEADER_MAC_LEN;
/// Bytes of the payload's integrity tag.
pub const TAG_LEN: usize = 16;
/// Bytes of a message id.
pub const MESSAGE_ID_LEN: usize = 4;
/// Least number of padding bytes in a payload.
const LEAST_PADDING: usize = 1;

/// The greatest number of hops of any profile: bounds what is kept on the stack.
pub const MAX_HOPS: usize = 10;

/// The lengths of one network's packets, in bytes unless the name says hops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    hops_each_way: usize,
    data_len: usize,
}

/// Three hops each way, 103 bytes for the application: three IEEE 802.15.4 frames.
pub const MOTE: Geometry = Geometry::new(3, 103);
/// Up to five hops each way, 127 bytes for the application: four IEEE 802.15.4 frames.
pub const MOTE5: Geometry = Geometry::new(5, 127);
/// Five hops each way, 1,024 bytes for the application.
pub const HOST1K: Geometry = Geometry::new(5, 1024);
/// Five hops each way, 2,048 bytes for the application.
pub const HOST2K: Geometry = Geometry::new(5, 2048);

impl Geometry {
    /// # Panics
    /// At compile time, if a header of this many hops exceeds [`MAX_HOPS`].
    pub const fn new(hops_each_way: usize, data_len: usize) -> Self {
        assert!(hops_each_way > 0 && 2 * hops_each_way <= MAX_HOPS);
        Self { hops_each_way, data_len }
    }

    /// The greatest number of hops to the receiver, and of hops back.
    pub const fn hops_each_way(self) -> usize {
        self.hops_each_way
    }

    /// The number of hop blocks in a header: the greatest number of hops in all.
    pub const fn hops(self) -> usize {
        2 * self.hops_each_way
    }

    /// The routing info.
    pub const fn routing_info_len(self) -> usize {
        self.hops() * BLOCK_LEN
    }

    /// Group element, routing info and MAC.
    pub const fn header_len(self) -> usize {
        GROUP_ELEMENT_LEN + self.routing_info_len() + HEADER_MAC_LEN
    }

    /// The most that the application may put into one message.
    pub const fn data_len(self) -> usize {
        self.data_len
    }

    /// The payload: integrity tag, message id, data and padding.
    pub const fn payload_len(self) -> usize {
        TAG_LEN + MESSAGE_ID_LEN + self.data_len + LEAST_PADDING
    }

    /// The whole packet.
    pub const fn packet_len(self) -> usize {
        self.header_len() + self.payload_len()
    }

    /// Where the payload is in a packet.
    pub const fn payload(self) -> Range<usize> {
        self.header_len()..self.packet_len()
    }

    /// Where the data of an opened message of `len` bytes is in a packet.
    pub const fn data(self, len: usize) -> Range<usize> {
        let start = self.header_len() + TAG_LEN + MESSAGE_ID_LEN;
        start..start + len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profiles_have_the_lengths_of_the_specification() {
        assert_eq!((MOTE.packet_len(), MOTE.data_len()), (280, 103));
        assert_eq!((MOTE5.packet_len(), MOTE5.data_len()), (376, 127));
        assert_eq!((HOST1K.packet_len(), HOST1K.payload_len()), (1273, 1045));
        assert_eq!((HOST2K.packet_len(), HOST2K.payload_len()), (2297, 2069));
    }
}
