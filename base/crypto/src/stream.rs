//! `ChaCha20` (RFC 8439 §2.4) with a label as its nonce: one key makes unrelated streams for its
//! uses.

#[cfg(any(armv7m, armv7em))]
mod armv7;
#[cfg(any(armv7m, armv7em))]
mod blocks;
#[cfg(not(any(armv7m, armv7em)))]
mod library;

#[cfg(any(armv7m, armv7em))]
use blocks::xor_from;
#[cfg(not(any(armv7m, armv7em)))]
use library::xor_from;

/// Twelve ASCII bytes that name what a stream is for.
pub type Label = [u8; 12];

/// Xors the stream of `key` and `label` over `data`, from block counter 0.
pub fn xor(key: &[u8; 32], label: &Label, data: &mut [u8]) {
    xor_from(key, label, 0, data);
}

/// Overwrites `out` with the stream from block `first` on; a block has 64 bytes.
pub fn fill_from(key: &[u8; 32], label: &Label, first: u32, out: &mut [u8]) {
    out.fill(0);
    xor_from(key, label, first, out);
}

/// Overwrites `out` with the stream itself.
pub fn fill(key: &[u8; 32], label: &Label, out: &mut [u8]) {
    out.fill(0);
    xor(key, label, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_from_a_block_on_is_the_end_of_the_whole_stream() {
        let (key, label) = ([7; 32], b"motemix/test");
        let mut whole = [0; 320];
        fill(&key, label, &mut whole);
        for first in 0..5 {
            let mut end = [0xff; 320];
            let end = &mut end[64 * first..];
            fill_from(&key, label, first as u32, end);
            assert_eq!(end, &whole[64 * first..]);
        }
    }
}
