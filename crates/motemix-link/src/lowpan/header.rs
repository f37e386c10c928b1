//! IPv6 and UDP headers: written out (RFC 4944, 5.1) or compressed (RFC 6282).
//!
//! Of the compressed ones, this is written between neighbours:
//!
//! ```text
//! 011 11 1 10      no traffic class or flow label, UDP compressed, hop limit 64
//! 0 0 11 0 0 11    no contexts, both addresses are the frame's
//! 11110 0 11       UDP with its checksum, both ports in four bits
//! ports:8  checksum:16
//! ```
//!
//! What is read is each form that says the same: traffic class and flow label, hop limit, addresses and ports
//! inline. Contexts, extension headers and elided checksums are not read: no neighbour needs them here.

use core::net::Ipv6Addr;

use crate::checksum::Sum;
use crate::counters::LinkDrop;
use crate::frame::{LinkAddress, Way, link_local_of};

/// The UDP port of all nodes on the radio: in 61616–61631, which 6LoWPAN compresses best (RFC 6282, 4.3.3).
pub const PORT: u16 = 61_616;
/// IPv6 and UDP headers, written out.
pub(crate) const WRITTEN_OUT: usize = 48;
/// The same between neighbours, compressed: the shortest that there is.
pub(crate) const COMPRESSED: usize = 6;

const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const IPV6_WRITTEN_OUT: u8 = 0x41;

/// The headers of a message, read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) source: Ipv6Addr,
    pub(crate) destination: Ipv6Addr,
    pub(crate) hop_limit: u8,
    pub(crate) next: Next,
    /// How many bytes it took.
    pub(crate) len: usize,
}

/// What follows the IPv6 header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// With its header read.
    Udp { ports: [u16; 2], checksum: u16, carried_len: Option<u16> },
    /// With its header still to come.
    Icmp,
}

/// The headers of a datagram for this node: all that has to be kept of them until it is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    /// Over the headers, without the datagram's length.
    sum: Sum,
    carried_len: Option<u16>,
}

impl Head {
    /// Whether the datagram was not changed.
    pub(crate) fn fits(self, payload: &[u8]) -> Result<(), LinkDrop> {
        let len = (payload.len() + 8) as u16;
        if self.carried_len.is_some_and(|carried| carried != len) {
            return Err(LinkDrop::BadHeader);
        }
        let sum = self.sum.word(len).word(len).bytes(payload);
        if sum.is_right() { Ok(()) } else { Err(LinkDrop::BadChecksum) }
    }
}

impl Header {
    /// Reads the headers of a message that came this way.
    pub(crate) fn read(bytes: &[u8], way: &Way) -> Option<Self> {
        let mut reader = Reader(bytes);
        let header = if bytes.first() == Some(&IPV6_WRITTEN_OUT) {
            reader.written_out()
        } else {
            reader.compressed(way)
        }?;
        let Reader(rest) = reader;
        Some(Self { len: bytes.len() - rest.len(), ..header })
    }

    /// What to keep of a datagram's, if it is for the node that is reached by `me`.
    pub(crate) fn head(&self, me: LinkAddress) -> Result<Head, LinkDrop> {
        let Next::Udp { ports: [from, to], checksum, carried_len } = self.next else {
            return Err(LinkDrop::BadHeader);
        };
        if to != PORT || self.destination != me.link_local() {
            return Err(LinkDrop::OtherPort);
        }
        // Over IPv6 a checksum is not optional.
        if checksum == 0 {
            return Err(LinkDrop::BadHeader);
        }
        let sum = Sum::over(&self.source.octets(), &self.destination.octets(), UDP);
        Ok(Head { sum: sum.word(from).word(to).word(checksum), carried_len })
    }
}

