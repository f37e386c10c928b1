//! Packet traces of others: CSV and PCAP.

use super::{Direction, Packet};
use pcap_parser::{Linktype, PcapCapture};
use std::net::IpAddr;
use std::time::Duration;

/// Why a trace cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// A line of the CSV.
    #[error("line {line}: {problem}; a line is TIME_S,BYTES,up|down")]
    Line {
        /// Counted from one.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Not a PCAP file.
    #[error("not a PCAP file (PCAPNG has to be converted: editcap -F pcap)")]
    NotPcap,
    /// A link that is not read.
    #[error("frames of link type {0}; Ethernet (1), IP (101) and Linux cooked (113) are read")]
    LinkType(i32),
    /// No packet of the client.
    #[error("no packet goes to or from {0}")]
    NoPacket(IpAddr),
    /// Time goes back.
    #[error("packet {0} is earlier than the one before it")]
    Order(usize),
}

/// A trace from CSV: seconds, bytes with the headers of IP, `up` or `down`. A first line that does
/// not begin with a number is a heading.
///
/// # Errors
/// See [`RecordingError`].
pub fn from_csv(text: &str) -> Result<Vec<Packet>, RecordingError> {
    let mut trace: Vec<Packet> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |problem| RecordingError::Line { line: number + 1, problem };
        let mut fields = line.split(',').map(str::trim);
        let (Some(time), Some(bytes), Some(direction), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            if line.trim().is_empty() {
                continue;
            }
            return Err(wrong("not three fields"));
        };
        let Ok(seconds) = time.parse::<f64>() else {
            if number == 0 {
                continue;
            }
            return Err(wrong("the time is no number"));
        };
        let at = Duration::try_from_secs_f64(seconds).map_err(|_| wrong("the time is out of range"))?;
        let bytes = bytes.parse().map_err(|_| wrong("the bytes are no whole number"))?;
        let direction = match direction {
            "up" => Direction::Up,
            "down" => Direction::Down,
            _ => return Err(wrong("neither up nor down")),
        };
        if trace.last().is_some_and(|last| last.at > at) {
            return Err(wrong("earlier than the line before it"));
        }
        trace.push(Packet { at, bytes, direction });
    }
    Ok(trace)
}

/// A trace from a PCAP file: what goes to and from this address. It begins with its first packet.
///
/// # Errors
/// See [`RecordingError`].
pub fn from_pcap(file: &[u8], client: IpAddr) -> Result<Vec<Packet>, RecordingError> {
    let file = PcapCapture::from_file(file).map_err(|_| RecordingError::NotPcap)?;
    let link_len = match file.header.network {
        Linktype(1) => 14,
        Linktype(101) => 0,
        Linktype(113) => 16,
        Linktype(other) => return Err(RecordingError::LinkType(other)),
    };
    let parts_of_a_second = if file.header.is_nanosecond_precision() { 1 } else { 1_000 };
    let mut begin = None;
    let mut trace: Vec<Packet> = Vec::new();
    for block in &file.blocks {
        let Some((from, to, bytes)) = block.data.get(link_len..).and_then(addresses) else { continue };
        let direction = match (from == client, to == client) {
            (true, _) => Direction::Up,
            (_, true) => Direction::Down,
            _ => continue,
        };
        let at = Duration::from_secs(block.ts_sec.into())
            + Duration::from_nanos(u64::from(block.ts_usec) * parts_of_a_second);
        let at = at.checked_sub(*begin.get_or_insert(at)).ok_or(RecordingError::Order(trace.len() + 1))?;
        if trace.last().is_some_and(|last| last.at > at) {
            return Err(RecordingError::Order(trace.len() + 1));
        }
        trace.push(Packet { at, bytes, direction });
    }
    if trace.is_empty() { Err(RecordingError::NoPacket(client)) } else { Ok(trace) }
}

/// Source, destination and whole length of an IP packet (RFC 791, section 3.1; RFC 8200, section
/// 3).
fn addresses(packet: &[u8]) -> Option<(IpAddr, IpAddr, u32)> {
    let address4 = |at: usize| Some(IpAddr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?));
    let address6 = |at: usize| Some(IpAddr::from(<[u8; 16]>::try_from(packet.get(at..at + 16)?).ok()?));
    let length = |at: usize| Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?));
    match packet.first()? >> 4 {
        4 => Some((address4(12)?, address4(16)?, length(2)?.into())),
        6 => Some((address6(8)?, address6(24)?, u32::from(length(4)?) + 40)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_has_a_heading_or_none() {
        let packet = |ms, bytes, direction| Packet { at: Duration::from_millis(ms), bytes, direction };
        let both = vec![packet(0, 44, Direction::Up), packet(1500, 2107, Direction::Down)];
        assert_eq!(from_csv("0,44,up\n1.5,2107,down\n"), Ok(both.clone()));
        assert_eq!(from_csv("time_s,bytes,direction\n0, 44, up\n1.5,2107,down\n\n"), Ok(both));
        for (text, line) in
            [("0,44\n", 1), ("0,44,up\nx,44,up", 2), ("1,44,up\n0,44,up", 2), ("0,4.4,up", 1), ("-1,4,up", 1)]
        {
            assert!(
                matches!(from_csv(text), Err(RecordingError::Line { line: found, .. }) if found == line),
                "{text}"
            );
        }
    }

    /// A file of link type IP, with one packet of 30 bytes each way and one between others, a
    /// second apart.
    fn pcap() -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
            file.extend(word.to_le_bytes());
        }
        for (second, from, to) in [(5_u32, 1, 2), (6, 3, 4), (7, 2, 1)] {
            for word in [second, 250_000, 30, 30] {
                file.extend(word.to_le_bytes());
            }
            let mut packet = [0; 30];
            (packet[0], packet[3]) = (0x45, 30);
            packet[12..20].copy_from_slice(&[10, 0, 0, from, 10, 0, 0, to]);
            file.extend(packet);
        }
        file
    }

    #[test]
    fn pcap_knows_which_way_a_packet_went() {
        let client: IpAddr = [10, 0, 0, 1].into();
        let packet = |s, direction| Packet { at: Duration::from_secs(s), bytes: 30, direction };
        let expected = vec![packet(0, Direction::Up), packet(2, Direction::Down)];
        assert_eq!(from_pcap(&pcap(), client), Ok(expected));
        let stranger: IpAddr = [10, 0, 0, 9].into();
        assert_eq!(from_pcap(&pcap(), stranger), Err(RecordingError::NoPacket(stranger)));
        assert_eq!(from_pcap(b"not a file", client), Err(RecordingError::NotPcap));
    }
}
