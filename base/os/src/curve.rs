//! X25519 by graviola's assembly where the processor has what that needs, else by the portable
//! backend; and batches in the lanes of its vectors.

use motemix_crypto::curve::lanes::{self, Lanes};
use motemix_crypto::secret::wiped;
use motemix_crypto::{AsReceived, Curve, Pair, Portable, PublicKey, Secret, SharedSecret};

/// More than either backend keeps on the stack, in bytes: they copy scalars there.
const STACK_LEN: usize = 4 << 10;

/// The fastest curve of this machine; looks once what its processor has.
#[derive(Debug, Clone, Copy)]
pub enum HostCurve {}

impl HostCurve {
    /// What multiplies here: `graviola` or `portable`, and the lanes that batches have.
    pub fn backend() -> &'static str {
        match (fast::is_available(), Self::lanes()) {
            (true, 8) => "graviola, eight lanes of AVX-512",
            (true, 4) => "graviola, four lanes of AVX2",
            (true, _) => "graviola",
            (false, 2) => "portable, two lanes of NEON",
            (false, 8) => "portable, eight lanes of AVX-512",
            (false, 4) => "portable, four lanes of AVX2",
            (false, _) => "portable",
        }
    }
}

impl Curve for HostCurve {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        wiped::<STACK_LEN, _>(|| {
            if fast::is_available() { fast::public_key(secret) } else { Portable::public_key(secret) }
        })
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        wiped::<STACK_LEN, _>(|| {
            if fast::is_available() {
                fast::diffie_hellman(secret, point)
            } else {
                Portable::diffie_hellman(secret, point)
            }
        })
    }

    fn lanes() -> usize {
        fastest_lanes().map_or(1, Lanes::count)
    }

    fn public_keys(secrets: &[&Secret<32>], keys: &mut [PublicKey]) {
        lanes::public_keys::<Self>(fastest_lanes(), secrets, keys);
    }

    fn diffie_hellman_batch(pairs: &[Pair<'_>], shared: &mut [Option<SharedSecret>]) {
        lanes::diffie_hellman_batch::<Self>(fastest_lanes(), pairs, shared);
    }
}

/// Those in which a multiplication takes less than alone. Two lanes are no match for graviola.
fn fastest_lanes() -> Option<Lanes> {
    Lanes::fastest().filter(|lanes| lanes.count() > 2 || !fast::is_available())
}

/// X25519 with the vector units of this processor, if graviola knows it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod fast {
    use std::sync::LazyLock;

    use graviola::key_agreement::x25519::{PublicKey as TheirPoint, StaticPrivateKey};
    use motemix_crypto::{PublicKey, Secret, SharedSecret};

    /// graviola ends the process on a processor without any of these, so it is asked for nothing
    /// there.
    static AVAILABLE: LazyLock<bool> = LazyLock::new(|| {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            has!("aes")
                && has!("pclmulqdq")
                && has!("bmi1")
                && has!("bmi2")
                && has!("adx")
                && has!("avx")
                && has!("avx2")
        }
        #[cfg(target_arch = "aarch64")]
        {
            use std::arch::is_aarch64_feature_detected as has;
            has!("neon") && has!("aes") && has!("pmull") && has!("sha2")
        }
    });

    /// Whether this processor has what graviola needs.
    pub fn is_available() -> bool {
        *AVAILABLE
    }

    pub(super) fn public_key(secret: &Secret<32>) -> PublicKey {
        PublicKey(StaticPrivateKey::from_array(secret.expose()).public_key().as_bytes())
    }

    pub(super) fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        let shared = StaticPrivateKey::from_array(secret.expose())
            .diffie_hellman(&TheirPoint::from_array(&point.0))
            .ok()?;
        SharedSecret::contributory(shared.0)
    }
}

/// Nothing is known of this processor.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod fast {
    use motemix_crypto::{Curve as _, Portable, PublicKey, Secret, SharedSecret};

    /// Whether this processor has what graviola needs.
    pub fn is_available() -> bool {
        false
    }

    pub(super) fn public_key(secret: &Secret<32>) -> PublicKey {
        Portable::public_key(secret)
    }

    pub(super) fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        Portable::diffie_hellman(secret, point)
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng as _;

    use super::*;

    fn agree(secret: [u8; 32], point: [u8; 32]) {
        let (secret, point) = (Secret::new(secret), PublicKey(point));
        assert_eq!(HostCurve::public_key(&secret), Portable::public_key(&secret));
        let host = HostCurve::diffie_hellman(&secret, &point);
        let portable = Portable::diffie_hellman(&secret, &point);
        assert_eq!(host.as_ref().map(SharedSecret::expose), portable.as_ref().map(SharedSecret::expose));
    }

    #[test]
    fn it_agrees_with_the_portable_curve_on_random_keys() {
        let mut rng = crate::rng::HostRng::new().unwrap();
        for _ in 0..500 {
            let (mut secret, mut point) = ([0; 32], [0; 32]);
            rng.fill_bytes(&mut secret);
            rng.fill_bytes(&mut point);
            agree(secret, point);
        }
    }

    #[test]
    fn batches_are_what_one_after_the_other_makes() {
        let mut rng = crate::rng::HostRng::new().unwrap();
        let secrets: Vec<_> = (0..100)
            .map(|_| {
                let mut secret = [0; 32];
                rng.fill_bytes(&mut secret);
                Secret::new(secret)
            })
            .collect();
        let secrets: Vec<_> = secrets.iter().collect();
        for len in [0, 1, 2, 3, 4, 5, 8, 11, 31, 32, 33, 100] {
            let mut keys = vec![PublicKey([0; 32]); len];
            HostCurve::public_keys(&secrets[..len], &mut keys);
            let mut pairs = Vec::new();
            for (secret, key) in secrets.iter().zip(&keys) {
                assert_eq!(*key, HostCurve::public_key(secret));
                pairs.push(Pair { secret: secrets[0], point: *key });
            }
            if let Some(pair) = pairs.last_mut() {
                pair.point = PublicKey([0; 32]);
            }
            let mut batch: Vec<_> = pairs.iter().map(|_| None).collect();
            HostCurve::diffie_hellman_batch(&pairs, &mut batch);
            for (pair, shared) in pairs.iter().zip(&batch) {
                let alone = HostCurve::diffie_hellman(pair.secret, &pair.point);
                assert_eq!(
                    shared.as_ref().map(SharedSecret::expose),
                    alone.as_ref().map(SharedSecret::expose)
                );
            }
            assert!(batch.last().is_none_or(Option::is_none), "the last point has a small order");
        }
    }

    #[test]
    fn it_agrees_with_the_portable_curve_on_unusual_points() {
        let p_minus = |n: u8| {
            let mut point = [0xff; 32];
            point[0] = 0xed - n;
            point[31] = 0x7f;
            point
        };
        let mut points = vec![[0; 32], [0xff; 32], p_minus(0), p_minus(1), p_minus(2)];
        points.push(std::array::from_fn(|index| u8::from(index == 0)));
        // A point of order 8 (RFC 7748 §6.1 and its references).
        let mut order_8 = [0; 32];
        hex::decode_to_slice(
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            &mut order_8,
        )
        .unwrap();
        points.push(order_8);
        for point in points {
            for secret in [[0; 32], [0xff; 32], [0x42; 32]] {
                agree(secret, point);
                let mut high_bit = point;
                high_bit[31] |= 0x80;
                agree(secret, high_bit);
            }
        }
        assert!(HostCurve::diffie_hellman(&Secret::new([7; 32]), &PublicKey(order_8)).is_none());
    }
}
