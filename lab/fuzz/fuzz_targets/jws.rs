//! Twins of whatever text and whatever header, which nobody signed, and twins that were signed: they
//! verify unless a byte of them was changed.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::{Arbitrary, Unstructured};
use motemix_crypto::Secret;
use motemix_fuzz::{Damage, fuzz_target};
use motemix_object::{Algorithm, Audience, Identity, Path, PrivateKey, Reserved, Sealer, Signer as _};
use motemix_readings::jws;
use motemix_readings::senml::{Pack, Record, Value};

// The first byte says what the others are, so that real texts are seeds.
fuzz_target!(|bytes: &[u8]| match bytes {
    [0, text @ ..] => refuse(&String::from_utf8_lossy(text)),
    // A header from the fuzzer, in base64.
    [1, header @ ..] => {
        refuse(&[header, b"[]", &[0; 64]].map(base64url).join("."));
    }
    [_, made @ ..] => {
        if let Ok(made) = Made::arbitrary(&mut Unstructured::new(made)) {
            make(made);
        }
    }
    [] => {}
});

const IDENTITY: Identity = Identity::from_bytes([5; 32]);

fn key(algorithm: Algorithm) -> PrivateKey {
    PrivateKey::new(algorithm, Secret::new([7; 32])).expect("a key")
}

/// Nobody signed it with these keys.
fn refuse(text: &str) {
    match jws::open(text) {
        Ok(reading) => {
            let public = key(reading.algorithm()).public_key();
            assert!(reading.verify(&public, &IDENTITY, 7, Audience::default()).is_err());
        }
        Err(why) => assert!(!why.to_string().contains('\n'), "{why}"),
    }
}

#[derive(Arbitrary, Debug)]
struct Made {
    is_es256: bool,
    sequence: u64,
    text: String,
    damage: Option<Damage>,
}

/// What was signed verifies, unless a byte of it was changed.
fn make(made: Made) {
    let mut key = key(if made.is_es256 { Algorithm::Es256 } else { Algorithm::Ed25519 });
    let public = key.public_key();
    let record = Record { value: Some(Value::Text(made.text)), ..Record::default() };
    let pack = Pack { records: vec![record] };
    let audience = Audience::default();
    let mut sealer = Sealer { signer: &mut key, identity: IDENTITY, path: Path::Anonymous, audience };
    let text = jws::seal(&mut sealer, Reserved::promised(made.sequence), &pack).expect("it signs");
    let mut text = text.into_bytes();
    if let Some(damage) = made.damage {
        damage.apply(&mut text);
    }
    let Ok(text) = String::from_utf8(text) else { return };
    let verified = jws::open(&text).is_ok_and(|reading| {
        let verified = reading.verify(&public, &IDENTITY, made.sequence, audience);
        verified.is_ok_and(|verified| Pack::read(verified.senml()).as_ref() == Ok(&pack))
    });
    assert_eq!(verified, made.damage.is_none());
}

/// By SenML's data values (RFC 8428, 5).
fn base64url(bytes: &[u8]) -> String {
    let record = Record { value: Some(Value::Data(bytes.to_vec())), ..Record::default() };
    let value = Pack { records: vec![record] }.to_json_value();
    value[0]["vd"].as_str().expect("a text").to_owned()
}
