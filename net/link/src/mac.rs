//! IEEE 802.15.4 data frames between neighbours (IEEE 802.15.4-2020, 7.2), and the addresses in
//! them.
//!
//! ```text
//! control   sequence  PAN    destination     source   6LoWPAN
//! 61 dc     1         23 00  8, or 2: short  8        104 at most
//!
//! protected (9.2 and 9.4): level ENC-MIC-64, the key is that of the two addresses
//! control   sequence  PAN    destination     source    control  frame counter  6LoWPAN      MIC
//! 69 98     1         23 00  2: short        2: short  06       4              103 at most  8
//! 69 9c     1         23 00  8               2: short  06       4              97 at most   8
//! ```

use core::net::Ipv6Addr;

use motemix_crypto::aes_ccm::TAG_LEN;

use crate::serial::{ExtendedAddress, MAX_FRAME};

/// The personal area network of all nodes, RIOT's default.
pub const PAN: u16 = 0x0023;
/// Bytes before what a frame carries, without addresses: control, sequence number, PAN.
const FIXED: usize = 5;
/// Bytes of the auxiliary security header: security control and frame counter.
const SECURITY_HEADER: usize = 5;
/// Security control (9.4.2): level 6, ENC-MIC-64; key identifier mode 0, the key is known from the
/// addresses.
const ENC_MIC_64: u8 = 6;

const TYPE: u8 = 0b111;
const DATA: u8 = 0b001;
const SECURED: u8 = 1 << 3;
const ACKNOWLEDGEMENT_REQUEST: u8 = 1 << 5;
const ONE_PAN: u8 = 1 << 6;
const VERSION_2006: u8 = 1;
const SHORT: u8 = 2;
const EXTENDED: u8 = 3;
const SHORT_LEN: usize = 2;
const EXTENDED_LEN: usize = 8;
/// The universal/local bit, flipped between an EUI-64 and an IPv6 interface identifier (RFC 4291,
/// appendix A).
const UNIVERSAL: u8 = 0x02;
const LINK_LOCAL: [u8; 8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];

impl ExtendedAddress {
    /// The short address of the same station: its last 15 bits. The first bit is 0 in a short
    /// address that is not a group's (RFC 4944, 9).
    pub const fn short(self) -> [u8; 2] {
        let [low, high, ..] = self.0;
        [low, high & 0x7f]
    }
}

/// How the frames of a datagram are addressed and protected, and so how much each carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Envelope {
    /// Not protected; both addresses are extended.
    Plain,
    /// Protected; both addresses are short.
    Protected,
    /// Protected, for a station that shares its short address with another one.
    ProtectedToExtended,
}

impl Envelope {
    /// Bytes that a frame carries.
    pub(crate) const fn room(self) -> usize {
        const PROTECTION: usize = SECURITY_HEADER + TAG_LEN;
        match self {
            Self::Plain => MAX_FRAME - FIXED - 2 * EXTENDED_LEN,
            Self::Protected => MAX_FRAME - FIXED - 2 * SHORT_LEN - PROTECTION,
            Self::ProtectedToExtended => MAX_FRAME - FIXED - EXTENDED_LEN - SHORT_LEN - PROTECTION,
        }
    }
}

/// An address on the link, in the order of the air: least significant byte first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkAddress {
    Short([u8; 2]),
    Extended(ExtendedAddress),
}

impl LinkAddress {
    pub(crate) const BROADCAST: Self = Self::Short([0xff, 0xff]);

    /// The lower half of the IPv6 address that is made of it (RFC 4944, 6; RFC 6282, 3.2.2).
    pub(crate) fn interface(self) -> [u8; 8] {
        match self {
            Self::Short([low, high]) => [0, 0, 0, 0xff, 0xfe, 0, high, low],
            Self::Extended(ExtendedAddress(mut interface)) => {
                interface.reverse();
                flipped(interface)
            }
        }
    }

    /// The same as a number.
    pub(crate) fn number(self) -> u64 {
        u64::from_be_bytes(self.interface())
    }

    /// The address that every neighbour has without asking for it.
    pub(crate) fn link_local(self) -> Ipv6Addr {
        link_local_of(self.interface())
    }

    /// Whose link-local address it is. It need not be asked for (RFC 6775, 5.6).
    pub(crate) fn of(address: Ipv6Addr) -> Option<Self> {
        let octets = address.octets();
        let interface: [u8; 8] = *octets.strip_prefix(&LINK_LOCAL)?.first_chunk()?;
        Some(if let [0, 0, 0, 0xff, 0xfe, 0, high, low] = interface {
            Self::Short([low, high])
        } else {
            let mut address = flipped(interface);
            address.reverse();
            Self::Extended(ExtendedAddress(address))
        })
    }

    const fn mode(&self) -> u8 {
        match self {
            Self::Short(_) => SHORT,
            Self::Extended(_) => EXTENDED,
        }
    }

