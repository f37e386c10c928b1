//! A square image of black and white pixels as PNG (RFC 2083, ISO/IEC 15948), not compressed: a QR
//! code has 14 kB, and a library that compresses it would bring seven crates along.

use crc::{CRC_32_ISO_HDLC, Crc};

/// What a file of this kind begins with.
pub const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The most bytes of a block that is stored as it is (RFC 1951, 3.2.4).
const BLOCK: usize = 0xffff;

/// The image with `side` pixels each way, which are black where `is_black` says so.
pub fn bilevel(side: usize, is_black: impl Fn(usize, usize) -> bool) -> Vec<u8> {
    let mut rows = Vec::new();
    for row in 0..side {
        rows.push(0); // no filter
        for first in (0..side).step_by(8) {
            // In greyscale of one bit, black is 0; the leftmost pixel is the highest bit.
            let white = |bit: usize| first + bit < side && !is_black(row, first + bit);
            rows.push((0..8).fold(0, |byte, bit| byte << 1 | u8::from(white(bit))));
        }
    }
    let mut image = SIGNATURE.to_vec();
    let length = u32::try_from(side).unwrap_or(u32::MAX).to_be_bytes();
    // One bit a pixel, greyscale, deflate, filters, not interlaced.
    push_chunk(&mut image, *b"IHDR", &[&length[..], &length, &[1, 0, 0, 0, 0]].concat());
    push_chunk(&mut image, *b"IDAT", &stored(&rows));
    push_chunk(&mut image, *b"IEND", &[]);
    image
}

fn push_chunk(image: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let crc = Crc::<u32>::new(&CRC_32_ISO_HDLC);
    let mut sum = crc.digest();
    sum.update(&name);
    sum.update(data);
    image.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    image.extend(name);
    image.extend(data);
    image.extend(sum.finalize().to_be_bytes());
}

/// A zlib stream (RFC 1950) of blocks that are stored as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(BLOCK).peekable();
    while let Some(block) = blocks.next() {
        stream.push(u8::from(blocks.peek().is_none()));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler32(bytes).to_be_bytes());
    stream
}

/// RFC 1950, 8.2.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65521;
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_wikipedia_is_the_one_it_says() {
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }
}
