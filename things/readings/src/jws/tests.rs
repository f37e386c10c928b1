use motemix_object::{Credential, Freshness, Path, Policy, PrivateKey, Stale};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde_json::{Value, json};

use super::*;

/// A device that signs, and what a verifier knows of it.
struct Device {
    key: PrivateKey,
    public: PublicKey,
    identity: Identity,
}

impl Device {
    fn new(algorithm: Algorithm) -> Self {
        let key = PrivateKey::generate(algorithm, &mut ChaCha20Rng::from_seed([7; 32]));
        let public = key.public_key();
        let identity = Credential::new(public, &[]).and_then(|credential| credential.identity());
        Self { key, public, identity: identity.expect("nothing stands beside the key") }
    }

    fn seal(&mut self, path: Path, sequence: u64) -> String {
        let mut sealer = Sealer { signer: &mut self.key, identity: self.identity, path, audience: cellar() };
        seal(&mut sealer, Reserved::promised(sequence), &pack()).expect("software signs")
    }
}

fn pack() -> Pack {
    Pack::read(br#"[{"n":"t","u":"Cel","v":21.5}]"#).expect("a pack")
}

fn cellar() -> Audience<'static> {
    Audience::new("cellar").expect("a short name")
}

const BOTH: [Algorithm; 2] = [Algorithm::Ed25519, Algorithm::Es256];

#[test]
fn a_reading_verifies_and_is_fresh_once() {
    for algorithm in BOTH {
        let mut device = Device::new(algorithm);
        let text = device.seal(Path::Anonymous, 7);
        let reading = open(&text).unwrap();
        assert_eq!(reading.algorithm(), algorithm);
        let mut fresh = Freshness::starting_at(0);
        let number = fresh.sequence_of(&device.identity, reading.key_id(), Policy::WINDOW).unwrap();
        let verified = reading.verify(&device.public, &device.identity, number, cellar()).unwrap();
        assert_eq!(Pack::read(verified.senml()), Ok(pack()));
        assert_eq!(fresh.admit(&verified, Policy::WINDOW), Ok(()));
        assert_eq!(fresh.admit(&verified, Policy::WINDOW), Err(Stale::Replayed));
    }
}

#[test]
fn a_reading_is_of_one_device_one_number_and_one_audience() {
    for algorithm in BOTH {
        let mut device = Device::new(algorithm);
        let text = device.seal(Path::Direct, 7);
        let reading = open(&text).unwrap();
        let Device { public, identity, .. } = &device;
        let other = Identity::from_bytes([1; 32]);
        let attic = Audience::new("attic").unwrap();
        let stranger = Device::new(if algorithm == Algorithm::Es256 { BOTH[0] } else { BOTH[1] });
        assert!(reading.verify(public, identity, 7, cellar()).is_ok());
        for refused in [
            reading.verify(public, identity, 8, cellar()),
            reading.verify(public, &other, 7, cellar()),
            reading.verify(public, identity, 7, attic),
            reading.verify(&stranger.public, identity, 7, cellar()),
        ] {
            assert_eq!(refused.unwrap_err(), ObjectError::Signature);
        }
    }
}

#[test]
fn nothing_in_a_reading_can_be_changed() {
    for algorithm in BOTH {
        let mut device = Device::new(algorithm);
        let text = device.seal(Path::Anonymous, 7);
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            let verified = open(&changed)
                .is_ok_and(|reading| reading.verify(&device.public, &device.identity, 7, cellar()).is_ok());
            assert!(!verified, "character {at} was changed");
        }
        for end in 0..text.len() {
            let verified = open(&text[..end])
                .is_ok_and(|reading| reading.verify(&device.public, &device.identity, 7, cellar()).is_ok());
            assert!(!verified, "{end} characters were enough");
        }
    }
}

