//! A device that proves its key by EDHOC registers, updates and configures without signatures, and
//! nobody else does in its place.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use motemix_coap::oscore::edhoc::{Own, OwnSecret};
use motemix_crypto::Secret;
use motemix_neighbour::PrivateKey;
use motemix_object::{Algorithm, Credential, Identity, PublicKey, Signer as _};
use motemix_readings::base64url;
use motemix_readings::keys::DeviceKey;
use serde_json::{Value, json};

use crate::broker::{Broker, code, text};
use crate::python::Python;

/// A device's key, as EDHOC has it and as registrations have it.
pub struct Device {
    scalar: String,
    ccs: Vec<u8>,
    public: PublicKey,
}

impl Device {
    /// Its scalar is these bytes.
    pub fn of(byte: u8) -> Self {
        let key = || PrivateKey::new(Secret::new([byte; 32])).expect("a scalar");
        let own = Own::new(OwnSecret::P256(key()), Some("device"), Some(&[byte])).expect("short");
        let public =
            motemix_object::PrivateKey::new(Algorithm::Es256, Secret::new([byte; 32])).expect("a scalar");
        let public = public.public_key();
        Self { scalar: hex::encode(key().expose()), ccs: own.ccs().to_vec(), public }
    }

    /// The link attribute.
    fn key(&self) -> String {
        let mut room = [0; 64];
        let len = Credential::new(self.public, &[]).and_then(|known| known.encode(&mut room)).expect("room");
        base64url::encode(&room[..len])
    }

    pub fn identity(&self) -> String {
        Identity::of_key(&self.public).to_string()
    }

    /// aiocoap with its key, which knows the broker by the credential that its key file is for.
    fn at(&self, broker: &Broker, data: &Path) -> Python {
        let mut python = Python::device();
        let question = json!({
            "base": broker.base, "key": self.scalar, "own": hex::encode(&self.ccs),
            "peer": hex::encode(credential_of(broker, data)),
        });
        python.ask("introduce", question).expect("a client");
        python
    }
}

/// The broker's credential, of which it has said the identity.
fn credential_of(broker: &Broker, data: &Path) -> Vec<u8> {
    let mut key = DeviceKey::load(data.join("broker-es256.key")).expect("the broker made it");
    let said = (key.identity().to_string(), "es256".to_owned());
    assert!(broker.identities.contains(&said), "{:?}", broker.identities);
    let secret = PrivateKey::new(Secret::new(*key.signer().expose())).expect("a scalar");
    Own::new(OwnSecret::P256(secret), Some("motemix broker"), Some(&[0])).expect("short").ccs().to_vec()
}

pub fn links(device: &Device) -> Value {
    let links = format!("</t>;rt=temperature;key=\"{}\"", device.key());
    json!({ "format": 40, "payload": hex::encode(links) })
}

#[test]
fn a_device_that_has_proven_its_key_registers_updates_and_observes_and_a_stranger_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let broker = Broker::start(&data);
    let device = Device::of(0x21);
    let mut at_home = device.at(&broker, &data);

    let registered =
        broker.ask(&mut at_home, "POST", "/rd?ep=shed&base=coap://[2001:db8::1]", links(&device));
    assert_eq!((code(&registered), &registered["is_protected"]), ("2.01", &json!(true)));
    let place = format!("/{}", registered["path"].as_str().expect("a place"));

    // Somebody else has proven another key, which is no help.
    let mut elsewhere = Device::of(0x22).at(&broker, &data);
    let refused = broker.ask(&mut elsewhere, "POST", &format!("{place}?lt=60"), json!({}));
    assert_eq!((code(&refused), &refused["is_protected"]), ("4.01", &json!(true)));
    assert_eq!(code(&broker.ask(&mut elsewhere, "DELETE", &place, json!({}))), "4.01");
    let taken = broker.ask(&mut elsewhere, "POST", "/rd?ep=shed", links(&Device::of(0x22)));
    assert_eq!(code(&taken), "4.03");
    // Whoever proves nothing at all fares no better.
    let mut nobody = Python::device();
    assert_eq!(code(&broker.ask(&mut nobody, "DELETE", &place, json!({}))), "4.01");

    // The look-up that the device observes shows the update, under protection.
    let watched = json!({ "method": "GET", "uri": format!("{}/rd-lookup/ep?ep=shed", broker.base) });
    let before = at_home.ask("observe", watched).expect("it observes");
    assert_eq!(before["is_protected"], json!(true));
    assert!(text(&before).contains("[2001:db8::1]"), "{}", text(&before));
    let moved = broker.ask(&mut at_home, "POST", &format!("{place}?base=coap://[2001:db8::2]"), json!({}));
    assert_eq!(code(&moved), "2.04");
    let after = at_home.ask("notified", json!({})).expect("it is told");
    assert_eq!(after["is_protected"], json!(true));
    assert!(text(&after).contains("[2001:db8::2]"), "{}", text(&after));

    assert_eq!(code(&broker.ask(&mut at_home, "DELETE", &place, json!({}))), "2.02");
}

