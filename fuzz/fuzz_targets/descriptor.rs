//! What a node says of itself: as a file from nowhere, and as a payload that its node signed
//! whatever it says. What is read has one encoding; what was changed is refused.
#![no_main]

use ed25519_dalek::{Signer, SigningKey};
use libfuzzer_sys::fuzz_target;
use motemix_directory::{
    AuthoritySecret, Descriptor, Epoch, IdentitySecret, MAX_DESCRIPTOR_LEN, NewDescriptor, SignedDescriptor,
};

const SEED: [u8; 32] = [7; 32];
/// Where the identity stands in what `payload` makes.
const IDENTITY: usize = 32;

// The first byte says what the others are, so that real descriptors are seeds.
fuzz_target!(|bytes: &[u8]| match bytes {
    [0, file @ ..] => {
        let _ = SignedDescriptor::parse(file).map(SignedDescriptor::verify);
    }
    [_, payload @ ..] => read_payload(payload),
    [] => {}
});

/// A fuzzer does not find a key: it stands wherever 32 equal bytes do.
fn with_own_key(payload: &[u8]) -> Vec<u8> {
    let mut payload = payload.to_vec();
    if let Some(at) = payload.windows(IDENTITY).position(|window| window == [7; IDENTITY]) {
        let key = IdentitySecret::from_bytes(&SEED).public_key().to_bytes();
        payload[at..at + IDENTITY].copy_from_slice(&key);
    }
    payload
}

/// The file around a payload, written by hand: nobody would sign an unsound one.
fn sign(payload: &[u8]) -> Vec<u8> {
    let framed = match payload.len() {
        len @ 0..=0x17 => [&[0x40 | len as u8][..], payload].concat(),
        len @ 0x18..=0xff => [&[0x58, len as u8][..], payload].concat(),
        len => [&[0x59][..], &(len as u16).to_be_bytes(), payload].concat(),
    };
    let head = b"\x84\x6aSignature1\x43\xa1\x01\x27\x58\x19motemix/1 node descriptor";
    let signature = SigningKey::from_bytes(&SEED).sign(&[head.as_slice(), &framed].concat()).to_bytes();
    let id = AuthoritySecret::from_bytes(&SEED).public_key().id().0;
    let cose =
        [b"\xd2\x84\x43\xa1\x01\x27\xa1\x04\x48".as_slice(), &id, b"\xf6\x58\x40", &signature].concat();
    [&[0x82][..], &framed, &[0x81], &cose].concat()
}

fn read_payload(payload: &[u8]) {
    if payload.len() > usize::from(u16::MAX) {
        return;
    }
    let payload = with_own_key(payload);
    let file = sign(&payload);
    let signed = SignedDescriptor::parse(&file).expect("the envelope is sound");
    let Ok(descriptor) = signed.verify() else { return };
    let again = encode_again(&descriptor);
    // Fields and bits of later versions are not written again; nothing else may differ.
    assert!(again == file || again.len() <= file.len());
    let read =
        SignedDescriptor::parse(&again).expect("it was just made").verify().expect("it was just signed");
    assert_eq!(
        (read.name, read.issued, read.epochs()),
        (descriptor.name, descriptor.issued, descriptor.epochs())
    );
}

fn encode_again(descriptor: &Descriptor<'_>) -> Vec<u8> {
    let addresses: Vec<_> = descriptor.addresses.iter().collect();
    let (first_epoch, end) = descriptor.epochs();
    let mix_keys: Vec<_> =
        (first_epoch.0..end.0).map(|epoch| descriptor.mix_key(Epoch(epoch)).expect("it has it")).collect();
    assert_eq!(descriptor.mix_key(end), None);
    let made = NewDescriptor {
        network_name: descriptor.network_name,
        issued: descriptor.issued,
        name: descriptor.name,
        capabilities: descriptor.capabilities,
        addresses: &addresses,
        first_epoch,
        mix_keys: &mix_keys,
    };
    let mut out = vec![0; MAX_DESCRIPTOR_LEN];
    made.sign(&mut out, &IdentitySecret::from_bytes(&SEED)).expect("it was read").to_vec()
}
