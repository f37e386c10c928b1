//! Random numbers without bias. Where a choice has to be hidden, the generator has to be one for
//! cryptography.

use rand_core::Rng;

/// A uniformly random number below `bound`; 0 if `bound` is 0 or 1.
///
/// Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29(1), 2019: the product of
/// a random word and the bound has its result in the upper half; products whose lower half falls
/// into the incomplete last interval are drawn again (less than once in 2^18 for a network's
/// bounds).
pub fn below<R: Rng + ?Sized>(rng: &mut R, bound: u32) -> u32 {
    if bound <= 1 {
        return 0;
    }
    let surplus = bound.wrapping_neg() % bound;
    loop {
        let product = u64::from(rng.next_u32()) * u64::from(bound);
        if product as u32 >= surplus {
            return (product >> 32) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand_core::SeedableRng as _;

    #[test]
    fn a_large_bound_is_not_biased() {
        // With bound 3 · 2^30 a plain multiplication would give every third number twice as often.
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let bound = 3 << 30;
        let draws = 30_000;
        let mut residues = [0u32; 3];
        for _ in 0..draws {
            residues[(below(&mut rng, bound) % 3) as usize] += 1;
        }
        for count in residues {
            // Standard deviation 82.
            assert!(count.abs_diff(draws / 3) < 410, "{residues:?}");
        }
    }

    #[test]
    fn small_bounds() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        assert_eq!(below(&mut rng, 0), 0);
        assert_eq!(below(&mut rng, 1), 0);
        assert!((0..1000).all(|_| below(&mut rng, 7) < 7));
    }
}
