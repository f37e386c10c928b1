//! What holds of pairings and commands, whatever somebody tries.

use motemix_crypto::Secret;
use motemix_crypto::curve::of_ed25519;
use motemix_object::{
    Algorithm, Audience, Command, Credential, Identity, ObjectError, Other, OtherKind, Pairing, PrivateKey,
    PublicKey, Signer as _, To, UnverifiedCommand, claimed_algorithm, command, open_pairing, pair,
};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng as _;

const BOTH: [Algorithm; 2] = [Algorithm::Ed25519, Algorithm::Es256];
/// `[{"n": "v", "vb": true}]`
const OPEN: &[u8] = b"\x81\xa2\x00\x61v\x04\xf5";

fn key(seed: u8, algorithm: Algorithm) -> PrivateKey {
    PrivateKey::new(algorithm, Secret::new([seed; 32])).unwrap()
}

fn identity(key: &PrivateKey) -> Identity {
    Identity::of_key(&key.public_key())
}

fn credential(key: &PrivateKey) -> Credential<'static> {
    Credential::new(key.public_key(), &[Other { kind: OtherKind::Model, value: b"server" }]).unwrap()
}

fn audience() -> Audience<'static> {
    Audience::new("plant").unwrap()
}

/// A pairing that `signer` signs in the name of the server `named`, for a device.
fn sealed(signer: &mut PrivateKey, named: Credential<'_>, bound: &Identity, to: &PublicKey) -> Vec<u8> {
    let pairing =
        Pairing { server: named, sequence: 7, audience: audience(), place: "cellar", purpose: "valve" };
    let mut out = [0; 1024];
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let len = pair(signer, &pairing, To { identity: bound, key: to }, &mut rng, &mut out).unwrap();
    out[..len].to_vec()
}

fn sealed_to(device: &PrivateKey) -> Vec<u8> {
    let mut server = key(9, Algorithm::Ed25519);
    let named = credential(&server);
    sealed(&mut server, named, &identity(device), &device.public_key())
}

#[test]
fn a_device_opens_what_was_sealed_to_it() {
    for algorithm in BOTH {
        let (device, server) = (key(1, algorithm), key(9, Algorithm::Ed25519));
        let mut message = sealed_to(&device);
        assert_eq!(claimed_algorithm(&message), Ok(algorithm));
        assert!(!message.windows(5).any(|window| window == b"plant"), "nobody else reads it");
        let said = open_pairing(&device, &identity(&device), &mut message).unwrap();
        assert_eq!(said.server.identity(), credential(&server).identity());
        assert_eq!(
            (said.sequence, said.audience.as_str(), said.place, said.purpose),
            (7, "plant", "cellar", "valve")
        );
    }
}

#[test]
fn no_other_device_opens_it() {
    for algorithm in BOTH {
        let device = key(1, algorithm);
        for other in BOTH {
            let other = key(2, other);
            let mut message = sealed_to(&device);
            let opened = open_pairing(&other, &identity(&other), &mut message);
            assert_eq!(opened.unwrap_err(), ObjectError::Sealed);
        }
        // The same key with another serial number is another device.
        let serial = Other { kind: OtherKind::Serial, value: b"A-18" };
        let renamed = Identity::new(&device.public_key(), &[serial]).unwrap();
        let opened = open_pairing(&device, &renamed, &mut sealed_to(&device)).map(|_| ());
        assert_eq!(opened, Err(ObjectError::Sealed));
    }
}

#[test]
fn nobody_signs_a_pairing_in_the_servers_name() {
    let (device, mut other) = (key(1, Algorithm::Ed25519), key(2, Algorithm::Ed25519));
    let server = key(9, Algorithm::Ed25519);
    // Sealed by somebody who is not the server: the inside is signed by another key than it names.
    let mut forged = sealed(&mut other, credential(&server), &identity(&device), &device.public_key());
    let opened = open_pairing(&device, &identity(&device), &mut forged).map(|_| ());
    assert_eq!(opened, Err(ObjectError::Signature));
}

