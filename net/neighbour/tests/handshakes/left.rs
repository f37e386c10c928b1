//! What handshakes leave of secrets in their own memory, when there is a key.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use hkdf::Hkdf;
use motemix_crypto::{BoardCurve, Curve as _, PublicKey, Secret};
use rand_core::Rng as _;
use sha2::{Digest as _, Sha256};

use crate::world::{Node, World};

/// A part of a secret that is as good as found.
const PART: usize = 8;

/// The bytes of a node's handshakes, as they lie there.
fn bytes_of(node: &Node) -> Vec<u8> {
    let place = std::ptr::from_ref(&node.handshakes);
    let mut bytes = vec![0; size_of_val(&node.handshakes)];
    let memory = File::open("/proc/self/mem").expect("Linux");
    memory.read_exact_at(&mut bytes, place as u64).expect("it is there");
    bytes
}

/// The key of the stream from which somebody has drawn this ephemeral public key.
fn ephemeral(stream: &[u8], public: &[u8; 32]) -> [u8; 32] {
    let drawn = stream.windows(32).map(|window| <[u8; 32]>::try_from(window).expect("as long"));
    let mut drawn = drawn.filter(|bytes| BoardCurve::public_key(&Secret::new(*bytes)).0 == *public);
    drawn.next().expect("it was drawn")
}

#[test]
fn what_made_a_key_is_not_left_where_the_handshake_was() {
    let mut world = World::new(2, 7);
    // What their generators give.
    let streams = [1, 2].map(|number| {
        let mut stream = [0; 512];
        Node::new(number, 7).rng.fill_bytes(&mut stream);
        stream
    });
    world.call(0, 1);
    world.run(Duration::from_millis(100));
    // Behind kind and cookie: method, suite and a byte string; behind kind and echo: a byte string.
    let (message_1, message_2) = (&world.sent[2].bytes[9..], &world.sent[3].bytes[3..]);
    let [g_x, g_y] =
        [&message_1[4..], &message_2[2..]].map(|bytes| *bytes.first_chunk::<32>().expect("a key"));
    let ephemerals = [ephemeral(&streams[0], &g_x), ephemeral(&streams[1], &g_y)];
    let shared = BoardCurve::diffie_hellman(&Secret::new(ephemerals[0]), &PublicKey(g_y)).expect("a point");
    let hash = |parts: &[&[u8]]| Sha256::digest(parts.concat());
    let th_2 = hash(&[&[0x58, 0x20], &g_y, &[0x58, 0x20], &hash(&[message_1])]);
    let (prk_2e, _) = Hkdf::<Sha256>::extract(Some(&th_2), shared.expose());
    let key = world.nodes[0].key(world.nodes[1].me).expect("a key");

    for (at, node) in world.nodes.iter().enumerate() {
        let bytes = bytes_of(node);
        let there: HashSet<&[u8]> = bytes.windows(PART).collect();
        // Its own key is in use, so what is there is found.
        assert!(there.contains(&node.secret[..PART]), "{at}");
        for (what, secret) in [
            ("its ephemeral key", &ephemerals[at][..]),
            ("what they agree on", &shared.expose()[..]),
            ("the first pseudorandom key", &prk_2e[..]),
            ("the key", &key[..]),
        ] {
            assert!(!secret.chunks_exact(PART).any(|part| there.contains(part)), "{at} has {what}");
        }
    }
}
