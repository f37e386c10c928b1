//! EDHOC with lakers in aiocoap: method 3, suite 2.

use std::thread;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_coap::Code;
use motemix_coap::oscore::edhoc::{self, Accepted, DeviceKey, Own, OwnSecret, Policy, Responder, begin};
use motemix_coap::oscore::{Contexts, Layer, NothingStored, Settings};
use motemix_neighbour::PrivateKey;
use motemix_neighbour::edhoc::{CredentialId, Method};
use serde_json::{Value, json};

use crate::preshared::{NOW, Server, ask, get, observe, port, put, visit};
use crate::python::Python;
use crate::wire::Wire;

/// One of the two: its credential, and its scalar for aiocoap.
pub struct Party {
    pub own: Own,
    scalar: String,
    pub kid: u8,
}

pub fn party(name: &str, kid: u8, by_value: bool, rng: &mut ChaCha20Rng) -> Party {
    let key = PrivateKey::generate(rng);
    let scalar = hex::encode(key.expose());
    let own = Own::new(OwnSecret::P256(key), Some(name), Some(&[kid])).expect("short");
    Party { own: if by_value { own.by_value() } else { own }, scalar, kid }
}

/// Knows one peer, by name and by value.
pub struct Known(pub u8, pub Vec<u8>);

impl Policy for Known {
    fn credential(&mut self, id: &CredentialId<'_>) -> Option<Accepted> {
        let is_it = *id == CredentialId::Kid(&[self.0]) || *id == CredentialId::Ccs(&self.1);
        is_it.then(|| Accepted { ccs: self.1.clone(), is_known: true })
    }
}

pub fn credentials(theirs: &Party, ours: &Party, by_value: bool) -> Value {
    json!({
        "key": theirs.scalar, "own": hex::encode(theirs.own.ccs()), "peer": hex::encode(ours.own.ccs()),
        "by_value": by_value,
    })
}

#[test]
fn we_prove_our_key_to_aiocoap_and_it_proves_its_own() {
    let mut python = Python::under_oscore();
    for (seed, by_value, combined) in [(1, false, true), (2, true, true), (3, false, false), (4, true, false)]
    {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let ours = party("ours", 0x01, by_value, &mut rng);
        let theirs = party("theirs", 0x02, by_value, &mut rng);
        let port = port(&python.ask("serve", credentials(&theirs, &ours, by_value)).expect("it serves"));
        let (mut wire, mut contexts) = (Wire::new(), Contexts::new(Settings::default()));
        let (mut begun, message_1) =
            begin(&ours.own, Method::StaticKeys, &[], (&contexts, &[]), &mut rng).expect("a name");
        let token = wire.ask(port, &message_1);
        let mut policy = Known(theirs.kid, theirs.own.ccs().to_vec());
        let met = begun.meet(&wire.hear(&token), &ours.own, &mut policy, &mut rng).expect("message_2");
        assert_eq!(met.server().key, *theirs.own.key());
        let id = contexts.insert(NOW, met.context(NOW).expect("other names")).expect("a place");
        if combined {
            let (outer, mut asked) =
                contexts.protect_request(NOW, id, put(b"20"), &mut NothingStored).expect("sent");
            let token = wire.ask(port, &met.combined(outer));
            let response = contexts.unprotect_response(NOW, &mut asked, &wire.hear(&token));
            assert_eq!(response.expect("the same keys").code, Code::CHANGED.byte());
        } else {
            let token = wire.ask(port, &met.alone());
            met.confirm(&wire.hear(&token)).expect("message_4");
            let response = ask(&mut contexts, id, &mut wire, port, &put(b"20"));
            assert_eq!(response.code, Code::CHANGED.byte());
        }
        assert_eq!(ask(&mut contexts, id, &mut wire, port, &get()).payload, b"20");
        observe(&mut contexts, id, &mut wire, port, &mut python);
    }
}

#[test]
fn aiocoap_proves_its_key_to_us_and_asks_and_observes() {
    let mut python = Python::under_oscore();
    for (seed, by_value, combined) in [(5, false, true), (6, true, true), (7, false, false), (8, true, false)]
    {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let ours = party("ours", 0x01, by_value, &mut rng);
        let theirs = party("theirs", 0x02, by_value, &mut rng);
        let mut server = Server::new();
        let mut question = credentials(&theirs, &ours, by_value);
        question["port"] = server.port().into();
        question["combined"] = combined.into();
        python.ask("introduce", question).expect("a client");
        let responder = Some(Responder::new(edhoc::Settings::default(), vec![ours.own]));
        let mut policy = Known(theirs.kid, theirs.own.ccs().to_vec());
        let mut layer = Layer { contexts: Contexts::new(Settings::default()), responder };
        thread::scope(|scope| {
            let visitor = scope.spawn(|| visit(&mut python));
            server.serve(&mut layer, &mut policy, &mut rng);
            visitor.join().expect("all was as expected");
        });
        let devices: Vec<DeviceKey> = layer.contexts.devices().map(|device| device.key).collect();
        assert!(!devices.is_empty());
        assert!(devices.iter().all(|device| device == theirs.own.key()), "it is who it says");
        let responder = layer.responder.expect("it has one");
        assert!(responder.counters().completed >= 1);
        assert_eq!(responder.counters().refused, 0);
    }
}
