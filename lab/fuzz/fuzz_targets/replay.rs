//! The replay filter under any order of admissions and retired epochs, in any memory: it forgets
//! nothing, counts what it took, and is full only when it has no room.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use motemix_fuzz::{
    fuzz_target,
    tags::{Epoch, Filter},
};

#[derive(Arbitrary, Debug)]
struct Input {
    bits: u8,
    bytes: u16,
    calls: Vec<Call>,
}

#[derive(Arbitrary, Debug)]
enum Call {
    Admit {
        epoch: Epoch,
        digest: u64,
    },
    /// As many as a short burst has, spread or crowded in few buckets.
    Burst {
        epoch: Epoch,
        from: u32,
        count: u8,
        is_crowded: bool,
    },
    Release {
        epoch: Epoch,
    },
}

/// What a board lends.
const MOST_BYTES: usize = 8 << 10;

fuzz_target!(|input: Input| {
    let mut memory = vec![0xa5; usize::from(input.bytes) % (MOST_BYTES + 1)];
    let Some(mut filter) = Filter::new(&mut memory, 12 + input.bits % 11 * 2) else { return };
    for call in input.calls {
        match call {
            Call::Admit { epoch, digest } => filter.admit(epoch, digest),
            Call::Burst { epoch, from, count, is_crowded } => {
                for number in 0..u64::from(count) {
                    let number = u64::from(from) + number;
                    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    filter.admit(epoch, if is_crowded { number } else { spread });
                }
            }
            Call::Release { epoch } => filter.release(epoch),
        }
    }
    filter.check_all();
});
