//! IPv6 and UDP headers: uncompressed (RFC 4944, 5.1), or compressed as LOWPAN_IPHC and LOWPAN_NHC
//! (RFC 6282).
//!
//! This form of the compressed ones is written between neighbours:
//!
//! ```text
//! 011 11 1 10      no traffic class or flow label, UDP compressed, hop limit 64
//! 0 0 11 0 0 11    no contexts, both addresses are the frame's
//! 11110 0 11       UDP with its checksum, both ports in four bits
//! ports:8  checksum:16
//! ```
//!
//! In protected frames, whose MICs say more than a checksum, it is elided (RFC 6282, 4.3.2):
//! `11110 1 11`, and nothing behind the ports.
//!
//! What is read is each form that says the same: traffic class and flow label, hop limit, addresses
//! and ports inline. Contexts and extension headers are not read: no neighbour needs them here.

use core::net::Ipv6Addr;

use crate::checksum::Sum;
use crate::counters::LinkDrop;
use crate::mac::{LinkAddress, SourceAndDestination, link_local_of};

/// The UDP port of all nodes on the radio: in 61616–61631, which 6LoWPAN compresses best (RFC 6282,
/// 4.3.3).
pub const PORT: u16 = 61_616;
/// The port of handshakes.
pub const HANDSHAKE_PORT: u16 = PORT + 1;
/// Bytes of uncompressed IPv6 and UDP headers.
pub(crate) const UNCOMPRESSED: usize = 48;
/// Bytes of the same headers between neighbours, compressed as far as RFC 6282 allows.
pub(crate) const COMPRESSED: usize = 6;
/// The same in a protected frame, which elides the checksum.
pub(crate) const SHORTEST: usize = 4;
/// The checksum is elided.
const ELIDED: u8 = 0b100;

const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const IPV6_UNCOMPRESSED: u8 = 0x41;

/// The headers of a message, read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) source: Ipv6Addr,
    pub(crate) destination: Ipv6Addr,
    pub(crate) hop_limit: u8,
    pub(crate) next: Next,
    /// Bytes that it took in the frame.
    pub(crate) len: usize,
}

/// What follows the IPv6 header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// UDP, whose header has been read.
    Udp { ports: [u16; 2], checksum: Option<u16>, carried_len: Option<u16> },
    /// ICMPv6, whose header is still to come.
    Icmp,
}

/// What has to be kept of the headers of a datagram for this node until all of its payload is
/// there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UdpCheck {
    /// The sum over pseudo-header and UDP header, without the datagram's length; `None` if its
    /// frames vouch for it.
    sum: Option<Sum>,
    carried_len: Option<u16>,
}

impl UdpCheck {
    /// Whether the payload is as long as the headers say and unchanged.
    pub(crate) fn verify(self, payload: &[u8]) -> Result<(), LinkDrop> {
        let len = (payload.len() + 8) as u16;
        if self.carried_len.is_some_and(|carried| carried != len) {
            return Err(LinkDrop::BadHeader);
        }
        let is_valid = |sum: Sum| sum.word(len).word(len).bytes(payload).is_valid();
        if self.sum.is_none_or(is_valid) { Ok(()) } else { Err(LinkDrop::BadChecksum) }
    }
}

impl Header {
    /// Reads the headers of a message that came in a frame with these addresses.
    pub(crate) fn read(bytes: &[u8], addresses: &SourceAndDestination) -> Option<Self> {
        let mut reader = Reader(bytes);
        let header = if bytes.first() == Some(&IPV6_UNCOMPRESSED) {
            reader.uncompressed()
        } else {
            reader.compressed(addresses)
        }?;
        let Reader(rest) = reader;
        Some(Self { len: bytes.len() - rest.len(), ..header })
    }

