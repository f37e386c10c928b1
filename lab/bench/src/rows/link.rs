//! What protects packets between two neighbours, beside the Noise protocol as WireGuard has it.

use std::hint::black_box;

use anyhow::{Context, Result};
use motemix_crypto::Secret;
use motemix_link::Instant;
use motemix_link::meeting::admitted;
use motemix_neighbour::datagram::{Content, Datagram, PAYLOAD_OVERHEAD, SecurityContext};
use motemix_neighbour::edhoc::{Role, Suite0, WithoutSignatures};
use motemix_neighbour::handshakes::{Admission, Admitted, Event, Handshakes, Identity, Peer};
use motemix_os::rng::HostRng;
use snow::{Builder, TransportState};

use crate::ours::{HostCurve, mix_key};
use crate::report::Row;
use crate::turns::{Effort, take_turns};

const PEER: &str = "snow (Noise_KK, ChaChaPoly)";
const PATTERN: &str = "Noise_KK_25519_ChaChaPoly_BLAKE2s";
/// A packet of MOTE, and the longest one.
const PACKETS: [(&str, usize); 2] = [("link-280", 280), ("link-2297", 2297)];

/// A packet that is sealed and opened, and a whole handshake of both sides.
pub fn rows(effort: Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, len) in PACKETS {
        let packet = vec![0x5a; len];
        let contexts = || {
            let of = |role| SecurityContext::new(Secret::new([7; 16]), role);
            let memory = || vec![0; len + PAYLOAD_OVERHEAD];
            (of(Role::Initiator), of(Role::Responder), memory(), memory())
        };
        let noise = || (noise_transport(), vec![0; len + 64], vec![0; len + 64]);
        // What a turn used is returned, because its end is not timed.
        let seal_and_open = |mut used: (SecurityContext, SecurityContext, Vec<u8>, Vec<u8>)| {
            let (one, other, wire, out) = (&mut used.0, &mut used.1, &mut used.2, &mut used.3);
            one.seal(&Content::Payload(black_box(&packet)), wire).expect("it has room");
            let Ok(Datagram::Protected(protected)) = Datagram::parse(wire) else { panic!("it is sealed") };
            other.open(&protected, out).expect("it is the other's");
            used
        };
        let by_noise = |mut used: ((TransportState, TransportState), Vec<u8>, Vec<u8>)| {
            let ((one, other), wire, out) = &mut used;
            let len = one.write_message(black_box(&packet), wire).expect("it has room");
            other.read_message(&wire[..len], out).expect("it is the other's");
            used
        };
        let times = take_turns(effort, (contexts, seal_and_open), (noise, by_noise));
        rows.push(Row::times(name, times, PEER));
    }
    handshake(&mut HostRng::new()?).context("our handshake did not end")?;
    let ours = || HostRng::new().expect("the platform has entropy");
    let times = take_turns(
        effort,
        (ours, |mut rng| handshake(&mut rng).is_some()),
        (|| (), |()| noise_transport().0.get_remote_static().is_some()),
    );
    rows.push(Row::times("link-handshake", times, PEER));
    Ok(rows)
}

/// Both know each other's keys.
struct Both([Admitted; 2]);

impl Admission for Both {
    fn admitted(&self, peer: Peer) -> Option<Admitted> {
        let [one, other] = self.0;
        Some(if peer == ONE { one } else { other })
    }
}

const ONE: Peer = Peer([1; 8]);
const OTHER: Peer = Peer([2; 8]);

/// From the first message to the key of both sides, with the cookie.
fn handshake(rng: &mut HostRng) -> Option<()> {
    let keys = [0, 1].map(|node| admitted(mix_key(node).public_key::<HostCurve>().0, 7));
    let both = Both(keys);
    let mut sides = [(ONE, 0), (OTHER, 1)].map(|(me, node)| {
        let secret = motemix_crypto::hash::blake2s_256(b"bench node", &u16::to_be_bytes(node));
        let mut side = Handshakes::new(WithoutSignatures(Suite0::<HostCurve>::new()), me, rng);
        side.set_identity(Some(Identity::new(secret, keys[usize::from(node)])));
        side
    });
    sides[0].call(Instant::default(), OTHER, &both);
    let (mut ended, mut now) = (0, Instant::default());
    for _ in 0..16 {
        now = now + std::time::Duration::from_millis(50);
        for at in [0, 1] {
            while sides[at].work(now, &both, rng) {}
            ended += u32::from(matches!(sides[at].poll_event(), Some(Event::Key { .. })));
            while let Some(message) = sides[at].poll_transmit(now) {
                let from = if at == 0 { ONE } else { OTHER };
                sides[1 - at].handle(now, from, message.as_bytes(), &both).ok()?;
            }
        }
        if ended == 2 {
            return Some(());
        }
    }
    None
}

/// The same by Noise, from new handshake states to transport.
fn noise_transport() -> (TransportState, TransportState) {
    let keys = [0, 1].map(|node: u16| motemix_crypto::hash::blake2s_256(b"bench node", &node.to_be_bytes()));
    let public = [0, 1].map(|node| mix_key(node).public_key::<HostCurve>().0);
    let builder = |own: usize| {
        let builder = Builder::new(PATTERN.parse().expect("snow knows it"));
        let builder = builder.local_private_key(keys[own].expose()).expect("a key");
        builder.remote_public_key(&public[1 - own]).expect("a key")
    };
    let mut one = builder(0).build_initiator().expect("all keys are there");
    let mut other = builder(1).build_responder().expect("all keys are there");
    let (mut wire, mut out) = ([0; 256], [0; 256]);
    let len = one.write_message(&[], &mut wire).expect("it has room");
    other.read_message(&wire[..len], &mut out).expect("it is sound");
    let len = other.write_message(&[], &mut wire).expect("it has room");
    one.read_message(&wire[..len], &mut out).expect("it is sound");
    let transport = |state: snow::HandshakeState| state.into_transport_mode().expect("it has ended");
    (transport(one), transport(other))
}
