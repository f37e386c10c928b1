//! Parts of the packet by themselves.

use core::time::Duration;

use motemix_crypto::wide_block::{KEYS_LEN, WideBlockKeys};
use motemix_crypto::{Secret, WideBlake2b, WideBlake2s, WideHash};
use motemix_sphinx::HopDelay;

use crate::tables::{Delay, Hash, WideBlock};
use crate::{Checked, sure};

/// Bytes of the longest payload.
const LONGEST: usize = motemix_sphinx::HOST2K.payload_len();

#[inline(never)]
pub fn check_wide_block(case: &WideBlock) -> Checked {
    match case.hash {
        Hash::Blake2s => check_with::<WideBlake2s>(&case.keys, case.plain, case.cipher),
        Hash::Blake2b => check_with::<WideBlake2b>(&case.keys, case.plain, case.cipher),
    }
}

fn check_with<H: WideHash>(keys: &[u8; KEYS_LEN], plain: &[u8], cipher: &[u8]) -> Checked {
    let keys = WideBlockKeys::new(Secret::new(*keys));
    let mut room = [0; LONGEST];
    let block = room.get_mut(..plain.len()).ok_or("it is longer than any payload")?;
    block.copy_from_slice(plain);
    keys.encrypt::<H>(block);
    sure("encrypted, it is another one", block == cipher)?;
    keys.decrypt::<H>(block);
    sure("decrypted again, it is another one", block == plain)
}

pub fn check_delay(case: &Delay) -> Checked {
    let delay = HopDelay::from_seed(case.seed);
    sure("its factor is another one", delay.factor() == case.exponential)?;
    let micros = delay.of_mean(Duration::from_micros(case.mean)).as_micros();
    sure("its time is another one", micros == u128::from(case.time))
}
