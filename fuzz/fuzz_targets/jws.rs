//! Twins of whatever text, and with whatever header: nobody's signature is on them. One that was
//! signed verifies unless a byte of it was changed.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use motemix_crypto::Secret;
use motemix_fuzz::Damage;
use motemix_object::{Algorithm, Audience, Identity, Path, PrivateKey, Reserved, Sealer, Signer as _};
use motemix_readings::jws;
use motemix_readings::senml::{Pack, Record, Value};

#[derive(Arbitrary, Debug)]
struct Input {
    raw: String,
    header: Vec<u8>,
    payload: Vec<u8>,
    is_es256: bool,
    sequence: u64,
    text: String,
    damage: Option<Damage>,
}

fuzz_target!(|input: Input| {
    let algorithm = if input.is_es256 { Algorithm::Es256 } else { Algorithm::Ed25519 };
    let mut key = PrivateKey::new(algorithm, Secret::new([7; 32])).expect("a key");
    let (public, identity) = (key.public_key(), Identity::from_bytes([5; 32]));
    let audience = Audience::default();

    let made = [&input.header, &input.payload, &vec![0; 64]].map(|part| base64url(part)).join(".");
    for text in [&input.raw, &made] {
        match jws::open(text) {
            Ok(reading) => {
                assert!(reading.verify(&public, &identity, input.sequence, audience).is_err());
            }
            Err(why) => assert!(!why.to_string().contains('\n'), "{why}"),
        }
    }

    let record = Record { value: Some(Value::Text(input.text)), ..Record::default() };
    let pack = Pack { records: vec![record] };
    let mut sealer = Sealer { signer: &mut key, identity, path: Path::Anonymous, audience };
    let mut text =
        jws::seal(&mut sealer, Reserved::promised(input.sequence), &pack).expect("it signs").into_bytes();
    if let Some(damage) = &input.damage {
        damage.apply(&mut text);
    }
    // White space at the ends is no part of it.
    let is_changed = input.damage.is_some();
    let Ok(text) = String::from_utf8(text) else { return };
    let opened = jws::open(&text);
    let verified = opened.is_ok_and(|reading| {
        let verified = reading.verify(&public, &identity, input.sequence, audience);
        verified.is_ok_and(|verified| Pack::read(verified.senml()).as_ref() == Ok(&pack))
    });
    assert_eq!(verified, !is_changed);
});

/// By SenML's data values (RFC 8428, 5).
fn base64url(bytes: &[u8]) -> String {
    let record = Record { value: Some(Value::Data(bytes.to_vec())), ..Record::default() };
    let value = Pack { records: vec![record] }.to_json_value();
    value[0]["vd"].as_str().expect("a text").to_owned()
}
