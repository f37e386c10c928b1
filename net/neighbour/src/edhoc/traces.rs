//! Each value between the messages of RFC 9529's traces. `tests/edhoc` runs the messages
//! themselves.

extern crate std;

use std::path::Path;
use std::string::String;
use std::vec::Vec;
use std::{format, fs, println};

use motemix_crypto::{Portable, Secret};
use serde_json::Value;

use super::authentication::{INITIATOR, RESPONDER, Statement};
use super::cbor::Writer;
use super::cipher_suite::Ed25519Key;
use super::message::{Layout, MAX_PLAINTEXT_LEN, Proof, apply_keystream_2, emit_parts};
use super::schedule::{Label, Prk, Transcript};
use super::*;
use crate::PrivateKey;
use crate::suite::{Aes as _, P256, digest};

struct Trace(Value);

impl Trace {
    fn read(name: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/edhoc.json");
        let all: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(all["format"], "motemix-edhoc-vectors/1");
        Self(all[name].clone())
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        hex::decode(self.0[name].as_str().unwrap_or_else(|| panic!("{name}"))).unwrap()
    }

    fn array<const N: usize>(&self, name: &str) -> [u8; N] {
        self.bytes(name).try_into().unwrap()
    }

    fn assert(&self, name: &str, found: impl AsRef<[u8]>) {
        let found: String = hex::encode(found);
        assert_eq!(self.0[name].as_str(), Some(&*found), "{name}");
        println!("{name}: {found}");
    }

