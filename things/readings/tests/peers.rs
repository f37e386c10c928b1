//! Readings, their twins and SenML with programs of others: pycose, joserfc and kpn-senml, in
//! Python.

#[path = "../../../net/neighbour/tests/peers/python.rs"]
#[expect(dead_code, reason = "other crates ask other peers")]
mod python;

use motemix_object::{
    Algorithm, Audience, Credential, Identity, Path, PrivateKey, PublicKey, Reserved, SealedReading, Sealer,
    Signer as _, reading_context,
};
use motemix_readings::senml::{Number, Pack, Value};
use motemix_readings::{base64url, jws};
use python::{Python, bytes};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde_json::json;

const BOTH: [Algorithm; 2] = [Algorithm::Ed25519, Algorithm::Es256];
const SEQUENCE: u64 = 0x0102_0304_0506;
const AUDIENCE: &str = "cellar";

struct Device {
    key: PrivateKey,
    public: PublicKey,
    identity: Identity,
}

impl Device {
    fn new(algorithm: Algorithm) -> Self {
        let key = PrivateKey::generate(algorithm, &mut ChaCha20Rng::from_seed([9; 32]));
        let public = key.public_key();
        let identity = Credential::new(public, &[]).and_then(|credential| credential.identity());
        Self { key, public, identity: identity.expect("nothing stands beside the key") }
    }

    fn sealer(&mut self) -> Sealer<'_, PrivateKey> {
        Sealer { signer: &mut self.key, identity: self.identity, path: Path::Anonymous, audience: audience() }
    }

    fn name(&self) -> &'static str {
        self.public.algorithm().name()
    }

    /// What the specification says that a signature covers and nobody sends, put together by hand.
    fn external(&self) -> Vec<u8> {
        let label = b"\x00\x11motemix/1 reading";
        [&label[..], self.identity.as_bytes(), &SEQUENCE.to_be_bytes(), b"\x00\x06", AUDIENCE.as_bytes()]
            .concat()
    }
}

fn audience() -> Audience<'static> {
    Audience::new(AUDIENCE).expect("a short name")
}

