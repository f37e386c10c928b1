//! X25519 of several secrets side by side, one in each lane of a vector: what a processor has is
//! found when the program runs. See `docs/research/curve-arithmetic.md`.
//!
//! | file | what |
//! |---|---|
//! | `ladder` | the Montgomery ladder, written once |
//! | `five_limbs`, `nine_limbs` | the two fields that it works in |
//! | `ifma`, `avx2`, `rows`, `neon` | the vectors that the fields are made of |
//! | `bounds` | the same ladder and fields on intervals: no limb of any input is too long |
//!
//! Which pairs go into lanes depends on their number alone, and each lane does the same whatever is
//! in it.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(test)]
mod bounds;
#[cfg(any(target_arch = "x86_64", neon))]
mod detected;
#[cfg(all(test, target_arch = "x86_64"))]
mod extremes;
#[cfg(any(test, target_arch = "x86_64"))]
mod five_limbs;
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(any(test, target_arch = "x86_64", neon))]
mod ladder;
#[cfg(neon)]
mod neon;
#[cfg(any(test, target_arch = "x86_64", neon))]
mod nine_limbs;
#[cfg(target_arch = "x86_64")]
mod rows;

use super::{Curve, POINT_LEN, Pair, PublicKey, SharedSecret};
use crate::Secret;
#[cfg(any(target_arch = "x86_64", neon))]
use crate::secret::wiped;

/// So many multiplications share an inversion.
const MOST: usize = 32;
/// From so many pairs on, lanes of which some are empty are cheaper than one pair after the other.
const WORTHWHILE: usize = 3;
/// The same for public keys, which cost a third of a pair when made alone. Four lanes never pay.
const KEYS_WORTHWHILE: usize = 7;
/// More than the ladder and what it calls keep on the stack.
#[cfg(any(target_arch = "x86_64", neon))]
const STACK_LEN: usize = 24 * 1024;
const BASE: PublicKey = {
    let mut base = [0; POINT_LEN];
    base[0] = 9;
    PublicKey(base)
};

/// Words of 64 bits, little-endian, of N numbers of 256 bits: `[i][lane]` is word i of a lane's.
#[cfg(any(target_arch = "x86_64", neon))]
type Words<const N: usize> = [[u64; N]; 4];

/// The vectors of a processor: there is a value only of what this one has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    #[cfg(neon)]
    Two(detected::Neon),
    #[cfg(target_arch = "x86_64")]
    Four(detected::Avx2),
    #[cfg(target_arch = "x86_64")]
    Eight(detected::Ifma),
}

impl Lanes {
    /// The fastest that this processor has.
    pub fn fastest() -> Option<Self> {
        Self::eight().or_else(Self::four).or_else(Self::two)
    }

    /// Two lanes of NEON. They take fewer instructions than a compiler's multiplications one after
    /// the other, and more than graviola's.
    pub fn two() -> Option<Self> {
        #[cfg(neon)]
        {
            Some(Self(Kind::Two(detected::Neon::detected())))
        }
        #[cfg(not(neon))]
        {
            None
        }
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
            #[cfg(neon)]
            Kind::Two(_) => neon::LANES,
            #[cfg(target_arch = "x86_64")]
            Kind::Four(_) => avx2::LANES,
            #[cfg(target_arch = "x86_64")]
            Kind::Eight(_) => ifma::LANES,
        }
    }

    /// How many of so many multiplications are done in lanes; the rest is cheaper alone.
    fn together(self, multiplications: usize, worthwhile: usize) -> usize {
        let rest = multiplications % self.count();
        if rest < worthwhile { multiplications - rest } else { multiplications }
    }

    /// Multiplies at most `MOST` pairs, and does with each product what is to be done.
    #[cfg_attr(not(any(target_arch = "x86_64", neon)), allow(unused_variables))] // there is no `self` elsewhere
    fn multiply(self, pairs: &[Pair<'_>], each: impl FnMut(usize, &Secret<32>)) {
        match self.0 {
            #[cfg(neon)]
            Kind::Two(neon) => {
                multiply::<2, 16>(pairs, each, |scalars, points| neon.multiply_each(scalars, points));
            }
            #[cfg(target_arch = "x86_64")]
            Kind::Four(avx2) => {
                multiply::<4, 8>(pairs, each, |scalars, points| avx2.multiply_each(scalars, points));
            }
            #[cfg(target_arch = "x86_64")]
            Kind::Eight(ifma) => {
                multiply::<8, 4>(pairs, each, |scalars, points| ifma.multiply_each(scalars, points));
            }
        }
    }
}

