//! From whom a frame came, and to whom.

use crate::counters::LinkDrop;
use crate::lowpan::iphc::{COMPRESSED, Header, SHORTEST};
use crate::mac::{LinkAddress, SourceAndDestination};
use crate::reassembly::Headers;

/// From whom a frame came, and to whom.
pub(super) struct Way {
    /// As the frame says. IPv6 addresses that are not written out are made of these.
    pub(super) addresses: SourceAndDestination,
    /// By which the neighbour goes here: its extended address, if the frame is protected.
    pub(super) from: LinkAddress,
    /// This station, as the frame names it.
    pub(super) me: LinkAddress,
    /// The UDP port of this station's datagrams.
    pub(super) port: u16,
    /// Whether the frame was protected, which vouches for what it carries.
    pub(super) is_protected: bool,
}

impl Way {
    /// Bytes of the shortest headers of a datagram in such frames.
    pub(super) const fn shortest(&self) -> usize {
        if self.is_protected { SHORTEST } else { COMPRESSED }
    }

    /// Reads a first fragment: its headers, for a UDP datagram of this node, and its part of the
    /// payload.
    pub(super) fn headers<'f>(
        &self,
        fragment: &'f [u8],
        payload_len: impl FnOnce(&Header) -> Option<usize>,
    ) -> Result<(Headers, &'f [u8]), LinkDrop> {
        let header = Header::read(fragment, &self.addresses).ok_or(LinkDrop::BadHeader)?;
        let check = header.udp_check(self.me, self.port, self.is_protected)?;
        let payload_len = payload_len(&header).ok_or(LinkDrop::BadHeader)?;
        let longer = header.len.saturating_sub(self.shortest());
        Ok((Headers { check, longer, payload_len }, &fragment[header.len..]))
    }
}
