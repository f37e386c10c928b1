//! Which frames are for this station. IEEE 802.15.4-2020, 6.6.2 and 7.2.

use motemix_link::serial::ExtendedAddress;

const TYPE: u8 = 0b111;
const DATA: u8 = 0b001;
const ACKNOWLEDGEMENT: u8 = 0b010;
const ACKNOWLEDGEMENT_REQUEST: u8 = 1 << 5;
const BROADCAST: [u8; 2] = [0xff; 2];

/// A frame that this station takes notice of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    /// Data for this station or for all.
    Data {
        /// The sequence number that its acknowledgement has to have, if it wants one.
        acknowledge: Option<u8>,
    },
    /// An acknowledgement of the frame with this sequence number, whoever sent that.
    Acknowledgement(u8),
}

/// What a frame, without its check sequence, is to a station; `None` if nothing.
pub fn accept(frame: &[u8], pan: u16, address: ExtendedAddress) -> Option<Accepted> {
    let (&[control, addressing, sequence], rest) = frame.split_first_chunk()?;
    let version = addressing >> 4 & 0b11;
    if version > 1 {
        return None;
    }
    match control & TYPE {
        ACKNOWLEDGEMENT => rest.is_empty().then_some(Accepted::Acknowledgement(sequence)),
        DATA => {
            let (to_pan, rest) = rest.split_first_chunk::<2>()?;
            if *to_pan != pan.to_le_bytes() && *to_pan != BROADCAST {
                return None;
            }
            let mine = match addressing >> 2 & 0b11 {
                0b10 if rest.first_chunk() == Some(&BROADCAST) => {
                    return Some(Accepted::Data { acknowledge: None });
                }
                0b10 => rest.first_chunk() == Some(&address.short()),
                0b11 => rest.first_chunk() == Some(&address.0),
                _ => false,
            };
            let wanted = control & ACKNOWLEDGEMENT_REQUEST != 0;
            mine.then_some(Accepted::Data { acknowledge: wanted.then_some(sequence) })
        }
        _ => None,
    }
}

/// The sequence number of the acknowledgement that a frame asks for.
pub(crate) fn awaits(frame: &[u8]) -> Option<u8> {
    let (&[control, _, sequence], _) = frame.split_first_chunk()?;
    (control & ACKNOWLEDGEMENT_REQUEST != 0).then_some(sequence)
}

/// An acknowledgement without its check sequence.
pub(crate) const fn acknowledgement(sequence: u8) -> [u8; 3] {
    [ACKNOWLEDGEMENT, 0, sequence]
}
