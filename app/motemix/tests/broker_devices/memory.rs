//! What a broker has of handshakes and contexts that are over in its memory, as root finds it.

use std::convert::Infallible;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use hkdf::Hkdf;
use motemix_coap::oscore::edhoc::{AnyByValue, Own, OwnSecret, begin};
use motemix_coap::oscore::{Contexts, Message, Settings};
use motemix_crypto::Secret;
use motemix_neighbour::PrivateKey;
use motemix_neighbour::edhoc::{CipherSuite as _, Method, Suite2};
use motemix_neighbour::suite::P256;
use motemix_os::rng::HostRng;
use motemix_readings::keys::DeviceKey;
use rand_core::{Rng as _, TryCryptoRng, TryRng};
use sha2::Sha256;

use crate::broker::Broker;
use crate::program::memory::{Found, Memory};

/// Remembers what it gave.
struct Recorder(HostRng, Vec<Vec<u8>>);

impl TryRng for Recorder {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        self.1.push(bytes.to_vec());
        Ok(())
    }
}

impl TryCryptoRng for Recorder {}

/// A socket of a device, whose requests are answered.
struct Wire(UdpSocket, u16);

impl Wire {
    fn to(broker: &Broker) -> Self {
        let socket = UdpSocket::bind("[::1]:0").expect("a port");
        let address: SocketAddr =
            broker.base.trim_start_matches("coap://").parse().expect("an address and a port");
        socket.connect(address).expect("loopback");
        socket.set_read_timeout(Some(Duration::from_mins(1))).expect("a time above zero");
        Self(socket, 0)
    }

    fn ask(&mut self, request: &Message) -> Message {
        self.1 += 1;
        let (id, bytes) = (self.1.to_be_bytes(), request.to_bytes());
        let datagram = [&[0x40, bytes[0]], &id[..], &bytes[1..]].concat();
        self.0.send(&datagram).expect("loopback");
        let mut room = [0; 1500];
        let len = self.0.recv(&mut room).expect("it answers");
        assert_eq!(room[2..4], id, "what answers the request");
        Message::from_bytes(&[&room[1..2], &room[4..len]].concat()).expect("a message")
    }
}

/// What both sides had of a handshake, and of the context that it made.
struct Secrets {
    handshake: [(&'static str, Vec<u8>); 2],
    context: [(&'static str, Vec<u8>); 2],
}

/// The key of whoever sends under this identifier (RFC 8613, section 3.2.1).
fn key_of(master: &[u8; 16], salt: [u8; 8], sender: &[u8]) -> Vec<u8> {
    let info = [&[0x85, 0x40 | sender.len() as u8], sender, b"\xf6\x0a\x63Key\x10"].concat();
    let mut key = vec![0; 16];
    Hkdf::<Sha256>::new(Some(&salt), master).expand(&info, &mut key).expect("short");
    key
}

/// A device proves its key to the broker.
fn handshake(wire: &mut Wire, own: &Own) -> Secrets {
    let mut rng = Recorder(HostRng::new().expect("entropy"), Vec::new());
    let contexts = Contexts::new(Settings::default());
    let (mut begun, message_1) =
        begin(own, Method::StaticKeys, &[], (&contexts, &[]), &mut rng).expect("a name");
    let ephemeral = rng.1.pop().and_then(|bytes| bytes.try_into().ok()).expect("a scalar");
    let ephemeral = PrivateKey::new(Secret::new(ephemeral)).expect("a scalar");
    let message_2 = wire.ask(&message_1);
    let met = begun.meet(&message_2, own, &mut AnyByValue, &mut rng).expect("message_2");
    met.confirm(&wire.ask(&met.alone())).expect("message_4");

    let (session, mut suite) = (met.session(), Suite2(P256));
    // A byte string, of which the first 32 bytes are the broker's ephemeral key.
    let g_y = message_2.payload[2..].first_chunk().expect("a key");
    let g_y = Suite2::<P256>::from_coordinate(g_y).expect("a point");
    let shared = suite.agree(&ephemeral, &g_y).expect("a point").expose().to_vec();
    let (mut master, mut salt) = ([0; 16], [0; 8]);
    session.exporter(0, &[], &mut master).expect("short");
    session.exporter(1, &[], &mut salt).expect("short");
    Secrets {
        handshake: [("what the ephemeral keys agreed on", shared), ("the master secret", master.to_vec())],
        context: [
            ("the device's key", key_of(&master, salt, session.peer_connection().as_bytes())),
            ("the broker's key", key_of(&master, salt, session.own_connection().as_bytes())),
        ],
    }
}

/// A device may have two contexts: with each further one, the oldest is over.
#[test]
fn a_broker_has_nothing_left_of_handshakes_and_contexts_that_are_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let broker = Broker::start(&data);
    let scalar = PrivateKey::generate(&mut HostRng::new().expect("entropy"));
    let own = Own::new(OwnSecret::P256(scalar), Some("device"), None).expect("short");
    let mut wire = Wire::to(&broker);
    let all: Vec<_> = (0..5).map(|_| handshake(&mut wire, &own)).collect();

    let (memory, mut found) = (Memory::of(broker.number()), Found::default());
    let named = |at: usize, secrets: &[(&str, Vec<u8>)]| -> Vec<_> {
        secrets.iter().map(|(what, secret)| (format!("{what} of handshake {at}"), secret.clone())).collect()
    };
    for (at, secrets) in all.iter().enumerate() {
        found.look("broker", &memory, named(at, &secrets.handshake));
        if at < 3 {
            found.look("broker", &memory, named(at, &secrets.context));
        } else {
            for (what, key) in named(at, &secrets.context) {
                found.is_there("broker", &memory, &what, &key);
            }
        }
    }
    let mut own = DeviceKey::load(data.join("broker-es256.key")).expect("the broker made it");
    found.signs_with("broker", &memory, own.signer().expose());
}