    const fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Short(short) => short,
            Self::Extended(ExtendedAddress(extended)) => extended,
        }
    }

    fn read(mode: u8, bytes: &[u8]) -> Option<(Self, &[u8])> {
        match mode {
            SHORT => bytes.split_first_chunk().map(|(short, rest)| (Self::Short(*short), rest)),
            EXTENDED => bytes
                .split_first_chunk()
                .map(|(extended, rest)| (Self::Extended(ExtendedAddress(*extended)), rest)),
            _ => None,
        }
    }
}

/// An EUI-64 as an interface identifier, and back again.
const fn flipped(mut interface: [u8; 8]) -> [u8; 8] {
    interface[0] ^= UNIVERSAL;
    interface
}

/// The link-local address with this lower half.
pub(crate) fn link_local_of(interface: [u8; 8]) -> Ipv6Addr {
    let mut octets = [0; 16];
    let (prefix, rest) = octets.split_at_mut(LINK_LOCAL.len());
    prefix.copy_from_slice(&LINK_LOCAL);
    rest.copy_from_slice(&interface);
    Ipv6Addr::from(octets)
}

/// The source and destination of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SourceAndDestination {
    pub(crate) source: LinkAddress,
    pub(crate) destination: LinkAddress,
}

/// The header of a data frame of this network, read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MacHeader {
    pub(crate) addresses: SourceAndDestination,
    /// The frame counter of a protected frame.
    pub(crate) frame_counter: Option<u32>,
    /// Bytes that it took in the frame.
    pub(crate) len: usize,
}

impl MacHeader {
    /// Reads a frame without its check sequence.
    pub(crate) fn read(frame: &[u8]) -> Option<Self> {
        let (&[control, addressing, _sequence, pan @ ..], rest) = frame.split_first_chunk::<FIXED>()?;
        let is_data = control & (TYPE | ONE_PAN) == DATA | ONE_PAN;
        let version = (addressing >> 4) & 0b11;
        let is_here = [PAN, 0xffff].contains(&u16::from_le_bytes(pan));
        if !is_data || version > VERSION_2006 || !is_here {
            return None;
        }
        let (destination, rest) = LinkAddress::read((addressing >> 2) & 0b11, rest)?;
        let (source, rest) = LinkAddress::read(addressing >> 6, rest)?;
        let addresses = SourceAndDestination { source, destination };
        if control & SECURED == 0 {
            return Some(Self { addresses, frame_counter: None, len: frame.len() - rest.len() });
        }
        let (&[security, counter @ ..], rest) = rest.split_first_chunk::<SECURITY_HEADER>()?;
        // Version 2003 had another kind of security.
        if security != ENC_MIC_64 || version != VERSION_2006 {
            return None;
        }
        let frame_counter = Some(u32::from_le_bytes(counter));
        Some(Self { addresses, frame_counter, len: frame.len() - rest.len() })
    }
}

/// A frame that is being written.
pub(crate) struct Frame {
    bytes: [u8; MAX_FRAME],
    len: usize,
    /// Bytes of its header.
    header_len: usize,
}

impl Frame {
    /// The header. It asks for an acknowledgement, which nobody gives to a broadcast.
    pub(crate) fn new(source: ExtendedAddress, destination: LinkAddress, sequence: u8) -> Self {
        Self::begin(LinkAddress::Extended(source), destination, sequence, None)
    }

    /// The header of a frame that is to be protected.
    pub(crate) fn protected(
        source: ExtendedAddress,
        destination: LinkAddress,
        sequence: u8,
        frame_counter: u32,
    ) -> Self {
        Self::begin(LinkAddress::Short(source.short()), destination, sequence, Some(frame_counter))
    }

    fn begin(
        source: LinkAddress,
        destination: LinkAddress,
        sequence: u8,
        frame_counter: Option<u32>,
    ) -> Self {
        let mut frame = Self { bytes: [0; MAX_FRAME], len: 0, header_len: 0 };
        let request = if destination == LinkAddress::BROADCAST { 0 } else { ACKNOWLEDGEMENT_REQUEST };
        let secured = if frame_counter.is_some() { SECURED } else { 0 };
        let addressing = source.mode() << 6 | VERSION_2006 << 4 | destination.mode() << 2;
        frame.push(&[DATA | ONE_PAN | request | secured, addressing, sequence]);
        frame.push(&PAN.to_le_bytes());
        frame.push(destination.as_bytes());
        frame.push(source.as_bytes());
        if let Some(frame_counter) = frame_counter {
            frame.push(&[ENC_MIC_64]);
            frame.push(&frame_counter.to_le_bytes());
        }
        frame.header_len = frame.len;
        frame
    }

    /// The header, and what was appended to it.
    pub(crate) fn split_mut(&mut self) -> (&[u8], &mut [u8]) {
        let (header, carried) = self.bytes[..self.len].split_at_mut(self.header_len);
        (header, carried)
    }