#[test]
fn whoever_looks_at_the_page_sees_what_was_refused_and_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let mut broker = Broker::start_with(&data, &["--page", "127.0.0.1:0"]);
    let mut owner = Device::of(0x26).at(&broker, &data);
    // {0: "room", 2: "core.ps.data"}
    let topic = json!({ "format": 606, "payload": "a20064726f6f6d026c636f72652e70732e64617461" });
    let created = broker.ask(&mut owner, "POST", "/ps", topic);
    assert_eq!(code(&created), "2.01", "{}", text(&created));
    let id = created["path"].as_str().and_then(|path| path.strip_prefix("ps/")).expect("a place").to_owned();

    let value = json!({ "format": 0, "payload": hex::encode("21") });
    let place = format!("/ps/data/{id}");
    for _ in 0..2 {
        let refused = broker.ask(&mut Python::device(), "PUT", &place, value.clone());
        assert_eq!(code(&refused), "4.01", "{}", text(&refused));
    }
    assert_eq!(code(&broker.ask(&mut owner, "PUT", &place, value)), "2.01");

    let [counters, topics] =
        <[Value; 2]>::try_from(broker.page(&["/api/counters", "/api/topics"])).expect("two");
    assert_eq!(topics["topics"][0]["refused"]["count"], json!(2), "{topics}");
    assert!(topics["topics"][0]["refused"]["why"].as_str().is_some_and(|why| !why.is_empty()));
    assert_eq!(counters["broker"]["access"], json!(2), "{counters}");
    assert_eq!(counters["broker"]["publications"], json!(1));
    // aiocoap makes a context for each request.
    assert_eq!(counters["edhoc"]["completed"], json!(2));
    assert_eq!(counters["oscore"]["replayed"], json!(0));
    assert!(counters["datagrams"]["received"].as_u64() >= Some(6), "{counters}");
}

#[test]
fn the_broker_keeps_its_identity_and_its_keys_to_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let identities = Broker::start(&data).identities.clone();
    assert_eq!(Broker::start(&data).identities, identities);
    for (identity, algorithm) in identities {
        let file = data.join(format!("broker-{algorithm}.key"));
        assert_eq!(fs::metadata(&file).expect("the key").permissions().mode() & 0o777, 0o600);
        assert_eq!(DeviceKey::load(&file).expect("its form").identity().to_string(), identity);
    }
}

#[test]
fn after_a_restart_a_device_proves_its_key_again_and_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let device = Device::of(0x23);
    let broker = Broker::start(&data);
    let mut client = device.at(&broker, &data);
    let registered = broker.ask(&mut client, "POST", "/rd?ep=gate", links(&device));
    assert_eq!(code(&registered), "2.01");
    let place = format!("/{}", registered["path"].as_str().expect("a place"));
    drop(broker);

    let broker = Broker::start(&data);
    let mut client = device.at(&broker, &data);
    assert_eq!(code(&broker.ask(&mut client, "POST", &format!("{place}?lt=60"), json!({}))), "2.04");
}

#[test]
fn whom_the_operator_has_not_listed_gets_no_context() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let config = folder.path().join("broker.toml");
    let listed = Device::of(0x24);
    fs::write(&config, format!("[oscore]\ndevices = [\"{}\"]\n", listed.identity())).expect("a file");
    let broker = Broker::start_with(&data, &["--config", config.to_str().expect("UTF-8")]);
    let registered = broker.ask(&mut listed.at(&broker, &data), "POST", "/rd?ep=gate", links(&listed));
    assert_eq!(code(&registered), "2.01");
    let question = json!({ "method": "GET", "uri": format!("{}/rd-lookup/ep", broker.base) });
    Device::of(0x25).at(&broker, &data).ask("ask", question).expect_err("it is not listed");
}
