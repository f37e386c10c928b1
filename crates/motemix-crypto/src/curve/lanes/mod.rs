//! X25519 of several secrets side by side, one in each lane of a vector. See
//! `docs/curve-arithmetic.md`.

#[cfg(target_arch = "x86_64")]
mod add_product;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod detected;
#[cfg(target_arch = "x86_64")]
mod five_limbs;
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod ladder;
#[cfg(target_arch = "x86_64")]
mod ten_limbs;

use super::{Curve, Pair, SharedSecret};
use crate::Secret;
use crate::secret::wiped;

/// Words of 64 bits, little-endian, of N numbers of 256 bits: `[i][lane]` is word i of a lane's.
type Words<const N: usize> = [[u64; N]; 4];

/// So many multiplications share an inversion.
const MOST: usize = 32;
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
    Four(detected::Avx2),
    #[cfg(target_arch = "x86_64")]
    Eight(detected::Ifma),
}

impl Lanes {
    /// The fastest that this processor has.
    pub fn fastest() -> Option<Self> {
        Self::eight().or_else(Self::four)
    }

    /// Four lanes of AVX2.
    pub fn four() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            detected::Avx2::detected().map(|avx2| Self(Kind::Four(avx2)))
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            None
        }
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
            Kind::Four(_) => 4,
            #[cfg(target_arch = "x86_64")]
            Kind::Eight(_) => 8,
        }
    }

    /// How many of so many pairs are not cheaper one after the other.
    fn worthwhile(self, pairs: usize) -> usize {
        let rest = pairs % self.count();
        if rest < WORTHWHILE { pairs - rest } else { pairs }
    }

    fn products(self, pairs: &[Pair<'_>], products: &mut [Secret<32>; MOST]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Four(avx2) => {
                multiply::<4, 8>(pairs, products, |scalars, points| avx2.multiply_each(scalars, points));
            }
            #[cfg(target_arch = "x86_64")]
            Kind::Eight(ifma) => {
                multiply::<8, 4>(pairs, products, |scalars, points| ifma.multiply_each(scalars, points));
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
    for (pairs, shared) in pairs.chunks(MOST).zip(shared.chunks_mut(MOST)) {
        let together = lanes.map_or(0, |lanes| lanes.worthwhile(pairs.len()));
        let (in_lanes, alone) = pairs.split_at(together);
        let (shared_in_lanes, shared_alone) = shared.split_at_mut(together);
        if let Some(lanes) = lanes
            && !in_lanes.is_empty()
        {
            let mut products = [const { Secret::zero() }; MOST];
            wiped::<STACK_LEN, _>(|| lanes.products(in_lanes, &mut products));
            for (product, shared) in products.iter().zip(shared_in_lanes) {
                *shared = SharedSecret::of_product(product);
            }
        }
        for (pair, shared) in alone.iter().zip(shared_alone) {
            *shared = C::diffie_hellman(pair.secret, &pair.point);
        }
    }
}

/// Lanes without a pair multiply a point that nobody has.
#[cfg(target_arch = "x86_64")]
fn multiply<const LANES: usize, const GROUPS: usize>(
    pairs: &[Pair<'_>],
    products: &mut [Secret<32>; MOST],
    multiply: impl FnOnce(&[Words<LANES>], &mut [Words<LANES>]),
) {
    let (mut scalars, mut points): ([Words<LANES>; GROUPS], [Words<LANES>; GROUPS]) =
        ([[[0; LANES]; 4]; GROUPS], [[[0; LANES]; 4]; GROUPS]);
    for (at, pair) in pairs.iter().enumerate() {
        let (group, lane) = (at / LANES, at % LANES);
        let (secret, _) = pair.secret.expose().as_chunks::<8>();
        let (point, _) = pair.point.0.as_chunks::<8>();
        for word in 0..4 {
            scalars[group][word][lane] = u64::from_le_bytes(secret[word]);
            points[group][word][lane] = u64::from_le_bytes(point[word]);
        }
        // Clamped (RFC 7748 §5).
        scalars[group][0][lane] &= !7;
        scalars[group][3][lane] = scalars[group][3][lane] & !(1 << 63) | 1 << 62;
    }
    let groups = pairs.len().div_ceil(LANES);
    multiply(&scalars[..groups], &mut points[..groups]);
    for (at, product) in products.iter_mut().take(pairs.len()).enumerate() {
        let (bytes, _) = product.expose_mut().as_chunks_mut::<8>();
        for word in 0..4 {
            bytes[word] = points[at / LANES][word][at % LANES].to_le_bytes();
        }
    }
}
