//! What holds of identities whatever somebody tries.

use motemix_crypto::Secret;
use motemix_object::{
    Algorithm, Audience, CHALLENGE_LEN, Credential, Group, GroupError, Identity, IdentityLabel, ObjectError,
    Other, OtherKind, PrivateKey, PublicKey, Signer as _, UnverifiedRegistration, check_membership,
    check_possession, check_retirement, claimed_members, claimed_possessor, claimed_retired,
    prove_membership, prove_possession, register, retire, sign,
};
use proptest::prelude::*;

const CHALLENGE: [u8; CHALLENGE_LEN] = [5; CHALLENGE_LEN];

fn key(seed: u8, algorithm: Algorithm) -> PrivateKey {
    PrivateKey::new(algorithm, Secret::new([seed.saturating_add(1).min(250); 32])).unwrap()
}

fn audience() -> Audience<'static> {
    Audience::new("plant").unwrap()
}

fn serial(value: &[u8]) -> [Other<'_>; 1] {
    [Other { kind: OtherKind::Serial, value }]
}

fn possession(seed: u8, algorithm: Algorithm, value: &[u8]) -> (Identity, Vec<u8>) {
    let mut key = key(seed, algorithm);
    let credential = Credential::new(key.public_key(), &serial(value)).unwrap();
    let mut proof = [0; 512];
    let len = prove_possession(&mut key, &credential, &CHALLENGE, audience(), &mut proof).unwrap();
    (credential.identity().unwrap(), proof[..len].to_vec())
}

/// The keys of a group, ascending, and a proof of the first.
fn membership(seeds: &[u8]) -> (Vec<PublicKey>, Vec<u8>) {
    let mut keys: Vec<_> = seeds.iter().map(|seed| key(*seed, Algorithm::Ed25519).public_key()).collect();
    let group = Group::of(&mut keys).unwrap();
    let mut proof = [0; 1024];
    let mut device = key(seeds[0], Algorithm::Ed25519);
    let len = prove_membership(&mut device, &group, &CHALLENGE, audience(), &mut proof).unwrap();
    (keys, proof[..len].to_vec())
}

fn retirement(old: u8, new: u8) -> (Identity, Identity, Vec<u8>) {
    let (mut old, mut new) = (key(old, Algorithm::Ed25519), key(new, Algorithm::Es256));
    let before = Credential::new(old.public_key(), &serial(b"A-17")).unwrap();
    let after = Credential::new(new.public_key(), &serial(b"A-17")).unwrap();
    let mut statement = [0; 1024];
    let len = retire(&mut old, &before, &mut new, &after, &mut statement).unwrap();
    (before.identity().unwrap(), after.identity().unwrap(), statement[..len].to_vec())
}

