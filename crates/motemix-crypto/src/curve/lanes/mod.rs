//! X25519 of several secrets side by side, one in each lane of a vector. See
//! `docs/curve-arithmetic.md`.

#[cfg(target_arch = "x86_64")]
mod detected;
#[cfg(target_arch = "x86_64")]
mod five_limbs;
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod ladder;

use super::{Curve, Pair, SharedSecret};
use crate::Secret;
use crate::secret::wiped;

/// Words of 64 bits, little-endian, of N numbers of 256 bits: `[i][lane]` is word i of a lane's.
type Words<const N: usize> = [[u64; N]; 4];

/// As many as the widest vectors have.
const MOST: usize = 8;
/// From so many pairs on, vectors with empty lanes are cheaper than one after the other.
const WORTHWHILE: usize = 3;
/// More than the ladder and what it calls keep on the stack.
const STACK_LEN: usize = 16 * 1024;

/// The vectors of a processor: there is a value only of what it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Eight(detected::Ifma),
}

impl Lanes {
    /// The fastest that this processor has.
    pub fn fastest() -> Option<Self> {
        Self::eight()
    }

    /// Eight lanes of AVX-512 with IFMA.
    pub fn eight() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            detected::Ifma::detected().map(|ifma| Self(Kind::Eight(ifma)))
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            None
        }
    }

    /// How many multiplications are done side by side.
    pub fn count(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Eight(_) => 8,
        }
    }

    fn products(self, pairs: &[Pair<'_>], products: &mut [Secret<32>; MOST]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Eight(ifma) => {
                multiply(pairs, products, |scalars, points| ifma.products(scalars, points));
            }
        }
    }
}

/// As [`Curve::diffie_hellman_batch`], in the lanes that are given; what would leave most of them
/// empty is done by `C`.
///
/// # Panics
/// If the slices differ in length.
pub fn diffie_hellman_batch<C: Curve>(
    lanes: Option<Lanes>,
    pairs: &[Pair<'_>],
    shared: &mut [Option<SharedSecret>],
) {
    assert_eq!(pairs.len(), shared.len(), "a shared secret for each pair");
    let count = lanes.map_or(1, Lanes::count);
    for (pairs, shared) in pairs.chunks(count).zip(shared.chunks_mut(count)) {
        if let Some(lanes) = lanes
            && pairs.len() >= WORTHWHILE
        {
            let mut products = [const { Secret::zero() }; MOST];
            wiped::<STACK_LEN, _>(|| lanes.products(pairs, &mut products));
            for (product, shared) in products.iter().zip(shared) {
                *shared = SharedSecret::of_product(product);
            }
        } else {
            for (pair, shared) in pairs.iter().zip(shared) {
                *shared = C::diffie_hellman(pair.secret, &pair.point);
            }
        }
    }
}

/// Lanes without a pair multiply a point that nobody has.
#[cfg(target_arch = "x86_64")]
fn multiply<const N: usize>(
    pairs: &[Pair<'_>],
    products: &mut [Secret<32>; MOST],
    ladder: impl FnOnce(&Words<N>, &Words<N>) -> Words<N>,
) {
    let (mut scalars, mut points): (Words<N>, Words<N>) = ([[0; N]; 4], [[0; N]; 4]);
    for (lane, pair) in pairs.iter().enumerate() {
        let (secret, _) = pair.secret.expose().as_chunks::<8>();
        let (point, _) = pair.point.0.as_chunks::<8>();
        for word in 0..4 {
            scalars[word][lane] = u64::from_le_bytes(secret[word]);
            points[word][lane] = u64::from_le_bytes(point[word]);
        }
        // Clamped (RFC 7748 §5).
        scalars[0][lane] &= !7;
        scalars[3][lane] = scalars[3][lane] & !(1 << 63) | 1 << 62;
    }
    let words = ladder(&scalars, &points);
    for (lane, product) in products.iter_mut().take(N).enumerate() {
        let (bytes, _) = product.expose_mut().as_chunks_mut::<8>();
        for word in 0..4 {
            bytes[word] = words[word][lane].to_le_bytes();
        }
    }
}
