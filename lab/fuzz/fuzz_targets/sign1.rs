//! Signed objects and readings of whatever bytes, which nobody signed, and readings that were signed:
//! they verify unless a byte of them was changed.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::{Arbitrary, Unstructured};
use motemix_crypto::Secret;
use motemix_fuzz::{Damage, fuzz_target};
use motemix_object::{
    Algorithm, Audience, Identity, OVERHEAD, Path, PrivateKey, Reserved, SealedReading, Sealer, Sign1,
    Signer as _,
};

// The first byte says what the others are, so that real objects are seeds.
fuzz_target!(|bytes: &[u8]| match bytes {
    [0, raw @ ..] => refuse(raw),
    [_, made @ ..] => {
        if let Ok(made) = Made::arbitrary(&mut Unstructured::new(made)) {
            make(&made);
        }
    }
    [] => {}
});

const IDENTITY: Identity = Identity::from_bytes([5; 32]);

fn key(algorithm: Algorithm) -> PrivateKey {
    PrivateKey::new(algorithm, Secret::new([7; 32])).expect("a key")
}

/// Nobody signed it with these keys.
fn refuse(raw: &[u8]) {
    for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
        let public = key(algorithm).public_key();
        if let Ok(object) = Sign1::parse(raw) {
            assert!(object.verify(&public, &[]).is_err());
        }
        if let Ok(reading) = SealedReading::parse(raw) {
            assert!(reading.verify(&public, &IDENTITY, 7, Audience::default()).is_err());
        }
    }
}

#[derive(Arbitrary, Debug)]
struct Made {
    is_es256: bool,
    is_direct: bool,
    sequence: u64,
    audience: String,
    senml: Vec<u8>,
    damage: Option<Damage>,
}

/// What was signed verifies, unless a byte of it was changed.
fn make(made: &Made) {
    let Ok(audience) = Audience::new(&made.audience) else { return };
    let mut key = key(if made.is_es256 { Algorithm::Es256 } else { Algorithm::Ed25519 });
    let public = key.public_key();
    let path = if made.is_direct { Path::Direct } else { Path::Anonymous };
    let mut out = vec![0; OVERHEAD + 8 + made.senml.len()];
    let mut sealer = Sealer { signer: &mut key, identity: IDENTITY, path, audience };
    let len = sealer.seal(Reserved::promised(made.sequence), &made.senml, &mut out).expect("room");
    out.truncate(len);
    if let Some(damage) = made.damage {
        damage.apply(&mut out);
    }
    let verified = SealedReading::parse(&out)
        .and_then(|reading| reading.verify(&public, &IDENTITY, made.sequence, audience));
    match verified {
        Ok(verified) => {
            assert!(made.damage.is_none(), "a changed reading was taken");
            assert_eq!(verified.senml(), made.senml);
        }
        Err(why) => assert!(made.damage.is_some(), "{why}"),
    }
}