#[test]
fn a_device_that_was_paired_cannot_pass_its_pairing_on() {
    use hpke::{Deserializable as _, OpModeS, Serializable as _};
    use hpke::{aead::ChaCha20Poly1305 as Aead, kdf::HkdfSha256, kem::X25519HkdfSha256 as Kem};
    // An array's head, a number in two bytes, a key, and two heads of strings.
    const HEAD: usize = 1 + 2 + 2 + 32 + 2;
    let (device, next) = (key(1, Algorithm::Ed25519), key(2, Algorithm::Ed25519));
    let mut message = sealed_to(&device);
    let mut head = message[..HEAD].to_vec();
    // In its own memory it finds what the server signed, and seals that to another device.
    open_pairing(&device, &identity(&device), &mut message).unwrap();
    let mut signed = message[HEAD..message.len() - 16].to_vec();

    let resealed = |to: &PrivateKey, bound: &Identity, head: &mut Vec<u8>, signed: &mut Vec<u8>| {
        let label = b"\x00\x18motemix/1 sealed pairing";
        let point = of_ed25519::public_key(to.public_key().as_bytes().try_into().unwrap()).unwrap();
        let public = <Kem as hpke::Kem>::PublicKey::from_bytes(&point.0).unwrap();
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let info = [&label[..], bound.as_bytes()].concat();
        let (enc, mut sender) =
            hpke::setup_sender_with_rng::<Aead, HkdfSha256, Kem>(&OpModeS::Base, &public, &info, &mut rng)
                .unwrap();
        head[5..37].copy_from_slice(&enc.to_bytes());
        let tag = sender.seal_inout_detached(signed.as_mut_slice().into(), head).unwrap();
        [&head[..], &signed[..], &tag.to_bytes()[..]].concat()
    };
    let mut passed_on = resealed(&next, &identity(&next), &mut head, &mut signed.clone());
    let opened = open_pairing(&next, &identity(&next), &mut passed_on).map(|_| ());
    assert_eq!(opened, Err(ObjectError::Signature), "it opens, and is for another device");
    // To the same device it is the same pairing again: its number says so.
    let mut again = resealed(&device, &identity(&device), &mut head, &mut signed);
    assert_eq!(open_pairing(&device, &identity(&device), &mut again).unwrap().sequence, 7);
}

#[test]
fn an_altered_byte_is_refused_wherever_it_is() {
    for algorithm in BOTH {
        let device = key(1, algorithm);
        let message = sealed_to(&device);
        for at in 0..message.len() {
            for bit in 0..8 {
                let mut altered = message.clone();
                altered[at] ^= 1 << bit;
                let opened = open_pairing(&device, &identity(&device), &mut altered);
                assert!(opened.is_err(), "byte {at}, bit {bit}");
            }
        }
        for len in 0..message.len() {
            assert!(open_pairing(&device, &identity(&device), &mut message[..len].to_vec()).is_err());
        }
        let mut longer = [&message[..], &[0]].concat();
        assert!(open_pairing(&device, &identity(&device), &mut longer).is_err());
    }
}

#[test]
fn encapsulated_keys_of_small_order_and_off_the_curve_are_refused() {
    // u = 0, 1, and the points of order 8 (RFC 7748, 6.1; wycheproof has them too); p and p + 1.
    let small = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ];
    let device = key(1, Algorithm::Ed25519);
    let message = sealed_to(&device);
    for point in small {
        let mut chosen = message.clone();
        // An array's head, a number in two bytes, a string's head in two.
        chosen[5..37].copy_from_slice(&hex::decode(point).unwrap());
        let opened = open_pairing(&device, &identity(&device), &mut chosen).map(|_| ());
        assert_eq!(opened, Err(ObjectError::Sealed), "{point}");
    }
    let device = key(1, Algorithm::Es256);
    let message = sealed_to(&device);
    assert_eq!(message[4], 4, "an uncompressed point");
    for (first, fill) in [(4, 0), (4, 1), (0, 0), (2, 1), (4, 0xff)] {
        let mut chosen = message.clone();
        chosen[4] = first;
        chosen[5..69].fill(fill);
        let opened = open_pairing(&device, &identity(&device), &mut chosen).map(|_| ());
        assert_eq!(opened, Err(ObjectError::Sealed), "{first} {fill}");
    }
}

