//! What strangers say of devices and to them: statements, pairings, commands, cards, groups and
//! labels. What is read has one form, and nobody but the seeds' devices has signed anything.
#![cfg_attr(fuzzing, no_main)]

use motemix_crypto::Secret;
use motemix_fuzz::fuzz_target;
use motemix_object::{
    Algorithm, Audience, Group, Identity, IdentityLabel, MAX_MEMBERS, NO_CHALLENGE, PrivateKey, PublicKey,
    Signer as _, UnverifiedCommand, UnverifiedRegistration, check_membership, check_possession,
    check_retirement, claimed_members, claimed_possessor, claimed_retired, open_pairing,
};
use motemix_readings::keys::{DeviceCard, GroupFile};

// The first byte says what the others are, so that real statements and files are seeds.
fuzz_target!(|bytes: &[u8]| match bytes {
    [b'p', proof @ ..] => possession(proof),
    [b'm', proof @ ..] => membership(proof),
    [b't', statement @ ..] => retirement(statement),
    [b'r', statement @ ..] => registration(statement),
    [b's', message @ ..] => pairing(message),
    [b'o', message @ ..] => command(message),
    [b'c', text @ ..] => card(text),
    [b'g', text @ ..] => group(text),
    [b'l', text @ ..] => label(text),
    _ => {}
});

fn possession(proof: &[u8]) {
    let Ok(identity) = claimed_possessor(proof) else { return };
    // Not for this challenge, whoever signed it: the seeds are for others.
    assert!(check_possession(proof, &identity, &NO_CHALLENGE, Audience::default()).is_err());
    assert!(
        check_possession(proof, &Identity::from_bytes([0; 32]), &NO_CHALLENGE, Audience::default()).is_err()
    );
}

fn membership(proof: &[u8]) {
    let Ok(members) = claimed_members(proof) else { return };
    let Ok(mut keys) = members.take(MAX_MEMBERS + 1).collect::<Result<Vec<PublicKey>, _>>() else { return };
    let Ok(identity) = Group::new(&keys).map(|group| group.identity()) else { return };
    assert!(check_membership(proof, &identity, &NO_CHALLENGE, Audience::default(), &mut keys).is_err());
}

fn retirement(statement: &[u8]) {
    let Ok(identity) = claimed_retired(statement) else { return };
    if let Ok((after, credential)) = check_retirement(statement, &identity) {
        assert_eq!(credential.identity(), Ok(after));
        assert_ne!(after, identity);
    }
}

fn registration(statement: &[u8]) {
    let Ok(parsed) = UnverifiedRegistration::parse(statement) else { return };
    let Ok(short) = parsed.short_identity() else { return };
    let other = Identity::from_bytes([0; 32]);
    assert!(short == other.short() || parsed.verify(&other, None, Audience::default()).is_err());
}

/// Sealed to nobody who is asked here; the inside of a message that another target cannot reach is
/// a statement, and those are read above.
fn pairing(message: &[u8]) {
    for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
        let key = PrivateKey::new(algorithm, Secret::new([7; 32])).expect("a key");
        let identity = Identity::of_key(&key.public_key());
        assert!(open_pairing(&key, &identity, &mut message.to_vec()).is_err());
    }
}

fn command(message: &[u8]) {
    let Ok(parsed) = UnverifiedCommand::parse(message) else { return };
    let server = parsed.credential().map_or(Identity::from_bytes([0; 32]), |credential| {
        credential.identity().expect("it was computed before")
    });
    // Not for this device, whoever signed it.
    let device = Identity::from_bytes([0; 32]);
    assert!(parsed.verify(&device, &server, None, Audience::default()).is_err());
}

fn card(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(card) = DeviceCard::parse(text) else { return };
    assert_eq!(DeviceCard::parse(&card.to_string()), Ok(card.clone()));
    // Whoever changes the card has to change the identity below it.
    assert!(text.to_ascii_lowercase().replace(' ', "").contains(&card.identity().to_string()));
}

fn group(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(group) = GroupFile::parse(text) else { return };
    assert_eq!(GroupFile::parse(&group.to_string()), Ok(group));
}

fn label(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(label) = IdentityLabel::parse(text) {
        assert_eq!(IdentityLabel::parse(&label.to_string()), Ok(label));
    }
}
