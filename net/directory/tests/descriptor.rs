//! What becomes of descriptors: sound ones, changed ones, and those that somebody else signed.

mod network;

use ciborium::Value;
use coset::TaggedCborSerializable;
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use motemix_crypto::PublicKey;
use motemix_directory::{
    BuildError, Capabilities, DescriptorError, DocumentError, Epoch, Field, Flaw, IdentitySecret, Label,
    MAX_DESCRIPTOR_LEN, MAX_EPOCHS_AHEAD, NewDescriptor, SignedDescriptor, SignedDocument, SignedStatement,
    UnixTime, sign_statement,
};
use network::{NOON, authority, build, draft, head, nodes};
use proptest::prelude::*;

const SEED: [u8; 32] = [5; 32];

fn mix_keys(count: u8) -> Vec<PublicKey> {
    (0..count).map(|number| PublicKey([number + 9; 32])).collect()
}

fn described<'d>(addresses: &'d [std::net::SocketAddr], mix_keys: &'d [PublicKey]) -> NewDescriptor<'d> {
    NewDescriptor {
        network_name: "test-net",
        issued: NOON,
        name: "mix-1",
        capabilities: Capabilities::of_mix(),
        addresses,
        first_epoch: Epoch(41),
        mix_keys,
    }
}

fn signed(descriptor: &NewDescriptor<'_>) -> Result<Vec<u8>, BuildError> {
    let mut out = vec![0; MAX_DESCRIPTOR_LEN];
    descriptor.sign(&mut out, &IdentitySecret::from_bytes(&SEED)).map(<[u8]>::to_vec)
}

fn sound() -> Vec<u8> {
    let addresses = ["192.0.2.1:4000".parse().unwrap(), "[2001:db8::8]:5683".parse().unwrap()];
    signed(&described(&addresses, &mix_keys(3))).unwrap()
}

#[test]
fn what_a_node_says_authorities_read() {
    let file = sound();
    let descriptor = SignedDescriptor::parse(&file).unwrap().verify().unwrap();
    assert_eq!((descriptor.network_name, descriptor.name), ("test-net", "mix-1"));
    assert_eq!(descriptor.issued, NOON);
    assert_eq!(descriptor.identity, IdentitySecret::from_bytes(&SEED).public_key());
    assert_eq!(descriptor.capabilities, Capabilities::of_mix());
    let addresses: Vec<_> = descriptor.addresses.iter().map(|address| address.to_string()).collect();
    assert_eq!(addresses, ["192.0.2.1:4000", "[2001:db8::8]:5683"]);
    assert_eq!(descriptor.epochs(), (Epoch(41), Epoch(44)));
    let keys: Vec<_> = (40..45).map(|epoch| descriptor.mix_key(Epoch(epoch)).map(|key| key.0[0])).collect();
    assert_eq!(keys, [None, Some(9), Some(10), Some(11), None]);
}

#[test]
fn an_independent_reader_of_cose_agrees() {
    let file = sound();
    let Value::Array(parts) = ciborium::from_reader(&file[..]).unwrap() else { panic!() };
    let [Value::Bytes(payload), Value::Array(signatures)] = &parts[..] else { panic!() };
    let [signature] = &signatures[..] else { panic!() };
    let mut bytes = Vec::new();
    ciborium::into_writer(signature, &mut bytes).unwrap();
    let signature = coset::CoseSign1::from_tagged_slice(&bytes).unwrap();
    let key: VerifyingKey = SigningKey::from_bytes(&SEED).verifying_key();
    signature
        .verify_detached_signature(payload, b"motemix/1 node descriptor", |signature, data| {
            key.verify_strict(data, &ed25519_dalek::Signature::from_slice(signature).unwrap())
        })
        .unwrap();
    let Value::Map(fields) = ciborium::from_reader(&payload[..]).unwrap() else { panic!() };
    let keys: Vec<_> = fields.iter().map(|(key, _)| key.as_integer().unwrap()).collect();
    assert_eq!(keys, (1..=9).map(ciborium::value::Integer::from).collect::<Vec<_>>());
    assert_eq!(fields[2].1, Value::Bytes(key.to_bytes().to_vec()));
}

#[test]
fn the_longest_descriptor_fits() {
    let addresses = ["[2001:db8::1]:65535".parse().unwrap(), "[2001:db8::2]:65535".parse().unwrap()];
    let name = "n".repeat(32);
    let keys = vec![PublicKey([9; 32]); MAX_EPOCHS_AHEAD];
    let longest = NewDescriptor {
        network_name: &name,
        issued: UnixTime(u64::MAX),
        name: &name,
        first_epoch: Epoch(u32::MAX - MAX_EPOCHS_AHEAD as u32),
        ..described(&addresses, &keys)
    };
    let file = signed(&longest).unwrap();
    assert!((MAX_DESCRIPTOR_LEN - 200..=MAX_DESCRIPTOR_LEN).contains(&file.len()), "{}", file.len());
    let descriptor = SignedDescriptor::parse(&file).unwrap().verify().unwrap();
    assert_eq!(descriptor.epochs().1, Epoch(u32::MAX));
    for len in [0, 5, 100, file.len() - 1] {
        let mut out = vec![0; len];
        let refused = longest.sign(&mut out, &IdentitySecret::from_bytes(&SEED));
        assert_eq!(refused.map(<[u8]>::len), Err(BuildError::BufferTooSmall), "{len}");
    }
}