fn pack() -> Pack {
    Pack::read(br#"[{"bt":1763000000,"n":"t","u":"Cel","v":21.5}]"#).expect("a pack")
}

#[test]
fn pycose_verifies_a_reading_and_refuses_a_changed_one() {
    let mut peer = Python::objects();
    for algorithm in BOTH {
        let mut device = Device::new(algorithm);
        let senml = pack().to_cbor();
        let mut out = [0; 256];
        let len = device.sealer().seal(Reserved::promised(SEQUENCE), &senml, &mut out).expect("room");
        let key_id = device.sealer().key_id(SEQUENCE);
        let mut verify = |reading: &[u8], external: &[u8]| {
            let question = json!({
                "algorithm_text": device.name(), "key": hex::encode(device.public.as_bytes()),
                "message": hex::encode(reading), "external": hex::encode(external),
            });
            peer.ask("cose_verify", question)
        };
        let answer = verify(&out[..len], &device.external()).expect("it is right");
        assert_eq!(bytes(&answer, "payload"), senml);
        assert_eq!(bytes(&answer, "key_id"), key_id.as_bytes());
        // In header, payload and signature; and in what is not sent.
        for at in [len - 1, len - 40, len - 66, 8, 12] {
            let mut changed = out;
            changed[at] ^= 1;
            assert!(verify(&changed[..len], &device.external()).is_err(), "byte {at} was changed");
        }
        let mut external = device.external();
        external[60] ^= 1;
        assert!(verify(&out[..len], &external).is_err(), "another audience or number");
    }
}

#[test]
fn a_reading_that_pycose_signed_verifies_and_a_changed_one_does_not() {
    let mut peer = Python::objects();
    for (algorithm, tag) in [(BOTH[0], false), (BOTH[0], true), (BOTH[1], false), (BOTH[1], true)] {
        let mut device = Device::new(algorithm);
        let key_id = device.sealer().key_id(SEQUENCE);
        let question = json!({
            "algorithm_text": device.name(), "key": hex::encode(device.key.expose()), "tag": tag,
            "payload": hex::encode(pack().to_cbor()), "external": hex::encode(device.external()),
            "key_id": hex::encode(key_id.as_bytes()),
        });
        let answer = peer.ask("cose_sign", question).expect("it signs");
        let mut message = bytes(&answer, "message");
        if tag {
            // One form: whoever passes a reading on could write a tag or leave it out.
            assert_eq!(message.first(), Some(&0xd2));
            assert!(SealedReading::parse(&message).is_err());
            message.remove(0);
        }
        // Of two signatures of ES256 pycose writes either one.
        algorithm.make_canonical(message.last_chunk_mut().expect("it ends with its signature"));
        let reading = SealedReading::parse(&message).expect("a reading");
        assert_eq!(reading.key_id(), key_id);
        let verified = reading.verify(&device.public, &device.identity, SEQUENCE, audience());
        assert_eq!(Pack::read(verified.expect("it is right").senml()), Ok(pack()));
        assert!(reading.verify(&device.public, &device.identity, SEQUENCE + 1, audience()).is_err());
        for at in 0..message.len() {
            let mut changed = message.clone();
            changed[at] ^= 1;
            let verified = SealedReading::parse(&changed).is_ok_and(|reading| {
                reading.verify(&device.public, &device.identity, SEQUENCE, audience()).is_ok()
            });
            assert!(!verified, "byte {at} was changed");
        }
    }
}

#[test]
fn joserfc_verifies_a_twin_only_if_it_is_told_of_its_context() {
    let mut peer = Python::objects();
    for algorithm in BOTH {
        let mut device = Device::new(algorithm);
        let text = jws::seal(&mut device.sealer(), Reserved::promised(SEQUENCE), &pack()).expect("it signs");
        let mut verify = |text: &str, understood: bool| {
            let question = json!({
                "algorithm_text": device.name(), "key": hex::encode(device.public.as_bytes()),
                "jws_text": text, "understood": understood,
            });
            peer.ask("jws_verify", question)
        };
        let answer = verify(&text, true).expect("it is right");
        assert_eq!(bytes(&answer, "payload"), pack().to_json().as_bytes());
        let header: serde_json::Value =
            serde_json::from_str(answer["header_text"].as_str().expect("a text")).expect("JSON");
        assert_eq!(header["crit"], json!([jws::CONTEXT]));
        let not_understood = verify(&text, false).expect_err("it has to be understood");
        assert!(not_understood.0.contains(jws::CONTEXT), "{not_understood:?}");
        let (signed, signature) = text.rsplit_once('.').expect("three parts");
        let (header, payload) = signed.split_once('.').expect("three parts");
        let other = if payload.starts_with('W') { payload.replacen('W', "X", 1) } else { payload.into() };
        let changed = format!("{header}.{other}.{signature}");
        assert_ne!(changed, text);
        assert!(verify(&changed, true).is_err(), "the payload was changed");
        let first = if signature.starts_with('A') { "B" } else { "A" };
        let changed = format!("{signed}.{first}{}", &signature[1..]);
        assert!(verify(&changed, true).is_err(), "the signature was changed");
    }
}

#[test]
fn a_twin_that_joserfc_signed_verifies_in_its_context_alone() {
    let mut peer = Python::objects();
    for (algorithm, name) in [(BOTH[0], "EdDSA"), (BOTH[0], "Ed25519"), (BOTH[1], "ES256")] {
        let mut device = Device::new(algorithm);
        let key_id = device.sealer().key_id(SEQUENCE);
        let context = reading_context(&device.identity, SEQUENCE, audience());
        let header = json!({
            "alg": name, "crit": [jws::CONTEXT], "kid": hex::encode(key_id.as_bytes()),
            jws::CONTEXT: base64url::encode(&context),
        });
        let question = json!({
            "algorithm_text": device.name(), "key": hex::encode(device.key.expose()),
            "header_text": header.to_string(), "payload": hex::encode(pack().to_json()),
        });
        let answer = peer.ask("jws_sign", question).expect("it signs");
        let text = answer["jws_text"].as_str().expect("a text");
        let reading = jws::open(text).expect("a reading");
        assert_eq!(reading.key_id(), key_id);
        let verified = reading.verify(&device.public, &device.identity, SEQUENCE, audience());
        assert_eq!(Pack::read(verified.expect("it is right").senml()), Ok(pack()));
        assert!(reading.verify(&device.public, &device.identity, SEQUENCE + 1, audience()).is_err());
        let attic = Audience::new("attic").expect("a short name");
        assert!(reading.verify(&device.public, &device.identity, SEQUENCE, attic).is_err());
    }
}

#[test]
fn kpn_senml_reads_what_is_written_here() {
    let mut peer = Python::objects();
    let json = r#"[{"bn":"dev:","bt":1763000000.5,"n":"t","u":"Cel","v":21.5},{"n":"label","vs":"Raum é"},
                   {"n":"open","vb":false},{"n":"count","v":-7}]"#;
    let pack = Pack::read(json.as_bytes()).expect("a pack");
    let question = json!({"name_text": "dev:", "form_text": "json", "pack": hex::encode(pack.to_json())});
    let answer = peer.ask("senml_read", question).expect("it reads");
    assert_eq!(answer["records"], json!([["t", 21.5], ["label", "Raum é"], ["open", false], ["count", -7]]));

    // It takes no decimal fractions.
    let mut whole = pack;
    whole.records[0].base_time = Some(Number::integer(1_763_000_000));
    whole.records[0].value = Some(Value::Number(Number::integer(21)));
    let question = json!({"name_text": "dev:", "form_text": "cbor", "pack": hex::encode(whole.to_cbor())});
    let answer = peer.ask("senml_read", question).expect("it reads");
    assert_eq!(answer["records"], json!([["t", 21], ["label", "Raum é"], ["open", false], ["count", -7]]));
}

#[test]
fn what_kpn_senml_writes_is_read_and_resolved_here() {
    let mut peer = Python::objects();
    for form in ["json", "cbor"] {
        let question = json!({
            "name_text": "dev:", "form_text": form, "time": 1_763_000_000.5,
            "records": [["t", 21.3, "Cel"], ["label", "Raum é", null], ["open", true, null]],
        });
        let pack = bytes(&peer.ask("senml_write", question).expect("it writes"), "pack");
        let resolved = Pack::read(&pack).expect("SenML").resolve(Number::ZERO).expect("valid SenML");
        assert_eq!(
            resolved.to_pack().to_json(),
            r#"[{"n":"dev:t","u":"Cel","t":1763000000.5,"v":21.3},"#.to_owned()
                + r#"{"n":"dev:label","t":1763000000.5,"vs":"Raum é"},"#
                + r#"{"n":"dev:open","t":1763000000.5,"vb":true}]"#,
            "{form}"
        );
    }
}