    fn credential<'a>(&self, bytes: &'a [u8], method: Method) -> Credential<'a> {
        let _ = self;
        match method {
            Method::Signatures => Credential::certificate(bytes).unwrap(),
            Method::StaticKeys => Credential::ccs(bytes).unwrap(),
        }
    }

    /// What a side proves with `message` 2 or 3: the next key, the plaintext and the next
    /// transcript hash.
    fn proves<S: CipherSuite>(
        &self,
        message: usize,
        suite: &mut S,
        own: &OwnKey<S>,
        statement: &Statement,
        peer_ephemeral: &[u8; 32],
    ) -> (Prk, Vec<u8>, Transcript) {
        let (key, method) = match own {
            OwnKey::Static(private) => {
                let (salt, value, shared) =
                    [(Label::Salt3e2m, "SALT_3e2m", "G_RX"), (Label::Salt4e3m, "SALT_4e3m", "G_IY")]
                        [message - 2];
                let salt: Secret<32> = statement.prk.derive(salt, &[&statement.transcript.0]).unwrap();
                self.assert(value, salt.expose());
                let peer = S::from_coordinate(peer_ephemeral).unwrap();
                self.assert(shared, suite.agree(private, &peer).unwrap().expose());
                (None, Method::StaticKeys)
            }
            OwnKey::Signing(_) => (Some(statement.prk.duplicate()), Method::Signatures),
        };
        let mut rng = chacha20::ChaCha20Rng::from_seed([0; 32]);
        let (prk, proof) = statement.prove(own, peer_ephemeral, suite, &mut rng).unwrap();
        self.assert(["PRK_3e2m", "PRK_4e3m"][message - 2], prk.expose());
        if let Some(key) = key {
            let mac: Secret<32> = statement.mac(&key).unwrap();
            self.assert(&format!("MAC_{message}"), mac.expose());
            let signed = statement.with_signed(&mac, |signed| Ok(signed.concat())).unwrap();
            self.assert(&format!("Message to be signed {message} (CBOR Data Item)"), signed);
        } else {
            let mac: Secret<8> = statement.mac(&prk).unwrap();
            self.assert(&format!("MAC_{message}"), mac.expose());
        }
        self.assert(&format!("Signature_or_MAC_{message}"), &proof.bytes[..Proof::len_in(method)]);
        let mut room = [0; MAX_PLAINTEXT_LEN];
        let mut writer = Writer::new(&mut room);
        statement.connection.iter().for_each(|piece| writer.raw(piece).unwrap());
        emit_parts(&mut writer, statement.id, &proof, statement.ead).unwrap();
        let plaintext = writer.finish().to_vec();
        self.assert(&format!("PLAINTEXT_{message} (CBOR Sequence)"), &plaintext);
        let transcript = statement.transcript.and(&plaintext, statement.credential);
        self.assert(&format!("TH_{}", message + 1), transcript.0);
        (prk, plaintext, transcript)
    }

    fn follow<S: CipherSuite>(
        &self,
        method: Method,
        suite: &mut S,
        [x, y]: [S::PrivateKey; 2],
        [initiator, responder]: [OwnKey<S>; 2],
    ) {
        let [g_x, g_y] = [&x, &y].map(|private| suite.coordinate(private).expect("in software"));
        self.assert("G_X", g_x);
        self.assert("G_Y", g_y);
        let message_1 = digest(&[&self.bytes("message_1 (CBOR Sequence)")]);
        self.assert("H(message_1)", message_1);
        let th_2 = Transcript::of_ephemerals(&g_y, &message_1);
        self.assert("TH_2", th_2.0);
        let shared = suite.agree(&x, &S::from_coordinate(&g_y).unwrap()).unwrap();
        self.assert("G_XY", shared.expose());
        let prk_2e = Prk::of_ephemerals(&shared, &th_2);
        self.assert("PRK_2e", prk_2e.expose());

        let ids = ["I", "R"].map(|side| self.bytes(&format!("ID_CRED_{side} (CBOR Data Item)")));
        let [id_i, id_r] = ids.each_ref().map(|id| CredentialId::from_header(id).unwrap());
        let credentials = ["I", "R"].map(|side| {
            let name = if method == Method::Signatures { "" } else { " (CBOR Data Item)" };
            self.bytes(&format!("CRED_{side}{name}"))
        });
        let [cred_i, cred_r] = credentials.each_ref().map(|bytes| self.credential(bytes, method));

        let connection = ConnectionId::new(&self.bytes("C_R")).unwrap();
        let mut head = None;
        let statement = Statement {
            labels: RESPONDER,
            prk: &prk_2e,
            transcript: &th_2,
            connection: connection.pieces(&mut head).unwrap(),
            id: id_r,
            credential: cred_r,
            ead: Ead::NONE,
        };
        self.assert("C_R (CBOR Data Item)", statement.connection.concat());
        let (prk_3e2m, plaintext_2, th_3) = self.proves(2, suite, &responder, &statement, &g_x);
        let mut keystream = std::vec![0; plaintext_2.len()];
        prk_2e.expand(Label::Keystream2 as u16, &[&th_2.0], &mut keystream).unwrap();
        self.assert("KEYSTREAM_2", keystream);
        let mut ciphertext_2 = plaintext_2;
        apply_keystream_2(&prk_2e, &th_2, &mut ciphertext_2).unwrap();
        self.assert("CIPHERTEXT_2", ciphertext_2);

        let statement = Statement {
            labels: INITIATOR,
            prk: &prk_3e2m,
            transcript: &th_3,
            connection: [&[], &[]],
            id: id_i,
            credential: cred_i,
            ead: Ead::NONE,
        };
        let (prk_4e3m, mut text, th_4) = self.proves(3, suite, &initiator, &statement, &g_y);
        self.assert("A_3 (CBOR Data Item)", th_3.associated_data());
        let (key, nonce) = prk_3e2m.key_and_nonce([Label::Key3, Label::Nonce3], &th_3).unwrap();
        self.assert("K_3", key.expose());
        self.assert("IV_3", nonce.expose());
        let tag = suite.aes().seal(&key, nonce.expose(), &th_3.associated_data(), &mut text).unwrap();
        self.assert("CIPHERTEXT_3", [&text[..], &tag].concat());
        self.assert("A_4 (CBOR Data Item)", th_4.associated_data());
        let (key, nonce) = prk_4e3m.key_and_nonce([Label::Key4, Label::Nonce4], &th_4).unwrap();
        self.assert("K_4", key.expose());
        self.assert("IV_4", nonce.expose());
        let tag = suite.aes().seal(&key, nonce.expose(), &th_4.associated_data(), &mut []).unwrap();
        self.assert("CIPHERTEXT_4", tag);

        let out = prk_4e3m.derive_prk(Label::Out, &[&th_4.0]).unwrap();
        self.assert("PRK_out", out.expose());
        self.assert("PRK_exporter", out.derive_prk(Label::Exporter, &[]).unwrap().expose());
        let context = self.bytes("context for KeyUpdate");
        let out = out.derive_prk(Label::Update, &[&context]).unwrap();
        self.assert("PRK_out after KeyUpdate", out.expose());
        let exporter = out.derive_prk(Label::Exporter, &[]).unwrap();
        self.assert("PRK_exporter after KeyUpdate", exporter.expose());
    }
}