/// The compressed headers of a datagram between neighbours.
pub(crate) fn compress(source: LinkAddress, destination: LinkAddress, payload: &[u8]) -> [u8; COMPRESSED] {
    const PORTS: u8 = (PORT as u8 & 0xf) << 4 | PORT as u8 & 0xf;
    let len = (payload.len() + 8) as u16;
    let [source, destination] = [source, destination].map(|address| address.link_local().octets());
    let sum = Sum::over(&source, &destination, UDP).word(len).word(len).word(PORT).word(PORT).bytes(payload);
    let [high, low] = sum.checksum().to_be_bytes();
    [0x7e, 0x33, 0xf3, PORTS, high, low]
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn word(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    /// RFC 8200, 3.
    fn written_out(&mut self) -> Option<Header> {
        let [_dispatch, version, _, _, _] = self.take()?;
        let _payload_len = self.word()?;
        let [next, hop_limit] = self.take()?;
        let [source, destination] = [self.take::<16>()?, self.take::<16>()?].map(Ipv6Addr::from);
        let next = self.written_out_next(next)?;
        (version >> 4 == 6).then_some(Header { source, destination, hop_limit, next, len: 0 })
    }

    /// RFC 6282, 3.1.
    fn compressed(&mut self, way: &Way) -> Option<Header> {
        let [base, addressing] = self.take()?;
        // Contexts, and addresses that depend on them.
        if base >> 5 != 0b011 || addressing & 0b1100_0100 != 0 {
            return None;
        }
        match base >> 3 & 0b11 {
            0 => drop(self.take::<4>()?),
            1 => drop(self.take::<3>()?),
            2 => drop(self.take::<1>()?),
            _ => {}
        }
        let next = if base & 0b100 == 0 { Some(self.take::<1>()?) } else { None };
        let hop_limit = match base & 0b11 {
            0 => {
                let [inline] = self.take()?;
                inline
            }
            1 => 1,
            2 => 64,
            _ => 255,
        };
        let source = self.unicast(addressing >> 4 & 0b11, way.source)?;
        let destination = if addressing & 0b1000 == 0 {
            self.unicast(addressing & 0b11, way.destination)?
        } else {
            self.multicast(addressing & 0b11)?
        };
        let next = match next {
            Some([next]) => self.written_out_next(next)?,
            None => self.compressed_udp()?,
        };
        Some(Header { source, destination, hop_limit, next, len: 0 })
    }

    fn unicast(&mut self, mode: u8, link: LinkAddress) -> Option<Ipv6Addr> {
        let interface = match mode {
            0 => return self.take::<16>().map(Ipv6Addr::from),
            1 => self.take()?,
            2 => {
                let [high, low] = self.take()?;
                LinkAddress::Short([low, high]).interface()
            }
            _ => link.interface(),
        };
        Some(link_local_of(interface))
    }

    fn multicast(&mut self, mode: u8) -> Option<Ipv6Addr> {
        let mut octets = [0; 16];
        octets[0] = 0xff;
        octets[1] = 0x02;
        match mode {
            0 => octets = self.take()?,
            1 => [octets[1], octets[11], octets[12], octets[13], octets[14], octets[15]] = self.take()?,
            2 => [octets[1], octets[13], octets[14], octets[15]] = self.take()?,
            _ => [octets[15]] = self.take()?,
        }
        Some(Ipv6Addr::from(octets))
    }

    fn written_out_next(&mut self, next: u8) -> Option<Next> {
        match next {
            UDP => {
                let ports = [self.word()?, self.word()?];
                let len = self.word()?;
                Some(Next::Udp { ports, carried_len: Some(len), checksum: self.word()? })
            }
            ICMPV6 => Some(Next::Icmp),
            _ => None,
        }
    }

    /// RFC 6282, 4.3.
    fn compressed_udp(&mut self) -> Option<Next> {
        const NEAR: u16 = 0xf000;
        const NEAREST: u16 = 0xf0b0;
        let [form] = self.take()?;
        // The bit after them says that the checksum is elided.
        if form >> 2 != 0b11_1100 {
            return None;
        }
        let near = |[low]: [u8; 1]| NEAR | u16::from(low);
        let ports = match form & 0b11 {
            0 => [self.word()?, self.word()?],
            1 => [self.word()?, near(self.take()?)],
            2 => [near(self.take()?), self.word()?],
            _ => {
                let [both] = self.take()?;
                [NEAREST | u16::from(both >> 4), NEAREST | u16::from(both & 0xf)]
            }
        };
        Some(Next::Udp { ports, carried_len: None, checksum: self.word()? })
    }
}
