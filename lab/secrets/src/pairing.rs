//! Pairings: HPKE between what a server draws and the key that a device signs with. What is in a
//! pairing is read once it is open, so that opening is followed up to its tag.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_crypto::Secret;
use motemix_object::{
    Algorithm, Audience, Credential, Identity, Pairing, PrivateKey, Signer as _, To, open_pairing, pair,
};

use crate::trial::{Expected, Operation, Trial};

const SEED: [u8; 32] = *b"a seed as random as any other...";
const DRAWN: [u8; 32] = *b"what the generator starts from..";
const TAG_LEN: usize = 16;

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "seal a pairing to a key of Ed25519",
        secret: "the ephemeral key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| seal(&device(SEED), &mut ChaCha20Rng::from_seed(*trial.secret(DRAWN).expose())),
    },
    Operation {
        name: "refuse a pairing whose tag is wrong in one byte, with a key of Ed25519",
        secret: "the seed",
        expected: Expected::Disclosed,
        variants: TAG_LEN,
        run: |trial| {
            let device = device(SEED);
            let mut message = seal(&device, &mut ChaCha20Rng::from_seed(DRAWN));
            let at = message.len() - TAG_LEN + trial.variant();
            message[at] ^= 1;
            let (identity, marked) = (identity(&device), marked(trial));
            vec![u8::from(open_pairing(&marked, &identity, &mut message).is_ok())]
        },
    },
];

fn device(seed: [u8; 32]) -> PrivateKey {
    PrivateKey::new(Algorithm::Ed25519, Secret::new(seed)).expect("any seed is one")
}

/// The same device, whose seed is marked.
fn marked(trial: &Trial) -> PrivateKey {
    PrivateKey::new(Algorithm::Ed25519, trial.secret(SEED)).expect("any seed is one")
}

fn identity(device: &PrivateKey) -> Identity {
    Identity::of_key(&device.public_key())
}

fn seal(device: &PrivateKey, rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut server = self::device([9; 32]);
    let pairing = Pairing {
        server: Credential::new(server.public_key(), &[]).expect("nothing beside it"),
        sequence: 7,
        audience: Audience::new("plant").expect("short"),
        place: "cellar",
        purpose: "valve",
    };
    let (identity, key) = (identity(device), device.public_key());
    let mut out = [0; 1024];
    let len = pair(&mut server, &pairing, To { identity: &identity, key: &key }, rng, &mut out);
    out[..len.expect("room")].to_vec()
}
