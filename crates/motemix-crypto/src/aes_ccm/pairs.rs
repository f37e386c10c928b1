//! AES-128 that always encrypts two blocks at once, as boards have it.
//!
//! The `aes` crate has two functions for a board without an AES unit: one slices a block into words
//! of 16 bits, the other slices two blocks into words of 32. The second takes as long on a 32-bit
//! processor, so the first would only take flash: the second encrypts single blocks too.

use aes::Aes128;
use aes::cipher::common::{BlockSizeUser, KeyInit, KeySizeUser, ParBlocks, ParBlocksSizeUser};
use aes::cipher::inout::InOut;
use aes::cipher::{Block, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, Key};
use ccm::consts::{U2, U16};

pub(super) struct Pairs(Aes128);

impl KeySizeUser for Pairs {
    type KeySize = U16;
}

impl BlockSizeUser for Pairs {
    type BlockSize = U16;
}

impl KeyInit for Pairs {
    fn new(key: &Key<Self>) -> Self {
        Self(Aes128::new(key))
    }
}

impl BlockCipherEncrypt for Pairs {
    fn encrypt_with_backend(&self, work: impl BlockCipherEncClosure<BlockSize = U16>) {
        work.call(self);
    }
}

impl ParBlocksSizeUser for Pairs {
    type ParBlocksSize = U2;
}

impl BlockCipherEncBackend for Pairs {
    #[inline(always)]
    fn encrypt_block(&self, mut block: InOut<'_, '_, Block<Self>>) {
        let mut pair = [block.clone_in(), Block::<Self>::default()];
        self.encrypt_pair(&mut pair);
        *block.get_out() = pair[0];
    }

    #[inline(always)]
    fn encrypt_par_blocks(&self, mut blocks: InOut<'_, '_, ParBlocks<Self>>) {
        let mut pair: [Block<Self>; 2] = blocks.clone_in().into();
        self.encrypt_pair(&mut pair);
        *blocks.get_out() = pair.into();
    }
}

impl Pairs {
    #[inline(never)]
    fn encrypt_pair(&self, pair: &mut [Block<Self>; 2]) {
        self.0.encrypt_with_backend(OnePair(pair));
    }
}

struct OnePair<'a>(&'a mut [Block<Pairs>; 2]);

impl BlockSizeUser for OnePair<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for OnePair<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let mut blocks = ParBlocks::<B>::default();
        for (block, plain) in blocks.iter_mut().zip(self.0.iter()) {
            *block = *plain;
        }
        backend.encrypt_par_blocks_inplace(&mut blocks);
        for (encrypted, block) in self.0.iter_mut().zip(&blocks) {
            *encrypted = *block;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_what_two_blocks_are() {
        let key = core::array::from_fn::<u8, 16, _>(|index| index as u8 * 7).into();
        let plain = core::array::from_fn::<_, 2, _>(|index| Block::<Pairs>::from([index as u8 + 1; 16]));
        let mut expected = plain;
        expected.iter_mut().for_each(|block| Aes128::new(&key).encrypt_block(block));
        let mut pair = plain;
        Pairs::new(&key).encrypt_blocks(&mut pair);
        assert_eq!(pair, expected);
        let mut single = plain[1];
        BlockCipherEncrypt::encrypt_block(&Pairs::new(&key), &mut single);
        assert_eq!(single, expected[1]);
    }
}
