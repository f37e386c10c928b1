//! A device that signs, and that is registered.

use std::sync::Arc;

use motemix_broker::state::{Link, Registration, RegistrationId};
use motemix_broker::{Change, Moment};
use motemix_crypto::Secret;
use motemix_object::{
    Algorithm, Audience, Credential, Identity, Path, PrivateKey, Reserved, Sealer, Signer as _,
};
use motemix_readings::senml::Pack;

use super::mosquitto::NETWORK;

pub struct Device {
    key: PrivateKey,
    pub identity: Identity,
    credential: Vec<u8>,
}

impl Device {
    pub fn new(seed: u8) -> Self {
        let key = PrivateKey::new(Algorithm::Ed25519, Secret::new([seed; 32])).unwrap();
        let credential = Credential::new(key.public_key(), &[]).unwrap();
        let mut bytes = [0; 128];
        let len = credential.encode(&mut bytes).unwrap();
        let identity = credential.identity().unwrap();
        Self { identity, credential: bytes[..len].to_vec(), key }
    }

    /// Signs SenML that is given in JSON.
    pub fn seal(&mut self, number: u64, senml: &str) -> Vec<u8> {
        let audience = Audience::new(NETWORK).unwrap();
        let mut sealer =
            Sealer { signer: &mut self.key, identity: self.identity, path: Path::Direct, audience };
        let pack = Pack::from_json(senml.as_bytes()).unwrap().to_cbor();
        let mut out = vec![0; 512];
        let len = sealer.seal(Reserved::promised(number), &pack, &mut out).unwrap();
        out.truncate(len);
        out
    }

    pub fn registration_id(&self) -> String {
        format!("{:.8}", self.identity)
    }

    pub fn registration(&self) -> Change {
        let key = base64url(&self.credential);
        let registration = Registration {
            endpoint: "air-of-room-3".into(),
            sector: None,
            base: "coap://[2001:db8::1]".into(),
            base_stated: true,
            expires: Moment::from_millis(4_102_444_800_000),
            lifetime: 90_000,
            attributes: Vec::new(),
            links: vec![Link::new("/t").with("rt", "temperature").with("key", &key)],
            device: Some(self.identity),
            owner: None,
            registrant: None,
        };
        Change::Registration(RegistrationId(self.registration_id().into()), Some(Arc::new(registration)))
    }
}

fn base64url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..=group.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}
