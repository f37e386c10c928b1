//! One station at a desk that plays its radio, and several in one simulated room.

#![allow(missing_docs, reason = "tests")]

mod desk;
mod room;

use motemix_link::serial::ExtendedAddress;

const PAN: u16 = 0x0023;

/// A data frame between extended addresses that asks for an acknowledgement.
fn frame(to: ExtendedAddress, sequence: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x61, 0xdc, sequence];
    frame.extend(PAN.to_le_bytes());
    frame.extend(to.0);
    frame.extend([9; 8]);
    frame.extend(content);
    frame
}
