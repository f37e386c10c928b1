//! Frames that the stack gets to see: those that a node of this network could have sent.
//!
//! 6LoWPAN can say much more than these nodes do: extension headers, contexts, tunnels, elided checksums.
//! None of it is needed here, each is code that a stranger could reach with one frame, and some of it ends
//! the stack. So a frame is measured against the few shapes that are in use before anything acts on it:
//! UDP with a compressed header and ICMPv6 (neighbour discovery), whole or in fragments.

/// The longest datagram that is put together again, IPv6 and UDP headers included: boards lend less than hosts.
/// One that is longer would keep a place for its fragments that it never fills.
const MAX_DATAGRAM: usize = smoltcp::config::REASSEMBLY_BUFFER_SIZE;
const IPV6: usize = 40;
const UDP: usize = 8;

/// Whether the frame, without its check sequence, has one of the shapes in use.
pub(crate) fn is_possible(frame: &[u8]) -> bool {
    payload_of_data_frame(frame).and_then(screen_6lowpan).is_some()
}

/// IEEE 802.15.4-2020, 7.2 and 7.3.2: a data frame between two addresses of one network, not secured.
fn payload_of_data_frame(frame: &[u8]) -> Option<&[u8]> {
    const TYPE: u8 = 0b111;
    const DATA: u8 = 0b001;
    const SECURED: u8 = 1 << 3;
    const ONE_PAN: u8 = 1 << 6;
    let (&[control, addressing, _sequence, _, _], rest) = frame.split_first_chunk()?;
    if control & TYPE != DATA || control & SECURED != 0 || control & ONE_PAN == 0 {
        return None;
    }
    let version = (addressing >> 4) & 0b11;
    let destination = address_len((addressing >> 2) & 0b11)?;
    let source = address_len(addressing >> 6)?;
    (version <= 1).then_some(rest)?.get(destination + source..)
}

fn address_len(mode: u8) -> Option<usize> {
    match mode {
        2 => Some(2),
        3 => Some(8),
        _ => None,
    }
}

/// RFC 4944, 5.3, and RFC 6282.
fn screen_6lowpan(payload: &[u8]) -> Option<()> {
    let (&first, _) = payload.split_first()?;
    match first >> 3 {
        0b11000 => {
            let (&[high, low, _, _], rest) = payload.split_first_chunk()?;
            let size = datagram_size(high, low)?;
            (decompressed_len(rest)? <= size).then_some(())
        }
        0b11100 => {
            let (&[high, low, _, _, offset], rest) = payload.split_first_chunk()?;
            let end = usize::from(offset) * 8 + rest.len();
            let behind_the_first = offset > 0 && !rest.is_empty();
            (behind_the_first && end <= datagram_size(high, low)?).then_some(())
        }
        _ if first >> 5 == 0b011 => decompressed_len(payload).map(|_| ()),
        _ => None,
    }
}

fn datagram_size(high: u8, low: u8) -> Option<usize> {
    let size = usize::from(u16::from_be_bytes([high & 0b111, low]));
    (IPV6 + UDP..=MAX_DATAGRAM).contains(&size).then_some(size)
}

/// How long a datagram, or its first fragment, is with its headers written out. RFC 6282, 3.1 and 4.3.
fn decompressed_len(payload: &[u8]) -> Option<usize> {
    const ICMPV6: u8 = 58;
    let (&[base, addressing], rest) = payload.split_first_chunk()?;
    if base >> 5 != 0b011 {
        return None;
    }
    let traffic = [4, 3, 1, 0].get(usize::from(base >> 3) & 0b11)?;
    let compressed = base & 0b100 != 0;
    let hop_limit = usize::from(base.trailing_zeros() >= 2);
    // Neither contexts nor addresses that depend on them.
    if addressing & 0b1100_0100 != 0 {
        return None;
    }
    let source = [16, 8, 2, 0].get(usize::from(addressing >> 4) & 0b11)?;
    let to_many = addressing & 0b1000 != 0;
    let destinations = if to_many { [16, 6, 4, 1] } else { [16, 8, 2, 0] };
    let destination = destinations.get(usize::from(addressing) & 0b11)?;
    let rest = rest.get(*traffic..)?;
    let addresses = hop_limit + source + destination;
    if !compressed {
        let (&next, rest) = rest.split_first()?;
        let message = rest.get(addresses..)?;
        return (next == ICMPV6 && message.len() >= UDP).then_some(IPV6 + message.len());
    }
    let (&udp, rest) = rest.get(addresses..)?.split_first()?;
    if udp >> 2 != 0b11_1100 {
        return None;
    }
    let ports = [4, 3, 3, 1].get(usize::from(udp) & 0b11)?;
    let checksum = 2;
    Some(IPV6 + UDP + rest.get(ports + checksum..)?.len())
}
