//! Keys that only move forward, in files that only their owner may use.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use motemix_directory::Epoch;
use motemix_host::{AuthorityKeyFile, IdentityKeyFile, NodeKey};
use motemix_os::key_file::KeyProblem;

/// Seeds and mix keys of `docs/spec/epochs.md`.
const VECTORS: [(u32, &str, &str); 4] = [
    (
        7,
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "4a69d4a8d948ec5eb83feb844b319d74f1271a3bbc1e9ba86ec9018ac649eeeb",
    ),
    (
        8,
        "80ab318a2a71affdac90861cdf6541a7e5b01db7270cf411060ae8902e8c07d6",
        "79cfbedce836f0d9e89fd9ceab4c17fcacbe856d89e5360c7f9d92f444cbf9a4",
    ),
    (
        9,
        "eb3afd0d7a06d0671f01d8b89652af08589fbcd3afca1d14f6335e4c0efe5087",
        "61fe912ed54288da8d42770632164a219b00d4e40ddcfd82a679138161963ae1",
    ),
    (
        10,
        "c192bcf65581e9b345b8dc62e62c6d6ccdf9ed304e84d7dc28b6be42852c0c02",
        "79c81d7e514c6269296133b3ebbbdf86db97a4eb521a74a35a90a5dfbe959bea",
    ),
];

fn key_text(epoch: u32, seed: &str) -> String {
    format!("motemix node key 1\nepoch {epoch}\nseed {seed}\n")
}

fn write_key(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn the_ratchet_follows_the_test_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node.key");
    let (first, seed, _) = VECTORS[0];
    write_key(&path, &key_text(first, seed), 0o600);

    let ahead = NodeKey::load(&path).unwrap();
    for (epoch, _, mix_secret) in VECTORS {
        assert_eq!(hex::encode(ahead.mix_secret(Epoch(epoch)).unwrap().expose()), mix_secret);
    }
    let mut key = ahead;
    for (epoch, seed, mix_secret) in VECTORS {
        key.advance_to(Epoch(epoch)).unwrap();
        assert_eq!(key.epoch(), Epoch(epoch));
        assert_eq!(hex::encode(key.mix_secret(Epoch(epoch)).unwrap().expose()), mix_secret);
        let text = fs::read_to_string(&path).unwrap();
        let (places, rest): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("place "));
        // One that did not move was not written again.
        assert_eq!((places.len() == 1, rest.join("\n") + "\n"), (epoch != first, key_text(epoch, seed)));
        assert_eq!(mode(&path), 0o600);
    }
}

#[test]
fn the_keys_of_passed_epochs_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node.key");
    let mut key = NodeKey::create(&path, Epoch(7)).unwrap();
    key.advance_to(Epoch(9)).unwrap();

    for mut key in [NodeKey::load(&path).unwrap(), key] {
        for refused in [key.mix_secret(Epoch(8)).unwrap_err(), key.advance_to(Epoch(7)).unwrap_err()] {
            assert!(matches!(refused.problem, KeyProblem::Passed { have: Epoch(9), .. }));
            assert!(
                refused.to_string().contains("is gone, the file is at epoch 9; check this machine's clock")
            );
        }
    }
    let files = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "no earlier or temporary file stays");
}

#[test]
fn an_epoch_in_the_far_future_is_an_error_and_not_a_pause() {
    let folder = tempfile::tempdir().unwrap();
    let mut key = NodeKey::create(folder.path().join("node.key"), Epoch(7)).unwrap();
    let refused = key.advance_to(Epoch(u32::MAX)).unwrap_err();
    assert!(matches!(refused.problem, KeyProblem::TooFarAhead { .. }), "{refused}");
    assert_eq!(key.epoch(), Epoch(7));
}

#[test]
fn a_key_is_private_from_the_start_and_never_replaced_by_accident() {
    let folder = tempfile::tempdir().unwrap();
    let node = folder.path().join("node.key");
    let authority = folder.path().join("authority.key");
    NodeKey::create(&node, Epoch(1)).unwrap();
    let created = AuthorityKeyFile::create(&authority).unwrap();

    assert_eq!((mode(&node), mode(&authority)), (0o600, 0o600));
    assert_eq!(AuthorityKeyFile::load(&authority).unwrap().public_key(), created.public_key());
    let text = fs::read_to_string(&node).unwrap();
    assert!(matches!(NodeKey::create(&node, Epoch(1)).unwrap_err().problem, KeyProblem::Exists));
    assert!(matches!(AuthorityKeyFile::create(&authority).unwrap_err().problem, KeyProblem::Exists));
    assert_eq!(fs::read_to_string(&node).unwrap(), text);
}

#[test]
fn a_key_that_others_may_read_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node.key");
    NodeKey::create(&path, Epoch(1)).unwrap();
    for exposed in [0o640, 0o604, 0o660, 0o610] {
        fs::set_permissions(&path, Permissions::from_mode(exposed)).unwrap();
        let refused = NodeKey::load(&path).unwrap_err().to_string();
        assert!(refused.contains(&format!("`chmod 600 {}`", path.display())), "{refused}");
        assert!(refused.contains(&format!("{exposed:04o}")), "{refused}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    NodeKey::load(&path).unwrap();
}

#[test]
fn a_malformed_key_names_the_line_and_never_what_is_on_it() {
    let seed = VECTORS[0].1;
    let stories = [
        ("\n", 1),
        ("motemix authority key 1\nseed 00\n", 1),
        ("motemix node key 1\n", 1),
        ("motemix node key 1\nepoch seven\n", 2),
        (&format!("motemix node key 1\nepoch 7\nseed {seed}0\n"), 3),
        (&format!("motemix node key 1\nepoch 7\nseed {}\n", seed.replace('0', "x")), 3),
        (&format!("motemix node key 1\nepoch 7\nseed {seed}\nseed {seed}\n"), 4),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node.key");
    for (text, expected) in stories {
        write_key(&path, text, 0o600);
        let refused = NodeKey::load(&path).unwrap_err();
        assert!(
            matches!(refused.problem, KeyProblem::Malformed { line, .. } if line == expected),
            "{refused:?}"
        );
        let said = refused.to_string();
        assert!(!said.contains("1c1d1e1f") && said.contains(": expected "), "{said}");
        assert!(said.contains("; `motemix node renew-keys` makes new mix keys"), "{said}");
    }
    write_key(&path, "", 0o600);
    let said = NodeKey::load(&path).unwrap_err().to_string();
    assert!(said.contains("it is empty; `motemix node renew-keys` makes"), "{said}");
    fs::remove_file(&path).unwrap();
    let said = NodeKey::load(&path).unwrap_err().to_string();
    assert!(said.contains("there is no such file") && said.contains("renew-keys"), "{said}");
    // Another identity is another node.
    let said = IdentityKeyFile::load(&path).unwrap_err().to_string();
    assert!(said.contains("restore it from a backup") && said.contains("admit it anew"), "{said}");
}

#[test]
fn keys_say_nothing_about_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let node = NodeKey::create(folder.path().join("node.key"), Epoch(1)).unwrap();
    let authority = AuthorityKeyFile::create(folder.path().join("authority.key")).unwrap();
    assert_eq!(format!("{node:?} {authority:?}"), "NodeKey(..) AuthorityKeyFile(..)");
}