/// The other signature of ES256 that holds: s negated modulo the order of the group of P-256.
fn negated(mut signature: [u8; SIGNATURE_LEN]) -> [u8; SIGNATURE_LEN] {
    let order = hex::decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551").unwrap();
    let mut borrow = 0;
    for (digit, order) in signature[32..].iter_mut().zip(order).rev() {
        let difference = i32::from(order) - i32::from(*digit) - borrow;
        (*digit, borrow) = (difference.rem_euclid(256) as u8, i32::from(difference < 0));
    }
    signature
}

#[test]
fn a_text_has_one_form_and_whoever_passes_it_on_makes_no_other() {
    for algorithm in BOTH {
        let mut device = Device::new(algorithm);
        let text = device.seal(Path::Direct, 7);
        let (signed, signature) = text.rsplit_once('.').unwrap();
        let (header, payload) = signed.split_once('.').unwrap();
        let own: [u8; 64] = base64url::decode(signature).unwrap().try_into().unwrap();
        // The last digit of 64 bytes has four bits that no byte has.
        let (rest, last) = signature.split_at(signature.len() - 1);
        let spare = if last == "A" { "B" } else { "h" };
        let mut others = vec![
            format!("{text}\n"),
            format!(" {text}"),
            format!("{text}=="),
            format!("{signed}.{rest}{spare}"),
            format!("{header}=.{payload}.{signature}"),
            format!("{header}.{payload}=.{signature}"),
            format!("{header}.{payload}.{}", signature.replace('_', "/").replace('-', "+") + "\r"),
            format!("{header} .{payload}.{signature}"),
        ];
        if algorithm == Algorithm::Es256 {
            let other = negated(own);
            assert!(device.public.verifies(&[signed.as_bytes()], &other), "to whom both are one");
            others.push(format!("{signed}.{}", base64url::encode(&other)));
        }
        for other in others {
            let taken = open(&other)
                .is_ok_and(|reading| reading.verify(&device.public, &device.identity, 7, cellar()).is_ok());
            assert!(!taken, "{other:?}");
        }
    }
}

#[test]
fn readings_on_an_anonymous_path_have_nothing_in_common_that_tells_the_device() {
    let mut device = Device::new(Algorithm::Ed25519);
    let headers = [7, 8].map(|number| {
        let text = device.seal(Path::Anonymous, number);
        let jws = Compact::parse(&text).unwrap();
        (jws.header.key_id.unwrap(), jws.header.context.unwrap())
    });
    assert_ne!(headers[0].0, headers[1].0);
    assert_ne!(headers[0].1, headers[1].1);
}

fn with_header(header: &str) -> Result<(), JwsError> {
    let signature = base64url::encode(&[0; 64]);
    let text = format!("{}.{}.{signature}", base64url::encode(header.as_bytes()), base64url::encode(b"[]"));
    open(&text).map(|_| ())
}