use chacha20::rand_core::SeedableRng;

#[test]
fn every_value_of_the_trace_with_signatures_is_the_rfcs() {
    let trace = Trace::read("method_0_suite_0");
    let secret = |name| Secret::new(trace.array(name));
    let [initiator, responder] = ["SK_I", "SK_R"].map(|name| Ed25519Key::new(secret(name)));
    trace.assert("PK_I", initiator.verifying_key());
    trace.assert("PK_R", responder.verifying_key());
    let keys = [OwnKey::Signing(&initiator), OwnKey::Signing(&responder)];
    let suite = &mut Suite0::<Portable>::new();
    trace.follow(Method::Signatures, suite, [secret("X"), secret("Y")], keys);
}

#[test]
fn every_value_of_the_trace_with_static_keys_is_the_rfcs() {
    let trace = Trace::read("method_3_suite_2");
    let private = |name| PrivateKey::new(Secret::new(trace.array(name))).unwrap();
    let [initiator, responder] = ["SK_I", "SK_R"].map(private);
    let suite = &mut Suite2(P256);
    trace.assert("PK_I_x", suite.coordinate(&initiator).expect("in software"));
    trace.assert("PK_R_x", suite.coordinate(&responder).expect("in software"));
    for (side, private) in [("I", &initiator), ("R", &responder)] {
        let bytes = trace.bytes(&format!("CRED_{side} (CBOR Data Item)"));
        let ccs = Ccs::parse(&bytes).unwrap();
        assert_eq!(
            ccs.key,
            CoseKey::p256(&crate::Suite::public_key(&mut P256, private).expect("in software"))
        );
        // The RFC's credentials are the deterministic ones.
        assert_eq!(ccs.emit(&mut [0; 200]), Ok(&bytes[..]));
    }
    let keys = [OwnKey::Static(&initiator), OwnKey::Static(&responder)];
    trace.follow(Method::StaticKeys, suite, [private("X"), private("Y")], keys);
}

#[test]
fn a_plaintext_that_names_a_credential_or_proves_it_in_another_form_is_refused() {
    let all = Trace::read("invalid");
    let wrong: Vec<_> =
        all.0.as_array().unwrap().iter().filter(|case| case["message"] == "PLAINTEXT_2").collect();
    assert_eq!(wrong.len(), 3);
    let layout = |bytes: &[u8]| {
        let mut reader = cbor::Reader::new(bytes);
        ConnectionId::parse(&mut reader)?;
        Layout::parse(reader, bytes.len(), Method::StaticKeys, &[])
    };
    for case in wrong {
        let bytes = hex::decode(case["bytes"].as_str().unwrap()).unwrap();
        assert_eq!(layout(&bytes).err(), Some(Refused::Malformed), "{}", case["why"]);
    }
    let right = Trace::read("method_3_suite_2").bytes("PLAINTEXT_2 (CBOR Sequence)");
    assert_eq!(layout(&right).unwrap().id(&right), CredentialId::Kid(&[0x32]));
}
