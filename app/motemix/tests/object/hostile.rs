//! What devices and files say that mean harm to whoever reads it, and what is not signed.

use super::Desk;
use crate::program::{Network, motemix};
use motemix_object::Algorithm;
use motemix_os::store::Inbox;
use motemix_readings::Devices;
use motemix_readings::keys::DeviceKey;
use std::fs;
use std::time::Duration;

/// Moves the cursor, begins a line that looks like another device's, and turns the writing round.
const HOSTILE: &str = r#"[{"n":"t","vs":"\u001b[2J\nattic 00112233 (reading 9): t 99 Cel \u202e\u0007"}]"#;

pub fn is_one_harmless_line(said: &str) {
    let line = said.strip_suffix('\n').unwrap();
    assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
}

#[test]
fn what_a_reading_says_reaches_no_terminal_s_own_language() {
    let desk = Desk::new();
    desk.authorise();
    desk.message("registration", &["register", "@mote.key"]);
    desk.verify("registration", &[]).succeeds();
    fs::write(desk.path("hostile.json"), HOSTILE).unwrap();
    for format in ["cose", "jws"] {
        desk.message("reading", &["sign", "@mote.key", "@hostile.json", "--format", format]);
        is_one_harmless_line(&desk.verify("reading", &[]).succeeds());
    }
    // Nor does what an installer's list says, which somebody else may have written.
    let list = format!("identity,place,purpose\n{},\"cel\x1b[1mlar\nx\",\u{202e}t\n", desk.identity());
    fs::write(desk.path("kit.csv"), list).unwrap();
    desk.object(&["authorise", "--devices", "@devices.db", "@kit.csv"]).succeeds();
    desk.verify("registration", &[]).fails(1, &["not believed: cel\\u{1b}[1mlar, x \\u{202e}t"]);
    desk.message("registration", &["register", "@mote.key"]);
    is_one_harmless_line(&desk.verify("registration", &[]).succeeds());
}

#[test]
fn a_key_that_everybody_can_compute_from_a_signature_signs_nothing_anonymous() {
    let desk = Desk::new();
    DeviceKey::create(desk.path("es256.key"), Algorithm::Es256, &[]).unwrap();
    for format in ["cose", "jws"] {
        let words = ["sign", "@es256.key", "@reading.cbor", "--format", format, "--path", "anonymous"];
        desk.object(&words).fails(2, &["es256.key", "ES256", "ed25519", "--path direct"]);
    }
    desk.object(&["sign", "@es256.key", "@reading.cbor"]).succeeds();
}

#[test]
fn what_became_of_messages_is_forgotten_with_them() {
    let network = Network::init(&[]);
    let config = network.config("receiver");
    let config = config.to_str().unwrap();
    let state = network.path("nodes/receiver/state");
    fs::create_dir_all(&state).unwrap();
    let mut inbox = Inbox::open(state.join("inbox.db")).unwrap();
    for message in 0..5_u8 {
        inbox.accept([message; 16], Duration::from_secs(1), &[0xff, message]).unwrap();
    }
    inbox.accept([5; 16], Duration::from_secs(1), b"all is well").unwrap();
    let devices = network.path("devices.db");
    let devices = devices.to_str().unwrap();
    motemix(["object", "authorise", "--devices", devices, "--first-use", "0"]).succeeds();
    let verify = || motemix(["inbox", "--config", config, "--verify", "--devices", devices]).succeeds();
    let messages = inbox.recent(10).unwrap();
    let noted = || {
        let list = Devices::open(devices).unwrap();
        messages.iter().filter(|message| list.verdict(message).unwrap().is_some()).count()
    };
    let said = verify();
    assert!(said.contains("not believed: it is a text and no signed object"), "{said}");
    assert_eq!(noted(), 6);
    motemix(["inbox", "--config", config, "--keep", "2"]).succeeds();
    verify();
    assert_eq!(noted(), 2, "whoever sends much fills the disk for good");
}
