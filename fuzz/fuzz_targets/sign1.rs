//! Signed objects and readings of whatever bytes: nobody's signature is on them, and a reading that
//! was signed verifies unless a byte of it was changed.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use motemix_crypto::Secret;
use motemix_fuzz::Damage;
use motemix_object::{
    Algorithm, Audience, Identity, OVERHEAD, Path, PrivateKey, Reserved, SealedReading, Sealer, Sign1,
    Signer as _,
};

#[derive(Arbitrary, Debug)]
struct Input {
    raw: Vec<u8>,
    is_es256: bool,
    is_direct: bool,
    sequence: u64,
    audience: String,
    senml: Vec<u8>,
    damage: Option<Damage>,
}

fuzz_target!(|input: Input| {
    let algorithm = if input.is_es256 { Algorithm::Es256 } else { Algorithm::Ed25519 };
    let mut key = PrivateKey::new(algorithm, Secret::new([7; 32])).expect("a key");
    let (public, identity) = (key.public_key(), Identity::from_bytes([5; 32]));
    let Ok(audience) = Audience::new(&input.audience) else { return };

    if let Ok(object) = Sign1::parse(&input.raw) {
        assert!(object.verify(&public, &[]).is_err(), "nobody signed it");
    }
    if let Ok(reading) = SealedReading::parse(&input.raw) {
        assert!(reading.verify(&public, &identity, input.sequence, audience).is_err(), "nobody signed it");
    }

    let path = if input.is_direct { Path::Direct } else { Path::Anonymous };
    let mut out = vec![0; OVERHEAD + 8 + input.senml.len()];
    let mut sealer = Sealer { signer: &mut key, identity, path, audience };
    let len = sealer.seal(Reserved::promised(input.sequence), &input.senml, &mut out).expect("room");
    out.truncate(len);
    if let Some(damage) = &input.damage {
        damage.apply(&mut out);
    }
    let verified = SealedReading::parse(&out)
        .and_then(|reading| reading.verify(&public, &identity, input.sequence, audience));
    match verified {
        Ok(verified) => {
            assert!(input.damage.is_none(), "a changed reading was taken");
            assert_eq!(verified.senml(), input.senml);
        }
        Err(why) => assert!(input.damage.is_some(), "{why}"),
    }
});