    /// What to keep of a UDP datagram's headers, if it is for this port of the node at `me`. Only a
    /// protected frame may elide the checksum.
    pub(crate) fn udp_check(
        &self,
        me: LinkAddress,
        port: u16,
        is_protected: bool,
    ) -> Result<UdpCheck, LinkDrop> {
        let Next::Udp { ports: [from, to], checksum, carried_len } = self.next else {
            return Err(LinkDrop::BadHeader);
        };
        if to != port || self.destination != me.link_local() {
            return Err(LinkDrop::OtherPort);
        }
        // Over IPv6 a checksum is not optional.
        if checksum == Some(0) || checksum.is_none() && !is_protected {
            return Err(LinkDrop::BadHeader);
        }
        let sum = checksum.map(|checksum| {
            let sum = Sum::pseudo_header(&self.source.octets(), &self.destination.octets(), UDP);
            sum.word(from).word(to).word(checksum)
        });
        Ok(UdpCheck { sum, carried_len })
    }
}

/// The compressed headers of a datagram between neighbours, from a port to the same; one of the
/// sixteen that take four bits.
pub(crate) fn compress(
    source: LinkAddress,
    destination: LinkAddress,
    port: u16,
    payload: &[u8],
) -> [u8; COMPRESSED] {
    let ports = (port as u8 & 0xf) << 4 | port as u8 & 0xf;
    let len = (payload.len() + 8) as u16;
    let [source, destination] = [source, destination].map(|address| address.link_local().octets());
    let sum = Sum::pseudo_header(&source, &destination, UDP)
        .word(len)
        .word(len)
        .word(port)
        .word(port)
        .bytes(payload);
    let [high, low] = sum.checksum().to_be_bytes();
    [0x7e, 0x33, 0xf3, ports, high, low]
}

