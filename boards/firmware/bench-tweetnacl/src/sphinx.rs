//! The Sphinx of the thesis "Implementing and analysing Sphinx on low-end IoT devices": a packet of
//! 544 bytes with a header of up to five hops there, and another of up to five hops back inside its
//! payload. Written anew after the thesis' text and its formats, so that the same operations can be
//! measured.
//!
//! ```text
//! 0        32    48               208   224        416       544
//! ├─ α 32 ─┼ γ 16 ┼── β 5·32=160 ──┼ MAC ┼ SURB 192 ┼ data 128┤
//! ```

use crate::nacl;

/// Bytes of a packet.
pub const PACKET_LEN: usize = PAYLOAD + PAYLOAD_LEN;
/// Bytes of data in a packet.
pub const DATA_LEN: usize = 128;
/// The most hops of one way.
pub const MAX_WAY: usize = 5;
/// The most hops of both ways.
pub const MAX_HOPS: usize = 2 * MAX_WAY;

const KEY_LEN: usize = 32;
const MAC_LEN: usize = 16;
const BLOCK_LEN: usize = 32;
const ROUTING: usize = KEY_LEN + MAC_LEN;
const ROUTING_LEN: usize = MAX_WAY * BLOCK_LEN;
const PAYLOAD: usize = ROUTING + ROUTING_LEN;
const SURB_LEN: usize = ADDRESS_LEN + MAC_LEN + ROUTING_LEN;
const PAYLOAD_LEN: usize = MAC_LEN + SURB_LEN + DATA_LEN;
const ADDRESS_LEN: usize = 16;
/// Routing info, the block that is appended to it, and the payload.
const STREAM_LEN: usize = ROUTING_LEN + BLOCK_LEN + PAYLOAD_LEN;

/// An IPv6 address, a header MAC, or the id of a message.
pub type Address = [u8; ADDRESS_LEN];
/// The address of the last hop of the way there.
const NO_ID: Address = [0; ADDRESS_LEN];

/// A node as its sender knows it.
#[derive(Clone, Copy)]
pub struct Node {
    /// Where packets to it go.
    pub address: Address,
    /// Its public key.
    pub public_key: [u8; KEY_LEN],
}

/// A packet.
pub type Packet = [u8; PACKET_LEN];

/// A header's γ and β.
struct Header {
    mac: [u8; MAC_LEN],
    routing: [u8; ROUTING_LEN],
}

/// Makes a packet for `path`, of which the first `there` hops lead to the receiver.
/// n(n + 3)/2 scalar multiplications for n hops.
pub fn create(
    path: &[Node],
    there: usize,
    secret: &[u8; KEY_LEN],
    id: &Address,
    data: &[u8; DATA_LEN],
) -> Packet {
    let mut secrets = [[0; KEY_LEN]; MAX_HOPS];
    let secrets = &mut secrets[..path.len()];
    let public_key = shared_secrets(path, secret, secrets);
    let (secrets_there, secrets_back) = secrets.split_at(there);
    let (path_there, path_back) = path.split_at(there);
    let header = encapsulate(path_there, secrets_there, &NO_ID);
    let surb = encapsulate(path_back, secrets_back, id);

    let mut packet = [0; PACKET_LEN];
    packet[..KEY_LEN].copy_from_slice(&public_key);
    packet[KEY_LEN..ROUTING].copy_from_slice(&header.mac);
    packet[ROUTING..PAYLOAD].copy_from_slice(&header.routing);
    let payload = &mut packet[PAYLOAD..];
    let (mac, rest) = payload.split_at_mut(MAC_LEN);
    rest[..ADDRESS_LEN].copy_from_slice(&path_back[0].address);
    rest[ADDRESS_LEN..ADDRESS_LEN + MAC_LEN].copy_from_slice(&surb.mac);
    rest[ADDRESS_LEN + MAC_LEN..SURB_LEN].copy_from_slice(&surb.routing);
    rest[SURB_LEN..].copy_from_slice(data);
    mac.copy_from_slice(&nacl::mac(rest, &secrets_there[there - 1]));
    for secret in secrets_there.iter().rev() {
        let mut stream = [0; STREAM_LEN];
        nacl::stream(&mut stream, secret);
        xor(payload, &stream[ROUTING_LEN + BLOCK_LEN..]);
    }
    packet
}

/// Every blinding is applied to every later secret by a multiplication of its own. Returns α₀.
fn shared_secrets(path: &[Node], secret: &[u8; KEY_LEN], secrets: &mut [[u8; KEY_LEN]]) -> [u8; KEY_LEN] {
    let first = nacl::multiply_base(secret);
    let mut public_key = first;
    let mut blindings = [[0; KEY_LEN]; MAX_HOPS];
    for hop in 0..path.len() {
        if hop > 0 {
            public_key = nacl::multiply(&blindings[hop - 1], &public_key);
        }
        let mut shared = nacl::multiply(secret, &path[hop].public_key);
        for blinding in &blindings[..hop] {
            shared = nacl::multiply(blinding, &shared);
        }
        secrets[hop] = nacl::hash(&shared);
        blindings[hop] = blinding(&public_key, &secrets[hop]);
    }
    first
}