#[test]
fn bytes_do_not_move_from_the_key_to_what_stands_beside_it() {
    let key = key(1, Algorithm::Ed25519).public_key();
    let (front, back) = key.as_bytes().split_at(31);
    // The RFC's plain concatenation cannot tell the two apart; ours can tell any two.
    assert_eq!(Identity::raw(key.as_bytes(), b"17"), Identity::raw(front, &[back, b"17"].concat()));
    let identity = |others: &[Other<'_>]| Identity::new(&key, others).unwrap();
    let of = |kind, value| Other { kind, value };
    let all = [
        identity(&[]),
        identity(&[of(OtherKind::Serial, b"17")]),
        identity(&[of(OtherKind::Model, b"17")]),
        identity(&[of(OtherKind::Serial, b"1"), of(OtherKind::Serial, b"7")]),
        identity(&[of(OtherKind::Serial, b"17"), of(OtherKind::Serial, b"")]),
        identity(&[of(OtherKind::Serial, b"17\x03\x00\x00")]),
        identity(&[of(OtherKind::Serial, b"17"), of(OtherKind::Model, b"")]),
    ];
    for (at, one) in all.iter().enumerate() {
        assert!(all.iter().skip(at + 1).all(|other| other != one));
    }
}

#[test]
fn whoever_changes_what_stands_beside_a_key_has_another_identity() {
    let (identity, proof) = possession(1, Algorithm::Ed25519, b"A-17");
    let at = proof.windows(4).position(|window| window == b"A-17").unwrap();
    let mut tampered = proof.clone();
    tampered[at + 3] = b'8';
    let checked = check_possession(&tampered, &identity, &CHALLENGE, audience());
    assert_eq!(checked.unwrap_err(), ObjectError::Identity);
    // Even if it is asked for under the identity that it claims then, nobody signed that.
    let claimed = claimed_possessor(&tampered).unwrap();
    let checked = check_possession(&tampered, &claimed, &CHALLENGE, audience());
    assert_eq!(checked.unwrap_err(), ObjectError::Signature);
    assert_eq!(claimed_possessor(&proof), Ok(identity));
}

#[test]
fn a_stranger_who_adds_its_key_makes_another_group() {
    let (keys, _) = membership(&[1, 2, 3]);
    let (more, forged) = membership(&[9, 1, 2, 3]);
    let [genuine, other] = [&keys, &more].map(|keys| Group::new(keys).unwrap().identity());
    let mut places = more.clone();
    let check = |identity, places: &mut [PublicKey]| {
        check_membership(&forged, identity, &CHALLENGE, audience(), places).map(|(device, _)| device)
    };
    assert_eq!(check(&genuine, &mut places), Err(ObjectError::Identity));
    // It is of the group that it made itself, which is on no box.
    assert_eq!(check(&other, &mut places), Ok(key(9, Algorithm::Ed25519).public_key()));
}

#[test]
fn a_stranger_who_shows_the_keys_of_a_group_cannot_sign_for_one() {
    let (keys, proof) = membership(&[1, 2, 3]);
    let group = Group::new(&keys).unwrap();
    let identity = group.identity();
    assert!(claimed_members(&proof).unwrap().map(Result::unwrap).eq(keys.iter().copied()));
    // The index of the device stands behind the array's head; each other one names a key that did
    // not sign.
    let payload = [&[0x87][..], &[0]].concat();
    let own = keys.binary_search(&key(1, Algorithm::Ed25519).public_key()).unwrap();
    let at = proof.windows(2).position(|window| window == [payload[0], own as u8]).unwrap() + 1;
    for device in 0..5 {
        let mut changed = proof.clone();
        changed[at] = device;
        let mut places = keys.clone();
        let checked = check_membership(&changed, &identity, &CHALLENGE, audience(), &mut places);
        assert_eq!(checked.is_ok(), usize::from(device) == own, "{device}");
    }
    let mut stranger = key(9, Algorithm::Ed25519);
    let proved = prove_membership(&mut stranger, &group, &CHALLENGE, audience(), &mut [0; 1024]);
    assert_eq!(proved.unwrap_err(), ObjectError::Identity);
    assert_eq!(group.member_identity(&stranger.public_key()), Err(GroupError::NotMember));
}

#[test]
fn a_signature_that_is_moved_to_another_purpose_does_not_hold() {
    let mut device = key(1, Algorithm::Ed25519);
    let credential = Credential::new(device.public_key(), &[]).unwrap();
    let identity = credential.identity().unwrap();
    // A registration and a proof of possession with the same number in the place of the challenge.
    let sequence = u64::from_be_bytes([5; 8]);
    let mut registration = [0; 512];
    let len = register(&mut device, &credential, true, sequence, audience(), &mut registration).unwrap();
    let registration = &registration[..len];
    let parsed = UnverifiedRegistration::parse(registration).unwrap();
    assert!(parsed.verify(&identity, None, audience()).is_ok());
    assert!(check_possession(registration, &identity, &CHALLENGE, audience()).is_err());

    let (identity, proof) = possession(1, Algorithm::Ed25519, b"A-17");
    let (before, after, statement) = retirement(1, 2);
    assert_eq!(identity, before);
    let (_, signature) = proof.split_last_chunk::<64>().unwrap();
    let mut moved = statement.clone();
    moved.truncate(statement.len() - 64);
    moved.extend(signature);
    assert_eq!(check_retirement(&statement, &before).unwrap().0, after);
    assert_eq!(check_retirement(&moved, &before).unwrap_err(), ObjectError::Signature);
    for (challenge, audience) in [([6; CHALLENGE_LEN], audience()), (CHALLENGE, Audience::default())] {
        let checked = check_possession(&proof, &identity, &challenge, audience);
        assert_eq!(checked.unwrap_err(), ObjectError::Signature);
    }
}

#[test]
fn a_key_has_one_form_and_so_one_identity() {
    let public = key(1, Algorithm::Es256).public_key();
    let mut negative = 0;
    for tag in 0..=u8::MAX {
        let mut bytes = [0; 33];
        bytes.copy_from_slice(public.as_bytes());
        bytes[0] = tag;
        match PublicKey::new(Algorithm::Es256, &bytes) {
            // The point and its negative (SEC 1, 2.3.3).
            Ok(other) => {
                assert!(tag == 2 || tag == 3, "{tag}");
                negative += usize::from(other != public);
            }
            Err(_) => assert!(tag != 2 && tag != 3, "{tag}"),
        }
    }
    assert_eq!(negative, 1);
    let (x, y) = public.coordinates().unwrap();
    for other in [&[&[4][..], &x, &y].concat()[..], &[&[6 | y[31] & 1][..], &x, &y].concat(), &x, &[0]] {
        assert!(PublicKey::new(Algorithm::Es256, other).is_err(), "{}", other.len());
    }
}

#[test]
fn an_identity_is_not_retired_for_itself() {
    let [mut device, mut same] = [1, 1].map(|seed| key(seed, Algorithm::Ed25519));
    let credential = Credential::new(device.public_key(), &[]).unwrap();
    let identity = credential.identity().unwrap();
    let made = retire(&mut device, &credential, &mut same, &credential, &mut [0; 1024]);
    assert_eq!(made, Err(ObjectError::Identity));
    // Nor is it when somebody signs all of that by hand.
    let names = [identity.as_bytes(), &identity.as_bytes()[..], &[0, 0]];
    let mut accepted = [0; 64];
    let label: &[u8] = b"\x00\x13motemix/1 successor";
    same.sign(&[&[label], &names[..]].concat(), &mut accepted).unwrap();
    let mut shown = [0; 64];
    let len = credential.encode(&mut shown).unwrap();
    let payload = [&[0x83][..], &shown[..len], &shown[..len], &[0x58, 64], &accepted].concat();
    let (label, mut statement): (&[u8], _) = (b"\x00\x14motemix/1 retirement", [0; 1024]);
    let external = [&[label], &names[..]].concat();
    let len = sign(&mut device, &[], &external, &payload, &mut statement).unwrap();
    assert_eq!(check_retirement(&statement[..len], &identity).unwrap_err(), ObjectError::Identity);
}

#[test]
fn nobody_retires_an_identity_for_a_key_that_does_not_agree() {
    let (before, _, statement) = retirement(1, 2);
    assert_eq!(claimed_retired(&statement), Ok(before));
    // The thief of an old key names a stranger's key, and signs twice itself.
    let mut thief = key(1, Algorithm::Ed25519);
    let old = Credential::new(thief.public_key(), &serial(b"A-17")).unwrap();
    let stranger = Credential::new(key(3, Algorithm::Ed25519).public_key(), &[]).unwrap();
    let mut forged = [0; 1024];
    let mut pretender = key(1, Algorithm::Ed25519);
    let len = retire(&mut thief, &old, &mut pretender, &stranger, &mut forged).unwrap();
    assert_eq!(check_retirement(&forged[..len], &before).unwrap_err(), ObjectError::Signature);
}

#[test]
fn a_temporary_identity_is_of_one_period_and_device() {
    let identities =
        [1, 2].map(|seed| Identity::new(&key(seed, Algorithm::Ed25519).public_key(), &[]).unwrap());
    let names: Vec<_> =
        identities.iter().flat_map(|identity| (0..50).map(|period| identity.temporary(period))).collect();
    let distinct: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), 100);
    assert!(
        names.iter().all(|name| identities.iter().all(|identity| !identity.as_bytes().starts_with(name)))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_order_in_which_devices_are_scanned_does_not_matter(
        seeds in prop::collection::hash_set(0..60_u8, 1..8),
        at in any::<prop::sample::Index>(),
        turn in any::<usize>(),
    ) {
        let seeds: Vec<_> = seeds.into_iter().collect();
        let algorithm = |seed: u8| if seed.is_multiple_of(2) { Algorithm::Ed25519 } else { Algorithm::Es256 };
        let mut keys: Vec<_> = seeds.iter().map(|seed| key(*seed, algorithm(*seed)).public_key()).collect();
        let mut other = keys.clone();
        other.rotate_left(turn % keys.len());
        other.reverse();
        let device = keys[at.index(keys.len())];
        let (one, two) = (Group::of(&mut keys).unwrap(), Group::of(&mut other).unwrap());
        prop_assert_eq!(one.identity(), two.identity());
        let member = one.member_identity(&device).unwrap();
        prop_assert_eq!(member, two.member_identity(&device).unwrap());
        prop_assert_ne!(member, one.identity());
        // Each device of the group has a name of its own in it.
        for key in one.keys() {
            prop_assert_eq!(one.member_identity(key).unwrap() == member, *key == device);
        }
    }

    #[test]
    fn a_key_stands_once_in_a_group(seeds in prop::collection::vec(0..4_u8, 5..8)) {
        let mut keys: Vec<_> = seeds.iter().map(|seed| key(*seed, Algorithm::Ed25519).public_key()).collect();
        prop_assert_eq!(Group::of(&mut keys).unwrap_err(), GroupError::Order);
    }

    #[test]
    fn one_bit_less_and_no_statement_holds(
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
        es256 in any::<bool>(),
    ) {
        let flip = |bytes: &[u8]| {
            let mut changed = bytes.to_vec();
            changed[at.index(bytes.len())] ^= 1 << bit;
            changed
        };
        let algorithm = if es256 { Algorithm::Es256 } else { Algorithm::Ed25519 };
        let (identity, proof) = possession(1, algorithm, b"A-17");
        prop_assert!(check_possession(&proof, &identity, &CHALLENGE, audience()).is_ok());
        prop_assert!(check_possession(&flip(&proof), &identity, &CHALLENGE, audience()).is_err());

        let (mut keys, proof) = membership(&[1, 2, 3]);
        let identity = Group::new(&keys).unwrap().identity();
        prop_assert!(check_membership(&flip(&proof), &identity, &CHALLENGE, audience(), &mut keys).is_err());

        let (before, _, statement) = retirement(1, 2);
        prop_assert!(check_retirement(&flip(&statement), &before).is_err());
    }

    #[test]
    fn a_label_that_is_read_names_its_identity(bytes in any::<[u8; 32]>(), noise in "[ -~]{0,80}") {
        let identity = Identity::from_bytes(bytes);
        let text = IdentityLabel::Full(identity).to_string();
        prop_assert_eq!(IdentityLabel::parse(&text), Ok(IdentityLabel::Full(identity)));
        if let Ok(label) = IdentityLabel::parse(&noise) {
            prop_assert_eq!(IdentityLabel::parse(&label.to_string()), Ok(label));
        }
    }
}
