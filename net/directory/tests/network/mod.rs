//! A small network to tell stories about.
#![allow(dead_code)]

use core::net::SocketAddr;
use core::time::Duration;

use motemix_crypto::PublicKey;
use motemix_directory::{
    Authorities, AuthorityKey, AuthoritySecret, BuildError, DocumentBuilder, DocumentError, Draft, Entry,
    Epoch, Field, Flaw, NetworkDocument, NewNode, Parameters, ProfileName, Role, SignedDocument, UnixTime,
    document_len_limit,
};

pub const NOON: UnixTime = UnixTime(1_800_000_000);

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: String,
    pub role: Role,
    pub mix_key: PublicKey,
    pub addresses: Vec<SocketAddr>,
}

pub fn node(name: &str, role: Role, key: u16) -> Node {
    let mut mix_key = [9; 32];
    mix_key[..2].copy_from_slice(&key.to_be_bytes());
    let addresses = vec![SocketAddr::from(([192, 0, 2, 1], 4000))];
    Node { name: name.into(), role, mix_key: PublicKey(mix_key), addresses }
}

/// Two mixes in each of three layers, and two endpoints.
pub fn nodes() -> Vec<Node> {
    let mut nodes: Vec<_> =
        (0..6).map(|i| node(&format!("mix-{i}"), Role::Mix { layer: i as u8 / 2 }, 100 + i)).collect();
    nodes.push(node("alice", Role::Endpoint, 7));
    nodes.push(node("sensor-8", Role::Endpoint, 8));
    nodes[7].addresses.push("[2001:db8::8]:5683".parse().unwrap());
    nodes
}

pub fn draft() -> Draft<'static> {
    let mut parameters = Parameters::new(2, 3);
    parameters.mean_delay = Duration::from_millis(200);
    parameters.hop_allowance = Duration::from_micros(150_001);
    parameters.transmissions = 4;
    parameters.loop_mean = Some(Duration::from_mins(1));
    parameters.payload_mean = Some(Duration::from_secs(10));
    parameters.overlap = Duration::from_mins(2);
    Draft {
        network_name: "test-net",
        epoch: Epoch(41),
        valid_after: NOON,
        valid_until: UnixTime(NOON.0 + 3600),
        profile: ProfileName::Mote,
        parameters,
    }
}

pub fn authority(number: u8) -> AuthoritySecret {
    AuthoritySecret::from_bytes(&[number; 32])
}

pub fn keys(numbers: impl IntoIterator<Item = u8>) -> Vec<AuthorityKey> {
    numbers.into_iter().map(|number| authority(number).public_key()).collect()
}

pub fn build(draft: &Draft<'_>, nodes: &[Node], signers: &[u8]) -> Result<Vec<u8>, BuildError> {
    let mut out = vec![0; document_len_limit(nodes.len(), signers.len())];
    let described = nodes.iter().map(|node| NewNode {
        name: &node.name,
        role: node.role,
        mix_key: node.mix_key,
        addresses: &node.addresses,
    });
    let mut builder = DocumentBuilder::encode(&mut out, draft, described)?;
    for signer in signers {
        builder.sign(&authority(*signer))?;
    }
    builder.finish().map(<[u8]>::to_vec)
}

/// The whole way, with a threshold of all the authorities given.
pub fn open<'a>(file: &'a [u8], trusted: &[u8], threshold: u8) -> Result<NetworkDocument<'a>, DocumentError> {
    let keys = keys(trusted.iter().copied());
    SignedDocument::parse(file)?.verify(&Authorities::new(&keys, threshold).unwrap())?.admit(NOON, None)
}

/// A head of deterministic CBOR, written independently of the crate.
pub fn head(major: u8, value: usize) -> Vec<u8> {
    let major = major << 5;
    match value {
        0..=0x17 => vec![major + value as u8],
        0x18..=0xff => vec![major + 0x18, value as u8],
        0x100..=0xffff => [&[major + 0x19][..], &(value as u16).to_be_bytes()].concat(),
        _ => [&[major + 0x1a][..], &(value as u32).to_be_bytes()].concat(),
    }
}

/// The bytes that RFC 9052 §4.4 has an authority sign.
pub fn to_be_signed(payload: &[u8]) -> Vec<u8> {
    let text = b"motemix/1 network document";
    let parts: [&[u8]; 6] = [
        b"\x84\x6aSignature1\x43\xa1\x01\x27",
        &head(2, text.len()),
        text,
        &head(2, payload.len()),
        payload,
        b"",
    ];
    parts.concat()
}

/// A validly signed file around any payload at all.
pub fn sign_payload(payload: &[u8], signer: u8) -> Vec<u8> {
    use ed25519_dalek::{Signer, SigningKey};
    let signature = SigningKey::from_bytes(&[signer; 32]).sign(&to_be_signed(payload)).to_bytes();
    let id = authority(signer).public_key().id();
    let parts: [&[u8]; 7] = [
        &[0x82],
        &head(2, payload.len()),
        payload,
        b"\x81\xd2\x84\x43\xa1\x01\x27\xa1\x04\x48",
        &id.0,
        b"\xf6\x58\x40",
        &signature,
    ];
    parts.concat()
}

pub fn payload(file: &[u8]) -> Vec<u8> {
    SignedDocument::parse(file).unwrap().payload().to_vec()
}

/// The flaw of a payload that an authority did sign.
pub fn signed_flaw(payload: &[u8]) -> (Field, Flaw) {
    match open(&sign_payload(payload, 1), &[1], 1).unwrap_err() {
        DocumentError::Malformed { place, flaw } => (place.field, flaw),
        other => panic!("{other}"),
    }
}

/// Entries of a network with that many mixes in each layer, and endpoints after them.
pub fn entries(layers: &[usize], endpoints: usize) -> Vec<Entry> {
    let mixes = layers.iter().zip(0..).flat_map(|(&count, layer)| vec![Role::Mix { layer }; count]);
    let roles = mixes.chain(vec![Role::Endpoint; endpoints]);
    roles.map(|role| Entry { role, ..Entry::default() }).collect()
}
