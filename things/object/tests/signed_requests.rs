//! What holds of signed requests whatever somebody tries.

use motemix_crypto::Secret;
use motemix_object::{
    Algorithm, Audience, Identity, MAX_REQUEST_PROOF_LEN, ObjectError, PrivateKey, RequestDigest,
    RequestProof, Signer as _, UnverifiedRegistration, register_short, sign_request,
};

fn key(seed: u8) -> PrivateKey {
    PrivateKey::new(Algorithm::Ed25519, Secret::new([seed; 32])).unwrap()
}

fn audience() -> Audience<'static> {
    Audience::new("plant").unwrap()
}

fn digest(query: &[&str]) -> RequestDigest {
    RequestDigest::of(2, &["rd"], query, b"</t>").unwrap()
}

fn proof(sequence: u64) -> (Identity, Vec<u8>) {
    let mut key = key(1);
    let identity = Identity::of_key(&key.public_key());
    let mut out = [0; MAX_REQUEST_PROOF_LEN + 32];
    let len = sign_request(&mut key, &identity, sequence, &digest(&["ep=a"]), audience(), &mut out).unwrap();
    (identity, out[..len].to_vec())
}

#[test]
fn parts_of_a_request_do_not_move_into_each_other() {
    let of = |method, path: &[&str], query: &[&str], payload: &[u8]| {
        *RequestDigest::of(method, path, query, payload).unwrap().as_bytes()
    };
    let all = [
        of(2, &["rd"], &["ep=a"], b""),
        of(4, &["rd"], &["ep=a"], b""),
        of(2, &["r", "d"], &["ep=a"], b""),
        of(2, &["rd", "ep=a"], &[], b""),
        of(2, &[], &["rd", "ep=a"], b""),
        of(2, &["rd"], &["ep=", "a"], b""),
        of(2, &["rd"], &["ep=a", ""], b""),
        of(2, &["rd"], &["ep="], b"a"),
        of(2, &["rd"], &["a", "b"], b""),
        of(2, &["rd"], &["b", "a"], b""),
    ];
    for (at, one) in all.iter().enumerate() {
        assert!(all.iter().skip(at + 1).all(|other| other != one), "{at}");
    }
    let long = "a".repeat(0x1_0000);
    assert_eq!(RequestDigest::of(2, &["rd"], &[&*long], b""), Err(ObjectError::Room));
}

#[test]
fn a_proof_holds_for_its_request_device_and_audience() {
    let (identity, bytes) = proof(7);
    let parsed = RequestProof::parse(&bytes).unwrap();
    let (public, other) = (key(1).public_key(), key(2).public_key());
    assert_eq!(parsed.verify(&identity, &public, &digest(&["ep=a"]), audience()), Ok(7));
    let changed = parsed.verify(&identity, &public, &digest(&["ep=b"]), audience());
    assert_eq!(changed, Err(ObjectError::Signature));
    let elsewhere = parsed.verify(&identity, &public, &digest(&["ep=a"]), Audience::default());
    assert_eq!(elsewhere, Err(ObjectError::Signature));
    let another = Identity::of_key(&other);
    assert_eq!(parsed.verify(&another, &other, &digest(&["ep=a"]), audience()), Err(ObjectError::Identity));
    assert_eq!(parsed.verify(&identity, &other, &digest(&["ep=a"]), audience()), Err(ObjectError::Signature));
}

#[test]
fn no_byte_of_a_proof_can_be_changed() {
    let (identity, bytes) = proof(u64::MAX);
    assert_eq!(bytes.len(), MAX_REQUEST_PROOF_LEN);
    let public = key(1).public_key();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let holds = RequestProof::parse(&changed)
                .and_then(|proof| proof.verify(&identity, &public, &digest(&["ep=a"]), audience()));
            assert!(holds.is_err(), "byte {at}, bit {bit}");
        }
    }
    for len in 0..bytes.len() {
        assert!(RequestProof::parse(&bytes[..len]).is_err());
    }
}

#[test]
fn a_signed_request_is_no_registration_and_the_other_way_round() {
    let (identity, bytes) = proof(7);
    let public = key(1).public_key();
    // They have one form; their labels tell them apart.
    let registration = UnverifiedRegistration::parse(&bytes).unwrap();
    let taken = registration.verify(&identity, Some(&public), audience());
    assert_eq!(taken.unwrap_err(), ObjectError::Signature);
    let mut out = [0; 160];
    let len = register_short(&mut key(1), &identity, 7, audience(), &mut out).unwrap();
    let request = RequestProof::parse(&out[..len]).unwrap();
    let taken = request.verify(&identity, &public, &digest(&["ep=a"]), audience());
    assert_eq!(taken, Err(ObjectError::Signature));
}
