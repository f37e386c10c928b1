//! What a node says of itself: as a file from nowhere, and as a payload that its node signed
//! whatever it says. What is read has one encoding; what was changed is refused.
#![cfg_attr(fuzzing, no_main)]

use motemix_directory::{
    Descriptor, Epoch, IdentitySecret, MAX_DESCRIPTOR_LEN, NewDescriptor, SignedDescriptor,
};
use motemix_fuzz::{fuzz_target, signed};

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

fn read_payload(payload: &[u8]) {
    if payload.len() > usize::from(u16::MAX) {
        return;
    }
    let payload = with_own_key(payload);
    let file = signed(b"motemix/1 node descriptor", &payload, SEED);
    let parsed = SignedDescriptor::parse(&file).expect("the envelope is sound");
    let Ok(descriptor) = parsed.verify() else { return };
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
