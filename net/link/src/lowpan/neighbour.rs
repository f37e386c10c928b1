//! Neighbour discovery, as far as others need it (RFC 4861; RFC 4944, 8): a station that is asked
//! for its address answers. It never asks, because a neighbour's address is in its IPv6 address.

use crate::checksum::Sum;
use crate::lowpan::iphc::{Header, Next};
use crate::mac::{Frame, LinkAddress, SourceAndDestination};
use crate::serial::ExtendedAddress;

const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Such a message never came through a router.
const HOP_LIMIT: u8 = 255;
/// Solicited, and to be used instead of what was known before.
const FLAGS: u8 = 0b0110_0000;
const TARGET_LINK_ADDRESS: u8 = 2;
/// In units of eight bytes: kind, length, address, six bytes of padding.
const OPTION_UNITS: u8 = 2;

/// Whether a message asks a station for its address, and who asks is who sent the frame: nobody can
/// have the answer sent to somebody else.
pub(crate) fn is_solicitation(
    header: &Header,
    message: &[u8],
    addresses: &SourceAndDestination,
    me: LinkAddress,
) -> bool {
    let sum = Sum::pseudo_header(&header.source.octets(), &header.destination.octets(), ICMPV6)
        .word(message.len() as u16)
        .bytes(message);
    let Some((&[kind, code, _, _, _, _, _, _, target @ ..], _options)) = message.split_first_chunk::<24>()
    else {
        return false;
    };
    header.next == Next::Icmp
        && header.hop_limit == HOP_LIMIT
        && (kind, code) == (SOLICITATION, 0)
        && header.source == addresses.source.link_local()
        && target == me.link_local().octets()
        && sum.is_valid()
}

/// Writes the answer: neighbour advertisement, hop limit 255, both addresses the frame's.
pub(crate) fn write_advertisement(frame: &mut Frame, me: ExtendedAddress, to: LinkAddress) {
    let source = LinkAddress::Extended(me).link_local().octets();
    let mut message = [0; 40];
    message[0] = ADVERTISEMENT;
    message[4] = FLAGS;
    message[8..24].copy_from_slice(&source);
    message[24] = TARGET_LINK_ADDRESS;
    message[25] = OPTION_UNITS;
    let ExtendedAddress(mut address) = me;
    address.reverse();
    message[26..34].copy_from_slice(&address);
    let sum = Sum::pseudo_header(&source, &to.link_local().octets(), ICMPV6)
        .word(message.len() as u16)
        .bytes(&message);
    message[2..4].copy_from_slice(&sum.checksum().to_be_bytes());
    frame.push(&[0x7b, 0x33, ICMPV6]);
    frame.push(&message);
}