/// The same without a checksum, for protected frames.
pub(crate) const fn compress_protected(port: u16) -> [u8; SHORTEST] {
    [0x7e, 0x33, 0xf3 | ELIDED, (port as u8 & 0xf) << 4 | port as u8 & 0xf]
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
    fn uncompressed(&mut self) -> Option<Header> {
        let [_dispatch, version, _, _, _] = self.take()?;
        let _payload_len = self.word()?;
        let [next, hop_limit] = self.take()?;
        let [source, destination] = [self.take::<16>()?, self.take::<16>()?].map(Ipv6Addr::from);
        let next = self.uncompressed_next(next)?;
        (version >> 4 == 6).then_some(Header { source, destination, hop_limit, next, len: 0 })
    }

    /// RFC 6282, 3.1.
    fn compressed(&mut self, addresses: &SourceAndDestination) -> Option<Header> {
        let [base, addressing] = self.take()?;
        // The dispatch is another one, or it has contexts or addresses that depend on them.
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
        let source = self.unicast(addressing >> 4 & 0b11, addresses.source)?;
        let destination = if addressing & 0b1000 == 0 {
            self.unicast(addressing & 0b11, addresses.destination)?
        } else {
            self.multicast(addressing & 0b11)?
        };
        let next = match next {
            Some([next]) => self.uncompressed_next(next)?,
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

    fn uncompressed_next(&mut self, next: u8) -> Option<Next> {
        match next {
            UDP => {
                let ports = [self.word()?, self.word()?];
                let len = self.word()?;
                Some(Next::Udp { ports, carried_len: Some(len), checksum: Some(self.word()?) })
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
        if form >> 3 != 0b1_1110 {
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
        let checksum = if form & ELIDED == 0 { Some(self.word()?) } else { None };
        Some(Next::Udp { ports, carried_len: None, checksum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serial::ExtendedAddress;
    use std::vec::Vec;

    const US: LinkAddress = LinkAddress::Extended(ExtendedAddress([1, 0, 0, 0, 0, 0, 0, 0x02]));
    const THEM: LinkAddress = LinkAddress::Extended(ExtendedAddress([2, 0, 0, 0, 0, 0, 0, 0x02]));
    const SHORT: LinkAddress = LinkAddress::Short([0x34, 0x12]);
    const WAY: SourceAndDestination = SourceAndDestination { source: THEM, destination: US };
    const PAYLOAD: &[u8] = b"mote!";

    /// The sum over `fe80::2`, `fe80::1`, 17, 13 (the length, twice), both ports and the payload,
    /// by hand: fe80 + 2 + fe80 + 1 + 11 + d + d + f0b0 + f0b0 + 6d6f + 7465 + 2100 = 4e162, so
    /// e166; its complement.
    const CHECKSUM: [u8; 2] = [0x1e, 0x99];

    fn address(last: u8) -> [u8; 16] {
        let mut address = [0; 16];
        [address[0], address[1], address[15]] = [0xfe, 0x80, last];
        address
    }

    /// Whether it is a datagram for us with this payload behind it.
    fn takes(header: &[u8], addresses: &SourceAndDestination) -> Result<(), LinkDrop> {
        let bytes = [header, PAYLOAD].concat();
        let read = Header::read(&bytes, addresses).ok_or(LinkDrop::BadHeader)?;
        assert_eq!(read.len, header.len());
        read.udp_check(US, PORT, false)?.verify(&bytes[read.len..])
    }

    #[test]
    fn the_shortest_form_is_what_is_sent() {
        let header = compress(THEM, US, PORT, PAYLOAD);
        let [c1, c0] = CHECKSUM;
        assert_eq!(header, [0x7e, 0x33, 0xf3, 0x00, c1, c0]);
        assert_eq!(takes(&header, &WAY), Ok(()));
    }

    /// The same datagram as RIOT, Contiki-NG and Linux may say it.
    #[test]
    fn every_form_of_the_same_is_read() {
        let [c1, c0] = CHECKSUM;
        let ports = [0xf0, 0xb0, 0xf0, 0xb0];
        let udp = [&ports[..], &[0, 13, c1, c0]].concat();
        let ipv6 = [&[0x60, 0, 0, 0, 0, 13, 17, 64], &address(2)[..], &address(1)].concat();
        let forms: &[(&str, Vec<u8>)] = &[
            ("written out", [&[0x41], &ipv6[..], &udp].concat()),
            ("traffic class and flow label", [&[0x66, 0x33, 0, 0, 0, 0, 0xf3, 0, c1, c0][..]].concat()),
            ("flow label", [&[0x6e, 0x33, 0, 0, 0, 0xf3, 0, c1, c0][..]].concat()),
            ("traffic class", [&[0x76, 0x33, 0, 0xf3, 0, c1, c0][..]].concat()),
            ("hop limit inline", [&[0x7c, 0x33, 64, 0xf3, 0, c1, c0][..]].concat()),
            ("hop limit 1", [&[0x7d, 0x33, 0xf3, 0, c1, c0][..]].concat()),
            ("hop limit 255", [&[0x7f, 0x33, 0xf3, 0, c1, c0][..]].concat()),
            ("addresses inline", [&[0x7e, 0x00], &address(2)[..], &address(1), &[0xf3, 0, c1, c0]].concat()),
            (
                "interfaces inline",
                [&[0x7e, 0x11], &address(2)[8..], &address(1)[8..], &[0xf3, 0, c1, c0]].concat(),
            ),
            ("UDP not compressed", [&[0x7a, 0x33, 17], &udp[..]].concat()),
            ("both ports inline", [&[0x7e, 0x33, 0xf0], &ports[..], &CHECKSUM].concat()),
            ("source port inline", [&[0x7e, 0x33, 0xf1], &ports[..2], &[0xb0], &CHECKSUM].concat()),
            ("destination port inline", [&[0x7e, 0x33, 0xf2, 0xb0], &ports[2..], &CHECKSUM].concat()),
        ];
        for (name, form) in forms {
            assert_eq!(takes(form, &WAY), Ok(()), "{name}");
            for len in 0..form.len() {
                assert_eq!(Header::read(&form[..len], &WAY), None, "{name}, cut to {len}");
            }
        }
    }

    /// The datagram without a checksum is one in a protected frame, and nothing elsewhere.
    #[test]
    fn only_a_protected_frame_elides_the_checksum() {
        let header = compress_protected(PORT);
        assert_eq!(header, [0x7e, 0x33, 0xf7, 0x00]);
        let read = Header::read(&header, &WAY).expect("headers");
        assert_eq!(read.len, SHORTEST);
        assert_eq!(read.udp_check(US, PORT, true).expect("a datagram for us").verify(PAYLOAD), Ok(()));
        assert_eq!(read.udp_check(US, PORT, false), Err(LinkDrop::BadHeader));
        assert_eq!(read.udp_check(US, HANDSHAKE_PORT, true), Err(LinkDrop::OtherPort));
    }

    #[test]
    fn a_short_address_makes_another_ipv6_address() {
        let header = compress(SHORT, US, PORT, PAYLOAD);
        assert_eq!(takes(&header, &SourceAndDestination { source: SHORT, destination: US }), Ok(()));
        assert_eq!(takes(&header, &WAY), Err(LinkDrop::BadChecksum));
        let [_, _, form, ports, c1, c0] = header;
        let inline = [0x7e, 0x23, 0x12, 0x34, form, ports, c1, c0];
        assert_eq!(takes(&inline, &WAY), Ok(()), "its 16 bits inline");
    }

    #[test]
    fn what_no_neighbour_has_to_say_is_not_read() {
        let [c1, c0] = CHECKSUM;
        for (name, form) in [
            ("contexts", &[0x7e, 0xb3, 0x00, 0xf3, 0, c1, c0][..]),
            ("source by context", &[0x7e, 0x73, 0xf3, 0, c1, c0]),
            ("destination by context", &[0x7e, 0x37, 0xf3, 0, c1, c0]),
            ("no checksum", &[0x7e, 0x33, 0xf7, 0]),
            ("an extension header", &[0x7e, 0x33, 0xe0, 0, 0xf3, 0, c1, c0]),
            ("TCP", &[0x7a, 0x33, 6, 0, 0, 0, 0, 0, 0, 0, 0]),
            ("HC1", &[0x42, 0, 0, 0, 0, 0]),
            ("IPv4, as it were", &[0x41, 0x40]),
        ] {
            assert_eq!(takes(form, &WAY), Err(LinkDrop::BadHeader), "{name}");
        }
    }

    #[test]
    fn datagrams_for_others_are_told_apart() {
        let [c1, c0] = CHECKSUM;
        assert_eq!(takes(&[0x7e, 0x33, 0xf3, 0x01, c1, c0], &WAY), Err(LinkDrop::OtherPort));
        let away = SourceAndDestination { source: US, destination: THEM };
        assert_eq!(takes(&[0x7e, 0x33, 0xf3, 0, c1, c0], &away), Err(LinkDrop::OtherPort));
        assert_eq!(takes(&[0x7e, 0x3b, 0x01, 0xf3, 0, c1, c0], &WAY), Err(LinkDrop::OtherPort), "to ff02::1");
        assert_eq!(takes(&[0x7e, 0x33, 0xf3, 0, c1, c0 ^ 1], &WAY), Err(LinkDrop::BadChecksum));
        assert_eq!(takes(&[0x7e, 0x33, 0xf3, 0, 0, 0], &WAY), Err(LinkDrop::BadHeader), "none");
        let udp = [0x7a, 0x33, 17, 0xf0, 0xb0, 0xf0, 0xb0, 0, 14, c1, c0];
        assert_eq!(takes(&udp, &WAY), Err(LinkDrop::BadHeader), "another length");
    }

    #[test]
    fn multicast_addresses_are_uncompressed() {
        for (form, address) in [
            (&[0x7b, 0x3b, 58, 0x01][..], "ff02::1"),
            (&[0x7b, 0x3a, 58, 0x05, 1, 2, 3], "ff05::1:203"),
            (&[0x7b, 0x39, 58, 0x02, 0x01, 0xff, 1, 2, 3], "ff02::1:ff01:203"),
        ] {
            let address = address.parse::<Ipv6Addr>().expect("an address");
            // The next header comes before the addresses.
            assert_eq!(Header::read(form, &WAY).expect("a header").destination, address);
        }
    }
}
