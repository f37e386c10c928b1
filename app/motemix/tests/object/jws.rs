//! The twin of a reading for those who read JSON: in files, through pipes, and with joserfc.

use super::Desk;
use crate::program::Run;
use crate::python::{Python, bytes};
use motemix_object::{Algorithm, Audience, Signer as _, reading_context};
use motemix_readings::jws::CONTEXT;
use motemix_readings::keys::DeviceKey;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

fn registered() -> Desk {
    let desk = Desk::new();
    desk.authorise();
    desk.message("registration", &["register", "@mote.key"]);
    desk.verify("registration", &[]).succeeds();
    desk
}

#[test]
fn a_twin_is_believed_once_and_shares_its_numbers_with_the_compact_form() {
    let desk = registered();
    desk.message("twin", &["sign", "@mote.key", "@reading.cbor", "--format", "jws"]);
    let text = fs::read_to_string(desk.path("twin")).unwrap();
    assert_eq!((text.matches('.').count(), text.lines().count()), (2, 1), "{text}");
    desk.message("compact", &["sign", "@mote.key", "@reading.cbor", "--format", "cose"]);
    let said = desk.verify("twin", &[]).succeeds();
    assert!(said.ends_with(" (reading 0): t 21.5 Cel\n"), "{said}");
    desk.verify("twin", &[]).fails(1, &["not believed: cellar temperature", "it arrived before"]);
    let said: Value = serde_json::from_str(&desk.verify("compact", &["--json"]).succeeds()).unwrap();
    assert_eq!((&said["sequence"], &said["senml"][0]["v"]), (&1.into(), &21.5.into()));
}

#[test]
fn a_twin_passes_through_pipes_on_an_anonymous_path() {
    let desk = registered();
    let program = motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix"));
    let (key, devices) = (desk.text("mote.key"), desk.text("devices.db"));
    for raw in ["", "--raw"] {
        let command = format!(
            "echo '[{{\"n\":\"t\",\"u\":\"Cel\",\"v\":21.10}}]' \
             | '{program}' object sign '{key}' --format jws --path anonymous --audience plant {raw} \
             | '{program}' object verify --devices '{devices}' --audience plant -"
        );
        let said = Run::by(Command::new("bash").args(["-o", "pipefail", "-c", &command])).succeeds();
        assert!(said.ends_with("t 21.1 Cel\n"), "{said}");
    }
}

#[test]
fn a_changed_twin_and_one_for_somebody_else_are_not_believed() {
    let desk = registered();
    let sign = ["sign", "@mote.key", "@reading.cbor", "--format", "jws", "--audience", "attic"];
    desk.message("twin", &sign);
    desk.verify("twin", &["--audience", "plant"]).fails(1, &["the signature does not hold"]);
    let text = fs::read_to_string(desk.path("twin")).unwrap();
    let (signed, signature) = text.rsplit_once('.').unwrap();
    let first = if signature.starts_with('A') { "B" } else { "A" };
    fs::write(desk.path("changed"), format!("{signed}.{first}{}", &signature[1..])).unwrap();
    desk.verify("changed", &["--audience", "attic"]).fails(1, &["the signature does not hold"]);
    for (broken, reason) in [(signed, "three"), ("eyJhbGciOiJub25lIn0..", "JWS"), ("ey!.e.e", "base64url")] {
        fs::write(desk.path("broken"), broken).unwrap();
        let reason = if reason == "three" { "header, payload and signature" } else { reason };
        desk.verify("broken", &["--audience", "attic"]).fails(2, &["no signed reading as JWS", reason]);
    }
    // None of these has used up the number.
    desk.verify("twin", &["--audience", "attic"]).succeeds();
}

#[test]
fn joserfc_verifies_what_the_program_signs_and_the_program_what_joserfc_signs() {
    let mut peer = Python::objects();
    for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
        let desk = Desk::new();
        fs::remove_file(desk.path("mote.key")).unwrap();
        let mut key = DeviceKey::create(desk.path("mote.key"), algorithm, &[]).unwrap();
        desk.authorise();
        desk.message("registration", &["register", "@mote.key"]);
        desk.verify("registration", &[]).succeeds();

        desk.message("twin", &["sign", "@mote.key", "@reading.cbor", "--format", "jws"]);
        let text = fs::read_to_string(desk.path("twin")).unwrap();
        let public = hex::encode(key.signer().public_key().as_bytes());
        let mut verify = |text: &str| {
            let question = json!({
                "algorithm_text": algorithm.name(), "key": public, "jws_text": text, "understood": true,
            });
            peer.ask("jws_verify", question)
        };
        let payload = bytes(&verify(text.trim()).expect("it is right"), "payload");
        assert_eq!(payload, br#"[{"bt":1763000000,"n":"t","u":"Cel","v":21.5}]"#);
        desk.verify("twin", &[]).succeeds();

        // Number 1 of the same device, by the other's hand.
        let identity = key.identity();
        let context = reading_context(&identity, 1, Audience::default());
        let kid = format!("{}0001", hex::encode(&identity.as_bytes()[..4]));
        let seed = fs::read_to_string(desk.path("mote.key")).unwrap();
        let seed = seed.lines().last().unwrap().strip_prefix("seed ").unwrap().to_owned();
        let header = json!({
            "alg": if algorithm == Algorithm::Ed25519 { "EdDSA" } else { "ES256" },
            "crit": [CONTEXT], "kid": kid, CONTEXT: base64url(&context),
        });
        let question = json!({
            "algorithm_text": algorithm.name(), "key": seed, "header_text": header.to_string(),
            "payload": hex::encode(br#"[{"n":"t","u":"Cel","v":-7.25}]"#),
        });
        let answer = peer.ask("jws_sign", question).expect("it signs");
        fs::write(desk.path("theirs"), answer["jws_text"].as_str().unwrap()).unwrap();
        desk.verify("theirs", &["--audience", "attic"]).fails(1, &["the signature does not hold"]);
        let said = desk.verify("theirs", &[]).succeeds();
        assert!(
            said.ends_with(" (reading 1): t -7.25 Cel\n") || said.ends_with(" (reading 1): t -7.25\n"),
            "{said}"
        );
    }
}

/// RFC 4648, 5, without padding.
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digits = bytes.chunks(3).flat_map(|chunk| {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        (0..=chunk.len()).map(move |at| ALPHABET[(bits >> (18 - 6 * at)) as usize & 63] as char)
    });
    digits.collect()
}