#[test]
fn what_authorities_would_refuse_is_not_signed() {
    let addresses = ["192.0.2.1:4000".parse().unwrap()];
    let keys = mix_keys(3);
    let good = described(&addresses, &keys);
    let weak = [PublicKey([0; 32])];
    let nowhere = ["0.0.0.0:4000".parse().unwrap()];
    let last = Epoch(u32::MAX - 1);
    for (bad, field) in [
        (NewDescriptor { name: "Mix 1", ..good }, Field::NodeName),
        (NewDescriptor { network_name: "", ..good }, Field::NetworkName),
        (NewDescriptor { mix_keys: &weak, ..good }, Field::MixKey),
        (NewDescriptor { mix_keys: &[], ..good }, Field::MixKey),
        (NewDescriptor { addresses: &nowhere, ..good }, Field::Addresses),
        (NewDescriptor { addresses: &[], ..good }, Field::Addresses),
        (NewDescriptor { first_epoch: last, ..good }, Field::Epoch),
    ] {
        match signed(&bad) {
            Err(BuildError::Refused(DocumentError::Malformed { place, .. })) => {
                assert_eq!(place.field, field)
            }
            other => panic!("{field:?}: {other:?}"),
        }
    }
}

#[test]
fn nobody_speaks_for_another_node() {
    let file = sound();
    let other = SigningKey::from_bytes(&[6; 32]);
    let payload_end = file.len() - 85;
    let framed = &file[1..payload_end];
    let to_be_signed =
        [b"\x84\x6aSignature1\x43\xa1\x01\x27\x58\x19motemix/1 node descriptor", framed].concat();
    let mut forged = file.clone();
    let at = forged.len() - 64;
    forged[at..].copy_from_slice(&other.sign(&to_be_signed).to_bytes());
    let refused = SignedDescriptor::parse(&forged).unwrap().verify();
    assert_eq!(refused, Err(DescriptorError::BadSignature));
}

/// A descriptor, a document and a vote are signed as what they are.
#[test]
fn one_signed_thing_does_not_pass_for_another() {
    let secret = authority(1);
    let key = secret.public_key();
    let payload = b"a vote, or whatever it may be";
    let mut out = [0; 256];
    let vote = sign_statement(&mut out, Label::Vote, payload, &secret).unwrap().to_vec();
    let statement = SignedStatement::parse(&vote).unwrap();
    assert_eq!(statement.signer(), Some(key.id()));
    assert_eq!(statement.payload_by(&key, Label::Vote), Some(&payload[..]));
    for label in [Label::Document, Label::Descriptor, Label::Sighting] {
        assert_eq!(statement.payload_by(&key, label), None, "{label:?}");
    }
    assert_eq!(statement.payload_by(&authority(2).public_key(), Label::Vote), None);

    let document = build(&draft(), &nodes(), &[1]).unwrap();
    let statement = SignedStatement::parse(&document).unwrap();
    assert!(statement.payload_by(&key, Label::Document).is_some());
    assert_eq!(statement.payload_by(&key, Label::Vote), None);
    let document = build(&draft(), &nodes(), &[1, 2]).unwrap();
    SignedDocument::parse(&document).unwrap();
    assert!(SignedStatement::parse(&document).is_err(), "it has one signature");
}

/// A field that came later is passed over; a critical one is not.
#[test]
fn later_versions_may_say_more() {
    let addresses = ["192.0.2.1:4000".parse().unwrap()];
    let keys = mix_keys(1);
    let plain = signed(&described(&addresses, &keys)).unwrap();
    let parsed: Value = ciborium::from_reader(&plain[..]).unwrap();
    let payload = parsed.as_array().unwrap()[0].as_bytes().unwrap().clone();
    let with = |more: &[u8]| {
        let mut payload = payload.clone();
        payload[0] += 1;
        payload.extend_from_slice(more);
        let framed = [&head(2, payload.len())[..], &payload].concat();
        let text = b"\x84\x6aSignature1\x43\xa1\x01\x27\x58\x19motemix/1 node descriptor";
        let signature = SigningKey::from_bytes(&SEED).sign(&[&text[..], &framed].concat()).to_bytes();
        [&[0x82][..], &framed, &plain[plain.len() - 85..plain.len() - 64], &signature].concat()
    };
    let ignored = with(&[0x20, 0x42, 1, 2]);
    assert_eq!(SignedDescriptor::parse(&ignored).unwrap().verify().unwrap().name, "mix-1");
    let critical = with(&[0x0a, 0x42, 1, 2]);
    match SignedDescriptor::parse(&critical).unwrap().verify() {
        Err(DescriptorError::Malformed(DocumentError::Malformed { flaw, .. })) => {
            assert_eq!(flaw, Flaw::UnknownCritical);
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn no_changed_byte_goes_unnoticed(at in 0..10_000_usize, flip in 1..=255_u8) {
        let mut file = sound();
        let at = at % file.len();
        file[at] ^= flip;
        prop_assert!(SignedDescriptor::parse(&file).ok().and_then(|signed| signed.verify().ok()).is_none());
    }
}