#[test]
fn texts_that_would_move_a_cursor_are_neither_signed_nor_read() {
    let (mut server, device) = (key(9, Algorithm::Ed25519), key(1, Algorithm::Ed25519));
    for place in ["a\nb", "\u{1b}[2J", &"x".repeat(129)] {
        let server_credential = credential(&server);
        let pairing =
            Pairing { server: server_credential, sequence: 0, audience: audience(), place, purpose: "" };
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let (bound, to) = (identity(&device), device.public_key());
        let made = pair(&mut server, &pairing, To { identity: &bound, key: &to }, &mut rng, &mut [0; 1024]);
        assert_eq!(made, Err(ObjectError::Room), "{place:?}");
    }
}

#[test]
fn memory_that_is_too_short_is_told() {
    let (mut server, device) = (key(9, Algorithm::Ed25519), key(1, Algorithm::Ed25519));
    let pairing = Pairing {
        server: credential(&server),
        sequence: u64::MAX,
        audience: audience(),
        place: "cellar",
        purpose: "",
    };
    let (bound, to) = (identity(&device), device.public_key());
    for room in 0..200 {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let made =
            pair(&mut server, &pairing, To { identity: &bound, key: &to }, &mut rng, &mut vec![0; room]);
        assert_eq!(made, Err(ObjectError::Room), "{room}");
    }
}

fn commanded(server: &mut PrivateKey, whole: bool, device: &Identity) -> Vec<u8> {
    let named = credential(server);
    let mut out = [0; 512];
    let what = Command { sequence: 300, senml: OPEN };
    let len = command(server, &named, whole, device, audience(), what, &mut out).unwrap();
    out[..len].to_vec()
}

#[test]
fn a_command_holds_for_one_device_one_server_and_one_audience() {
    for algorithm in BOTH {
        let (mut server, device) = (key(9, algorithm), identity(&key(1, Algorithm::Ed25519)));
        let (name, public) = (credential(&server).identity().unwrap(), server.public_key());
        for whole in [false, true] {
            let message = commanded(&mut server, whole, &device);
            let parsed = UnverifiedCommand::parse(&message).unwrap();
            assert_eq!((parsed.sender(), parsed.sequence()), (name.as_bytes()[..4].try_into().unwrap(), 300));
            let expected = Command { sequence: 300, senml: OPEN };
            assert_eq!(parsed.verify(&device, &name, Some(&public), audience()), Ok(expected));
            let other = Identity::from_bytes([1; 32]);
            let refused = parsed.verify(&other, &name, Some(&public), audience());
            assert_eq!(refused, Err(ObjectError::Signature));
            let refused = parsed.verify(&device, &name, Some(&public), Audience::default());
            assert_eq!(refused, Err(ObjectError::Signature));
            let refused = parsed.verify(&device, &other, Some(&public), audience());
            assert_eq!(refused, Err(ObjectError::Identity));
        }
        let message = commanded(&mut server, false, &device);
        // A temperature's worth: it fits a packet of the profile `mote`.
        assert!(message.len() <= 103, "{}", message.len());
        for at in 0..message.len() {
            let mut altered = message.clone();
            altered[at] ^= 1;
            let verified = UnverifiedCommand::parse(&altered)
                .and_then(|parsed| parsed.verify(&device, &name, Some(&public), audience()).map(|_| ()));
            assert!(verified.is_err(), "byte {at}");
        }
    }
}

proptest! {
    #[test]
    fn whatever_arrives_is_refused_and_harms_nobody(message in prop::collection::vec(any::<u8>(), 0..300)) {
        let device = key(1, Algorithm::Ed25519);
        prop_assert!(open_pairing(&device, &identity(&device), &mut message.clone()).is_err());
        let _ = UnverifiedCommand::parse(&message).map(|parsed| parsed.sequence());
    }
}
