//! The steps of EDHOC with signatures: method 0, suite 2, P-256 as boards have it.

#![no_std]
#![no_main]

mod handshake;

use motemix_crypto::Secret;
use motemix_neighbour::edhoc::{CoseKey, Method, OwnKey, Suite2};
use motemix_neighbour::suite::HalfWordsP256;
use motemix_neighbour::{PrivateKey, Suite as _};

/// What [`handshake`] runs.
type Suite = Suite2<HalfWordsP256>;
type Key = PrivateKey;
const METHOD: Method = Method::Signatures;
/// Bytes of a credential without a subject, with a kid of one byte.
const CCS_LEN: usize = 82;
const MESSAGE_2_LEN: usize = 102;
const MESSAGE_3_LEN: usize = 77;

fn credential_key(byte: u8) -> (Key, CoseKey) {
    let Ok(key) = PrivateKey::new(Secret::new([byte; 32])) else { unreachable!("it is below the order") };
    let Ok(public) = HalfWordsP256.public_key(&key) else { unreachable!("no engine fails in software") };
    (key, CoseKey::p256(&public))
}

fn own_key(key: &Key) -> OwnKey<'_, Suite> {
    OwnKey::Signing(key)
}