/// As [`Curve::diffie_hellman_batch`], in the lanes that are given. What would leave most of them
/// empty is done by `C`, and everything where there are none.
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
        let together = lanes.map_or(0, |lanes| lanes.together(pairs.len(), WORTHWHILE));
        let (pairs, pairs_alone) = pairs.split_at(together);
        let (shared, shared_alone) = shared.split_at_mut(together);
        if let Some(lanes) = lanes.filter(|_| !pairs.is_empty()) {
            lanes.multiply(pairs, |at, product| shared[at] = SharedSecret::of_product(product));
        }
        for (pair, shared) in pairs_alone.iter().zip(shared_alone) {
            *shared = C::diffie_hellman(pair.secret, &pair.point);
        }
    }
}

/// As [`Curve::public_keys`], in the lanes that are given if there are eight. The rest is done by
/// `C`, which may have tables of the base point.
///
/// # Panics
/// If the slices differ in length.
pub fn public_keys<C: Curve>(lanes: Option<Lanes>, secrets: &[&Secret<32>], keys: &mut [PublicKey]) {
    assert_eq!(secrets.len(), keys.len(), "a key for each secret");
    for (secrets, keys) in secrets.chunks(MOST).zip(keys.chunks_mut(MOST)) {
        let together = lanes.map_or(0, |lanes| lanes.together(secrets.len(), KEYS_WORTHWHILE));
        let lanes = lanes.filter(|lanes| lanes.count() > KEYS_WORTHWHILE && together > 0);
        let (secrets, secrets_alone) = secrets.split_at(if lanes.is_some() { together } else { 0 });
        let (keys, keys_alone) = keys.split_at_mut(secrets.len());
        if let (Some(lanes), Some(first)) = (lanes, secrets.first()) {
            let mut pairs = [Pair { secret: first, point: BASE }; MOST];
            for (pair, secret) in pairs.iter_mut().zip(secrets) {
                pair.secret = secret;
            }
            let pairs = &pairs[..secrets.len()];
            lanes.multiply(pairs, |at, product| keys[at] = PublicKey(*product.expose()));
        }
        for (secret, key) in secrets_alone.iter().zip(keys_alone) {
            *key = C::public_key(secret);
        }
    }
}

/// Lanes without a pair multiply a point that nobody has.
#[cfg(any(target_arch = "x86_64", neon))]
fn multiply<const LANES: usize, const GROUPS: usize>(
    pairs: &[Pair<'_>],
    mut each: impl FnMut(usize, &Secret<32>),
    multiply_each: impl FnOnce(&[Words<LANES>], &mut [Words<LANES>]),
) {
    // Neither words nor vectors nor what is copied from a product wipes itself.
    wiped::<STACK_LEN, _>(|| {
        let mut scalars = [[[0; LANES]; 4]; GROUPS];
        let mut points = [[[0; LANES]; 4]; GROUPS];
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
        multiply_each(&scalars[..groups], &mut points[..groups]);
        for at in 0..pairs.len() {
            let mut product = Secret::zero();
            let (bytes, _) = product.expose_mut().as_chunks_mut::<8>();
            for word in 0..4 {
                bytes[word] = points[at / LANES][word][at % LANES].to_le_bytes();
            }
            each(at, &product);
        }
    });
}