fn blinding(public_key: &[u8; KEY_LEN], secret: &[u8; KEY_LEN]) -> [u8; KEY_LEN] {
    let mut both = [0; 2 * KEY_LEN];
    both[..KEY_LEN].copy_from_slice(public_key);
    both[KEY_LEN..].copy_from_slice(secret);
    nacl::hash(&both)
}

/// The routing info of one way, from its last hop to its first.
fn encapsulate(path: &[Node], secrets: &[[u8; KEY_LEN]], id: &Address) -> Header {
    let hops = path.len();
    // What the streams of the hops before the last leave behind the end of β.
    let mut filler = [0; ROUTING_LEN];
    for (hop, secret) in secrets[..hops - 1].iter().enumerate() {
        let mut stream = [0; ROUTING_LEN + BLOCK_LEN];
        nacl::stream(&mut stream, secret);
        xor(&mut filler, &stream[ROUTING_LEN - hop * BLOCK_LEN..]);
    }

    let mut header = Header { mac: [0; MAC_LEN], routing: [0; ROUTING_LEN] };
    header.routing[..ADDRESS_LEN].copy_from_slice(&path[hops - 1].address);
    header.routing[ADDRESS_LEN..BLOCK_LEN].copy_from_slice(id);
    let filler_len = (hops - 1) * BLOCK_LEN;
    for hop in (0..hops).rev() {
        if hop + 1 < hops {
            header.routing.copy_within(..ROUTING_LEN - BLOCK_LEN, BLOCK_LEN);
            header.routing[..ADDRESS_LEN].copy_from_slice(&path[hop + 1].address);
            header.routing[ADDRESS_LEN..BLOCK_LEN].copy_from_slice(&header.mac);
        }
        let mut stream = [0; ROUTING_LEN];
        nacl::stream(&mut stream, &secrets[hop]);
        xor(&mut header.routing, &stream);
        if hop + 1 == hops {
            header.routing[ROUTING_LEN - filler_len..].copy_from_slice(&filler[..filler_len]);
        }
        header.mac = nacl::mac(&header.routing, &secrets[hop]);
    }
    header
}

/// What a node does with a packet.
#[derive(PartialEq, Eq)]
pub enum Outcome {
    /// The packet goes on to another node.
    Forward(Address),
    /// The data was for this node; the packet is the acknowledgement and goes on to another node.
    Reply(Address),
    /// The acknowledgement of this node's message has come back.
    Acknowledged(Address),
}

/// Takes a packet in, at the node with this address and secret. `None` if a MAC is wrong.
pub fn process(packet: &mut Packet, address: &Address, secret: &[u8; KEY_LEN]) -> Option<Outcome> {
    let public_key = *packet.first_chunk::<KEY_LEN>()?;
    let shared = nacl::hash(&nacl::multiply(secret, &public_key));
    let tag = *packet[KEY_LEN..].first_chunk::<MAC_LEN>()?;
    if !nacl::mac_holds(&tag, &packet[ROUTING..PAYLOAD], &shared) {
        return None;
    }

    // β moves over γ and the last bytes of α, and gets a block of zeros at its end.
    packet.copy_within(ROUTING..PAYLOAD, ROUTING - BLOCK_LEN);
    packet[PAYLOAD - BLOCK_LEN..PAYLOAD].fill(0);
    let mut stream = [0; STREAM_LEN];
    nacl::stream(&mut stream, &shared);
    xor(&mut packet[ROUTING - BLOCK_LEN..], &stream);
    let next = *packet[ROUTING - BLOCK_LEN..].first_chunk::<ADDRESS_LEN>()?;
    if next != *address {
        packet[..KEY_LEN].copy_from_slice(&nacl::multiply(&blinding(&public_key, &shared), &public_key));
        return Some(Outcome::Forward(next));
    }
    let id = *packet[ROUTING - BLOCK_LEN + ADDRESS_LEN..].first_chunk::<ADDRESS_LEN>()?;
    if id != NO_ID {
        return Some(Outcome::Acknowledged(id));
    }

    let tag = *packet[PAYLOAD..].first_chunk::<MAC_LEN>()?;
    let surb = PAYLOAD + MAC_LEN;
    if !nacl::mac_holds(&tag, &packet[surb..], &shared) {
        return None;
    }
    let first = *packet[surb..].first_chunk::<ADDRESS_LEN>()?;
    packet[..KEY_LEN].copy_from_slice(&nacl::multiply(&blinding(&public_key, &shared), &public_key));
    packet.copy_within(surb + ADDRESS_LEN..surb + SURB_LEN, KEY_LEN);
    // Random in the thesis; any stream costs as little beside two multiplications.
    nacl::stream(&mut packet[PAYLOAD..], &tag_key(&tag));
    Some(Outcome::Reply(first))
}

fn tag_key(tag: &[u8; MAC_LEN]) -> [u8; KEY_LEN] {
    let mut key = [0; KEY_LEN];
    key[..MAC_LEN].copy_from_slice(tag);
    key
}

fn xor(to: &mut [u8], from: &[u8]) {
    for (a, b) in to.iter_mut().zip(from) {
        *a ^= b;
    }
}
