//! RFC 8613, appendix C, each value of it: `vectors/oscore.json` has them under the RFC's own
//! names.

use motemix_time::Instant;
use serde_json::Value;

use super::context::{Context, Preshared};
use super::contexts::{Contexts, Settings};
use super::exchange::Asked;
use super::keys::{self, Id, Numbered, PartialIv};
use super::message::{Message, number};
use super::numbers::{NotStored, NumberStore, Numbers};

const NOW: Instant = Instant::from_micros(1);

struct AnyNumber;

impl NumberStore for AnyNumber {
    fn reserve(&mut self, _: &str, _: u64) -> Result<(), NotStored> {
        Ok(())
    }
}

fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/oscore.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the file")).expect("JSON")
}

fn bytes(case: &Value, name: &str) -> Vec<u8> {
    let text = case[name].as_str().unwrap_or_else(|| panic!("{name} in {case}"));
    hex::decode(text).expect("hex")
}

/// The side that a section of C.1 to C.3 is about, from some number on.
fn context(case: &Value, next: u64) -> Context {
    let optional = |name: &str| case.get(name).map(|_| bytes(case, name));
    let id_context = optional("ID Context");
    let given = Preshared {
        name: "vector",
        master_secret: &bytes(case, "Master Secret"),
        master_salt: &optional("Master Salt").unwrap_or_default(),
        id_context: id_context.as_deref(),
        sender: &bytes(case, "Sender ID"),
        recipient: &bytes(case, "Recipient ID"),
    };
    Context::preshared(NOW, &given, Numbers::restored(next, 1), None).expect("sound parameters")
}

/// A CoAP message with a token of 4 bytes.
fn message(datagram: &[u8]) -> Message {
    assert_eq!(datagram[0] & 0x0f, 4, "a token of 4 bytes");
    Message::from_bytes(&[&datagram[1..2], &datagram[8..]].concat()).expect("options")
}

fn datagram(like: &[u8], message: &Message) -> Vec<u8> {
    let bytes = message.to_bytes();
    [&like[..1], &bytes[..1], &like[2..8], &bytes[1..]].concat()
}

#[test]
fn keys_and_nonces_are_those_of_c_1_to_c_3() {
    let all = vectors();
    for section in ["C.1.1", "C.1.2", "C.2.1", "C.2.2", "C.3.1", "C.3.2"] {
        let case = &all[section];
        let context = context(case, 0);
        let id_context = case.get("ID Context").map(|_| bytes(case, "ID Context"));
        for (name, id, is_key) in [
            ("info (for Sender Key)", context.sender, true),
            ("info (for Recipient Key)", context.recipient, true),
            ("info (for Common IV)", Id::default(), false),
        ] {
            assert_eq!(
                keys::info(id, id_context.as_deref(), is_key),
                Some(bytes(case, name)),
                "{section} {name}"
            );
        }
        assert_eq!(context.keys.sender.expose()[..], bytes(case, "Sender Key"), "{section}");
        assert_eq!(context.keys.recipient.expose()[..], bytes(case, "Recipient Key"), "{section}");
        assert_eq!(context.keys.common_iv.expose()[..], bytes(case, "Common IV"), "{section}");
        for (name, by) in [("sender nonce", context.sender), ("recipient nonce", context.recipient)] {
            assert_eq!(
                context.keys.nonce(&Numbered { by, number: 0 })[..],
                bytes(case, name),
                "{section} {name}"
            );
        }
    }
}

#[test]
fn requests_are_those_of_c_4_to_c_6_and_open_at_the_server() {
    let all = vectors();
    for (section, client, server) in
        [("C.4", "C.1.1", "C.1.2"), ("C.5", "C.2.1", "C.2.2"), ("C.6", "C.3.1", "C.3.2")]
    {
        let case = &all[section];
        let next = case["Sender Sequence Number"].as_u64().expect("a number");
        let sender = context(&all[client], next);
        let request = Numbered { by: sender.sender, number: next };
        assert_eq!(PartialIv::new(next).as_slice(), bytes(case, "Partial IV"));
        assert_eq!(sender.sender.as_bytes(), bytes(case, "kid"));
        assert_eq!(keys::associated(&request), bytes(case, "AAD"));
        assert_eq!(sender.keys.nonce(&request)[..], bytes(case, "nonce"));
        assert_eq!(sender.keys.sender.expose()[..], bytes(case, "encryption key"));

        let plain = bytes(case, "Unprotected CoAP request");
        let protected = bytes(case, "Protected CoAP request (OSCORE message)");
        let mut contexts = Contexts::new(Settings::default());
        let id = contexts.insert(NOW, sender).expect("a place");
        let (outer, _) = contexts.protect_request(NOW, id, message(&plain), &mut AnyNumber).expect("sent");
        assert_eq!(outer.option(number::OSCORE), Some(&bytes(case, "OSCORE option value")[..]));
        assert_eq!(outer.payload, bytes(case, "ciphertext"));
        assert_eq!(hex::encode(datagram(&plain, &outer)), hex::encode(&protected), "{section}");

        let mut contexts = Contexts::new(Settings::default());
        contexts.insert(NOW, context(&all[server], 0)).expect("a place");
        let (inner, _) =
            contexts.unprotect_request(NOW, &message(&protected), &mut AnyNumber).expect("the client's");
        assert_eq!(datagram(&protected, &inner), plain);
    }
}

#[test]
fn responses_are_those_of_c_7_and_c_8_and_open_at_the_client() {
    let all = vectors();
    let request = message(&bytes(&all["C.4"], "Protected CoAP request (OSCORE message)"));
    for (section, shares_nonce) in [("C.7", true), ("C.8", false)] {
        let case = &all[section];
        let mut contexts = Contexts::new(Settings::default());
        contexts.insert(NOW, context(&all["C.1.2"], 0)).expect("a place");
        let (_, mut exchange) =
            contexts.unprotect_request(NOW, &request, &mut AnyNumber).expect("the client's");
        exchange.may_share_nonce = shares_nonce;
        let plain = bytes(case, "Unprotected CoAP response");
        assert_eq!(message(&plain).to_bytes(), bytes(case, "plaintext"));
        let protected = bytes(case, "Protected CoAP response (OSCORE message)");
        let outer = contexts.protect_response(&mut exchange, message(&plain), &mut AnyNumber).expect("sent");
        assert_eq!(hex::encode(datagram(&plain, &outer)), hex::encode(&protected), "{section}");
        assert_eq!(outer.option(number::OSCORE), Some(&bytes(case, "OSCORE option value")[..]));

        let mut contexts = Contexts::new(Settings::default());
        let id = contexts.insert(NOW, context(&all["C.1.1"], 21)).expect("a place");
        let mut asked = Asked::new(id, 20, false);
        let inner = contexts.unprotect_response(NOW, &mut asked, &message(&protected));
        assert_eq!(datagram(&protected, &inner.expect("the server's")), plain);
    }
}
