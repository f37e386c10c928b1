//! Random cases of the primitives, each computed here and by OpenSSL, as `cryptography` has it.

use crate::python::Python;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};
use motemix_crypto::Secret;
use motemix_neighbour::functions;
use motemix_neighbour::suite::{Aes as _, NONCE_LEN, P256, SoftwareAes, TAG_LEN};
use motemix_neighbour::{PrivateKey, PublicKey, Signature, Suite as _};
use serde_json::json;
use sha2::{Digest as _, Sha256};

const CASES: usize = 100;

fn random(rng: &mut ChaCha20Rng, most: u32) -> Vec<u8> {
    let mut bytes = vec![0; (rng.next_u32() % (most + 1)) as usize];
    rng.fill_bytes(&mut bytes);
    bytes
}

fn array<const N: usize>(rng: &mut ChaCha20Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// SEC 1's form without compression.
fn uncompressed(key: &PublicKey) -> String {
    format!("04{}", hex::encode(key.coordinates()))
}

#[test]
fn public_keys_shared_secrets_and_the_papers_messages_are_those_of_openssl() {
    let mut python = Python::start();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for _ in 0..CASES {
        let [own, peer] = [(); 2].map(|()| PrivateKey::generate(&mut rng));
        let public = P256.public_key(&peer).expect("in software");
        let there = python.bytes("coordinates", json!({"key": hex::encode(peer.expose())}), "point");
        assert_eq!(public.coordinates()[..], there);
        let question = json!({"key": hex::encode(own.expose()), "point": uncompressed(&public)});
        let there = python.bytes("agree", question, "secret");
        assert_eq!(P256.agree(&own, &public).expect("a point").expose()[..], there);
        // The paper's functions: AES-128 under the first half of it, each block by itself.
        let key = functions::shared_key(&mut P256, &own, &public).expect("a point");
        let message = random(&mut rng, 64);
        let mut room = [0; 80];
        let ours = functions::encrypt(&mut P256, &key, &message, &mut room).expect("room");
        let padding = 16 - message.len() % 16;
        let padded = [&message[..], &vec![padding as u8; padding]].concat();
        let question = json!({"key": hex::encode(&there[..16]), "block": hex::encode(padded)});
        assert_eq!(ours[..], python.bytes("encrypt", question, "block"));
    }
}

#[test]
fn signatures_are_taken_by_openssl_and_those_of_openssl_here() {
    let mut python = Python::start();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for _ in 0..CASES {
        let key = PrivateKey::generate(&mut rng);
        let public = P256.public_key(&key).expect("in software");
        let message = random(&mut rng, 300);
        let digest = Sha256::digest(&message).into();
        let ours = P256.sign(&key, &digest, &mut rng).expect("a key").0;
        let question = |signature: &[u8], message: &[u8]| {
            json!({
                "point": uncompressed(&public), "message": hex::encode(message), "signature": hex::encode(signature),
            })
        };
        python.ask("verify", question(&ours, &message)).expect("our signature");
        let question_there = json!({"key": hex::encode(key.expose()), "message": hex::encode(&message)});
        let theirs = python.bytes("sign", question_there, "signature");
        let theirs: [u8; 64] = theirs.try_into().expect("64 bytes");
        assert_eq!(P256.verify(&public, &digest, &Signature(theirs)), Ok(()));

        // One bit changed: neither takes it.
        let (mut wrong, bit) = (ours, rng.next_u32() % 512);
        wrong[bit as usize / 8] ^= 1 << (bit % 8);
        python.ask("verify", question(&wrong, &message)).expect_err("altered");
        assert!(P256.verify(&public, &digest, &Signature(wrong)).is_err());
        python.ask("verify", question(&ours, &[&message[..], &[0]].concat())).expect_err("another message");
    }
}

#[test]
fn blocks_and_messages_are_encrypted_as_openssl_does() {
    let mut python = Python::start();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    for _ in 0..CASES {
        let key = Secret::new(array(&mut rng));
        let block: [u8; 16] = array(&mut rng);
        let mut ours = block;
        SoftwareAes.encrypt_block(&key, &mut ours).expect("in software");
        let question = json!({"key": hex::encode(key.expose()), "block": hex::encode(block)});
        assert_eq!(ours[..], python.bytes("encrypt", question, "block"));
        SoftwareAes.decrypt_block(&key, &mut ours).expect("in software");
        assert_eq!(ours, block);

        let nonce: [u8; NONCE_LEN] = array(&mut rng);
        let (associated, message) = (random(&mut rng, 80), random(&mut rng, 300));
        let mut sealed = message.clone();
        let tag = SoftwareAes.seal(&key, &nonce, &associated, &mut sealed).expect("a short message");
        sealed.extend(tag);
        let question = |name: &str, bytes: &[u8]| {
            json!({
                "key": hex::encode(key.expose()), "nonce": hex::encode(nonce),
                "associated": hex::encode(&associated), name: hex::encode(bytes),
            })
        };
        assert_eq!(sealed, python.bytes("seal", question("message", &message), "sealed"));
        assert_eq!(message, python.bytes("open_sealed", question("sealed", &sealed), "message"));
        let bit = rng.next_u32() as usize % (sealed.len() * 8);
        sealed[bit / 8] ^= 1 << (bit % 8);
        python.ask("open_sealed", question("sealed", &sealed)).expect_err("altered");
        let (text, tag) = sealed.split_last_chunk_mut::<TAG_LEN>().expect("a tag");
        assert!(SoftwareAes.open(&key, &nonce, &associated, text, tag).is_err());
    }
}