#[test]
fn a_header_that_is_not_understood_is_refused_with_one_line() {
    let context = base64url::encode(&[0; 32]);
    let whole = |alg: &str, crit: Value, kid: &str| {
        json!({"alg": alg, "crit": crit, "kid": kid, CONTEXT: context}).to_string()
    };
    assert_eq!(with_header(&whole("EdDSA", json!([CONTEXT]), "000102030405")), Ok(()));
    assert_eq!(with_header(&whole("Ed25519", json!([CONTEXT]), "000102030405")), Ok(()));
    for (header, refused) in [
        (whole("none", json!([CONTEXT]), "000102030405"), JwsError::Algorithm),
        (whole("HS256", json!([CONTEXT]), "000102030405"), JwsError::Algorithm),
        (whole("EdDSA", json!([CONTEXT, "b64"]), "000102030405"), JwsError::Critical("b64".into())),
        (whole("EdDSA", json!([CONTEXT, CONTEXT]), "000102030405"), JwsError::Context),
        (whole("EdDSA", json!([CONTEXT]), "00010203"), JwsError::KeyId),
        (whole("EdDSA", json!([CONTEXT]), "000102030G"), JwsError::KeyId),
        (whole("EdDSA", json!([]), "000102030405"), JwsError::Header("\"crit\" is empty".into())),
        (
            whole("EdDSA", json!("b64"), "000102030405"),
            JwsError::Header("\"crit\" is not a list of names".into()),
        ),
        (json!({"alg": "EdDSA", CONTEXT: context, "kid": "000102030405"}).to_string(), JwsError::Context),
        (json!({"alg": "EdDSA", "crit": [CONTEXT], "kid": "000102030405"}).to_string(), JwsError::Context),
        (json!({"alg": "EdDSA", "kid": "000102030405"}).to_string(), JwsError::Context),
        (json!({"alg": 1}).to_string(), JwsError::Header("\"alg\" is not a text".into())),
        (r#"{"alg":"EdDSA","alg":"none"}"#.into(), JwsError::Header("\"alg\" twice".into())),
        ("[]".into(), JwsError::Header("not a JSON object".into())),
        (format!("{{\"x\":\"{}\"}}", "y".repeat(4096)), JwsError::TooLong),
    ] {
        let why = with_header(&header).unwrap_err();
        assert_eq!(why, refused, "{header}");
        assert!(!why.to_string().contains('\n'));
    }
}

#[test]
fn what_is_no_jws_is_refused() {
    for (text, refused) in [
        ("", JwsError::Parts),
        ("e30", JwsError::Parts),
        ("e30.e30", JwsError::Parts),
        ("e30.e30.e30.e30", JwsError::Parts),
        ("e30=.e30.e30", JwsError::Base64(JwsPart::Header)),
        ("e30.e3 0.e30", JwsError::Base64(JwsPart::Payload)),
        ("e30.e30.e31", JwsError::Base64(JwsPart::Signature)),
        ("e30.e30.e30", JwsError::SignatureLen),
    ] {
        assert_eq!(open(text).map(|_| ()), Err(refused), "{text:?}");
    }
    assert_eq!(open(&"x".repeat(MAX_JWS_LEN + 1)).map(|_| ()), Err(JwsError::TooLong));
}

#[test]
fn signatures_are_those_of_the_standards() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/jws.json");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let cases = vectors["signed"].as_array().unwrap();
    assert_eq!(cases.len(), 2);
    for case in cases {
        let text = |field: &str| case[field].as_str().unwrap();
        let jws = Compact::parse(text("jws")).unwrap();
        assert_eq!(algorithm_name(jws.header.algorithm), text("algorithm"));
        assert_eq!(jws.payload, text("payload").as_bytes());
        let secret: [u8; 32] = base64url::decode(text("d")).unwrap().try_into().unwrap();
        let mut key =
            PrivateKey::new(jws.header.algorithm, motemix_crypto::Secret::new(secret)).expect("a key");
        let public = key.public_key();
        let x = base64url::decode(text("x")).unwrap();
        match public.coordinates() {
            Some((own_x, own_y)) => {
                assert_eq!((own_x.to_vec(), own_y.to_vec()), (x, base64url::decode(text("y")).unwrap()));
            }
            None => assert_eq!(public.as_bytes(), x),
        }
        assert!(public.verifies(&[jws.signed.as_bytes()], &jws.signature));
        let signed = sign(&mut key, text("header"), text("payload").as_bytes()).unwrap();
        // RFC 7515 drew its nonce; ours is made of key and message.
        let is_the_same = signed == text("jws");
        assert_eq!(is_the_same, jws.header.algorithm == Algorithm::Ed25519);
        let again = Compact::parse(&signed).unwrap();
        assert!(public.verifies(&[again.signed.as_bytes()], &again.signature));
        // A JWS of somebody else is no reading, however well it is signed.
        let is_canonical = jws.header.algorithm.is_canonical(&jws.signature);
        let refused = if is_canonical { JwsError::KeyId } else { JwsError::SignatureForm };
        assert_eq!(open(text("jws")).map(|_| ()), Err(refused));
        // That of RFC 7515, A.3.
        assert_eq!(is_canonical, jws.header.algorithm == Algorithm::Ed25519);
    }
}

#[test]
fn a_twin_of_one_temperature_has_the_length_that_the_specification_says() {
    assert_eq!(Device::new(Algorithm::Ed25519).seal(Path::Anonymous, 7).len(), 328);
}
