//! The stream of blocks that are made in assembly, in half of the time of a compiler's code.

use zeroize::Zeroizing;

use super::{Label, armv7};

/// "expand 32-byte k"
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Xors the stream over `data`, from block `first` on.
pub(super) fn xor_from(key: &[u8; 32], label: &Label, first: u32, data: &mut [u8]) {
    let mut state = Zeroizing::new([0; armv7::WORDS]);
    state[..4].copy_from_slice(&CONSTANTS);
    state[12] = first;
    let ((key, _), (label, _)) = (key.as_chunks::<4>(), label.as_chunks::<4>());
    state[4..12].iter_mut().zip(key).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
    state[13..].iter_mut().zip(label).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
    let mut stream = Zeroizing::new([0; armv7::WORDS]);
    for block in data.chunks_mut(4 * armv7::WORDS) {
        armv7::block(&mut stream, &state);
        state[12] = state[12].wrapping_add(1);
        let (words, rest) = block.as_chunks_mut::<4>();
        for (bytes, word) in words.iter_mut().zip(stream.iter()) {
            *bytes = (u32::from_le_bytes(*bytes) ^ word).to_le_bytes();
        }
        if let Some(word) = stream.get(words.len()) {
            rest.iter_mut().zip(word.to_le_bytes()).for_each(|(byte, key)| *byte ^= key);
        }
    }
}