    /// Appends bytes.
    ///
    /// # Panics
    /// The frame would be longer than [`MAX_FRAME`]: who cuts a datagram knows what a frame
    /// carries.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        self.bytes[self.len..end].copy_from_slice(bytes);
        self.len = end;
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: ExtendedAddress = ExtendedAddress([1, 2, 3, 4, 5, 6, 7, 0x82]);
    const ME: ExtendedAddress = ExtendedAddress([9, 0, 0, 0, 0, 0, 0, 0x02]);

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        for destination in [LinkAddress::Extended(OTHER), LinkAddress::Short([4, 5]), LinkAddress::BROADCAST]
        {
            let mut frame = Frame::new(ME, destination, 77);
            frame.push(&[0xaa; 3]);
            let asks = destination != LinkAddress::BROADCAST;
            assert_eq!(frame.as_bytes()[0], if asks { 0x61 } else { 0x41 });
            let header = MacHeader::read(frame.as_bytes()).expect("a frame");
            let addresses = SourceAndDestination { source: LinkAddress::Extended(ME), destination };
            assert_eq!((header.addresses, header.frame_counter), (addresses, None));
            assert_eq!(frame.as_bytes()[header.len..], [0xaa; 3]);
        }
    }

    #[test]
    fn a_protected_frame_has_short_addresses_and_a_counter() {
        for (destination, len) in
            [(LinkAddress::Short(OTHER.short()), 14), (LinkAddress::Extended(OTHER), 20)]
        {
            let mut frame = Frame::protected(ME, destination, 77, 0x0102_0304);
            frame.push(&[0xaa; 3]);
            let addresses = SourceAndDestination { source: LinkAddress::Short(ME.short()), destination };
            let header = MacHeader { addresses, frame_counter: Some(0x0102_0304), len };
            assert_eq!(MacHeader::read(frame.as_bytes()), Some(header));
            let (header, carried) = frame.split_mut();
            assert_eq!((header.len(), &*carried), (len, &[0xaa; 3][..]));
        }
    }

    #[test]
    fn other_levels_and_other_ways_to_find_keys_are_not_read() {
        let frame = Frame::protected(ME, LinkAddress::Short(OTHER.short()), 77, 1);
        let good = frame.as_bytes();
        assert!(MacHeader::read(good).is_some());
        for security in (0..=255).filter(|security| *security != 6) {
            let mut bad = good.to_vec();
            bad[9] = security;
            assert_eq!(MacHeader::read(&bad), None, "{security:#x}");
        }
        for len in 0..good.len() {
            assert_eq!(MacHeader::read(&good[..len]), None, "{len}");
        }
    }

    #[test]
    fn protection_costs_a_byte_of_room_with_short_addresses() {
        let rooms = [Envelope::Plain, Envelope::Protected, Envelope::ProtectedToExtended].map(Envelope::room);
        assert_eq!(rooms, [104, 103, 97]);
    }

    #[test]
    fn frames_of_others_are_not_read() {
        let mut frame = Frame::new(ME, LinkAddress::Extended(OTHER), 0);
        frame.push(&[1]);
        let good = frame.as_bytes();
        assert!(MacHeader::read(good).is_some());
        // A beacon, a secured one without its header, two networks, a later version, no addresses,
        // another network.
        for (at, byte) in
            [(0, 0x60), (0, 0x69), (0, 0x21), (1, 0xec), (1, 0xd0), (1, 0x1c), (3, 0x24), (4, 0x01)]
        {
            let mut bad = good.to_vec();
            bad[at] = byte;
            assert_eq!(MacHeader::read(&bad), None, "{byte:#x} at {at}");
        }
        for len in 0..21 {
            assert_eq!(MacHeader::read(&good[..len]), None, "{len}");
        }
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn a_frame_never_grows_beyond_the_longest() {
        let mut frame = Frame::new(ME, LinkAddress::Extended(OTHER), 0);
        frame.push(&[0; Envelope::Plain.room()]);
        assert_eq!(frame.as_bytes().len(), MAX_FRAME);
        frame.push(&[0]);
    }

    #[test]
    fn a_neighbours_address_says_where_it_is() {
        for (link, address) in [
            (LinkAddress::Extended(ME), "fe80::9"),
            (LinkAddress::Extended(OTHER), "fe80::8007:605:403:201"),
            (LinkAddress::Short([0x34, 0x12]), "fe80::ff:fe00:1234"),
        ] {
            assert_eq!(link.link_local(), address.parse::<Ipv6Addr>().expect("an address"));
            assert_eq!(LinkAddress::of(link.link_local()), Some(link));
        }
        for address in ["fe81::9", "::1", "ff02::1", "2001:db8::1"] {
            assert_eq!(LinkAddress::of(address.parse().expect("an address")), None);
        }
    }
}
