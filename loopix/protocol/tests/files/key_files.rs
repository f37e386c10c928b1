//! Key files.

use crate::network::{mix, says, secret, user};
use crate::vectors::{VARIANTS, key_files, variant};
use motemix_crypto::p224::{Point, Scalar};
use motemix_loopix::files::{NodeEntry, Role, keys};
use motemix_loopix::pack;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use subtle::ConstantTimeEq as _;

#[test]
fn the_originals_files_are_read_and_written_byte_for_byte() {
    for variant in VARIANTS.map(variant) {
        for (node, file, bytes) in key_files(&variant) {
            let folder = tempfile::tempdir().unwrap();
            let (read, written) = (folder.path().join("read"), folder.path().join("written"));
            fs::write(&read, &bytes).unwrap();
            if file.starts_with("secret") {
                let secret = keys::load_secret(&read).unwrap();
                let stated = variant["secrets"][&node].as_str().unwrap();
                assert_eq!(hex::encode(secret.to_be_bytes().expose()), stated);
                keys::create_secret(&written, &secret).unwrap();
            } else {
                let entry = keys::load_public(&read).unwrap();
                assert_eq!(entry.name(), node);
                let stated = variant["publics"][&node].as_str().unwrap();
                assert_eq!(hex::encode(entry.public_key().compress()), stated);
                keys::save_public(&written, &entry).unwrap();
            }
            assert_eq!(fs::read(&written).unwrap(), bytes, "{node} {file}");
        }
    }
}

#[test]
fn the_two_files_of_a_node_belong_together() {
    for variant in VARIANTS.map(variant) {
        let files = key_files(&variant);
        for pair in files.chunks(2) {
            let [(node, _, public), (same, _, secret)] = pair else { panic!("a node without two files") };
            assert_eq!(node, same);
            let secret = keys::decode_secret(secret).unwrap();
            let entry = keys::decode_public(public).unwrap();
            assert_eq!(*entry.public_key(), Point::mul_generator(&secret));
        }
    }
}

#[test]
fn a_secret_is_for_its_owner_alone_and_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = keys::secret_file(folder.path(), Role::Provider);
    keys::create_secret(&path, &secret(1)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let error = keys::create_secret(&path, &secret(2)).unwrap_err();
    says(&error, &path, &["is there already", "remove it first"]);
    assert_eq!(keys::load_secret(&path).unwrap().to_be_bytes().expose(), secret(1).to_be_bytes().expose());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was left behind");
}

#[test]
fn a_folder_that_is_not_there_and_a_folder_in_place_of_a_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere/secretClient.prv");
    says(&keys::load_secret(&nowhere).unwrap_err(), &nowhere, &["cannot read it"]);
    says(&keys::create_secret(&nowhere, &secret(1)).unwrap_err(), &nowhere, &["cannot write it"]);
    says(&keys::load_public(folder.path()).unwrap_err(), folder.path(), &["cannot read it"]);
}

/// What petlib packs for a number, whatever its length: short ones have markers of their own.
#[test]
fn secrets_of_every_length_are_packed_as_petlib_does() {
    for len in 1..=28 {
        let mut bytes = motemix_crypto::Secret::<28>::zero();
        for byte in bytes.expose_mut().iter_mut().rev().take(len) {
            *byte = 0x5a;
        }
        let secret = Scalar::from_be_bytes(&bytes).unwrap();
        let packed = keys::encode_secret(&secret);
        assert_eq!(*packed, pack::encode(&pack::big_integer(bytes.expose())));
        let read = keys::decode_secret(&packed).unwrap();
        assert_eq!(read.to_be_bytes().expose(), bytes.expose());
    }
}

#[test]
fn a_secret_that_is_no_secret_is_refused_for_what_it_is() {
    let order = "ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3d";
    for (packed, problem) in [
        (String::new(), "no msgpack big integer"),
        ("d4002b".into(), "is 0"),
        ("d5002b00".into(), "is 0"),
        (format!("c71d002b{order}"), "not below the order"),
        (format!("c71d002d{}", &order[2..]), "cut short"),
        (format!("c71d002d00{}", &order[2..]), "negative"),
        (format!("c71e002b01{order}"), "more than 28 bytes"),
        (format!("c71d002b00{}00", &order[2..]), "bytes after the number"),
        (format!("c71d012b00{}", &order[2..]), "no msgpack big integer"),
        (format!("c71d0001{order}"), "no msgpack big integer"),
        ("c0".into(), "no msgpack big integer"),
    ] {
        let error = keys::decode_secret(&hex::decode(&packed).unwrap()).unwrap_err();
        assert!(error.contains(problem), "{packed}: {error}");
    }
}

#[test]
fn a_public_key_file_names_the_field_that_is_wrong() {
    let good = keys::encode_public(&NodeEntry::Mix(mix(1, 2)));
    let pack::Value::Array(fields) = pack::decode(&good).unwrap() else { panic!("no array") };
    let with = |place: usize, value: pack::Value| {
        let mut fields = fields.clone();
        fields[place] = value;
        pack::encode(&pack::Value::Array(fields))
    };
    // On the curve of the generator's x plus one there is no point, and infinity is nobody's key.
    let off_curve = [[2].as_slice(), &[0xff; 28]].concat().try_into().unwrap();
    let infinity = pack::Value::Ext(2, hex::decode("92cd02c9a100").unwrap());
    for (bytes, words) in [
        (with(0, "mixer".into()), &["kind", "neither mixnode"][..]),
        (with(1, pack::Value::Nil), &["name", "is no text"]),
        (with(1, "".into()), &["name", "is empty"]),
        (with(1, "x".repeat(102).into()), &["name", "102 bytes"]),
        (with(1, "x".repeat(93).into()), &["host", "102 bytes together"]),
        (with(1, "Mix\u{1b}[2J".into()), &["name", "control characters"]),
        (with(3, "127.0.0.1\n".into()), &["host", "control characters"]),
        (with(2, 0.into()), &["port", "is 0", "1 to 65535"]),
        (with(2, 65_536.into()), &["port", "is 65536"]),
        (with(2, (-1).into()), &["port", "is -1"]),
        (with(2, "30000".into()), &["port", "is no whole number"]),
        (with(3, "".into()), &["host", "is empty"]),
        (with(3, pack::binary([0xff])), &["host", "is no text"]),
        (with(4, u64::MAX.into()), &["layer", "is no whole number"]),
        (with(5, pack::point(&off_curve)), &["key", "no point of P-224"]),
        (with(5, infinity), &["key", "no point of P-224"]),
        (pack::encode(&pack::Value::Array(fields[..5].to_vec())), &["key", "is missing"]),
        (pack::encode(&pack::Value::Array([fields.clone(), fields].concat())), &["more fields"]),
        (pack::encode(&pack::Value::Nil), &["is no array"]),
        (good[..good.len() - 1].to_vec(), &["not a msgpack value"]),
        ([good, vec![0]].concat(), &["bytes are left"]),
        (vec![0xc1; 513], &["longer than 512 bytes"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = keys::public_file(folder.path(), Role::Mix);
        fs::write(&path, bytes).unwrap();
        says(&keys::load_public(&path).unwrap_err(), &path, words);
    }
}

#[test]
fn nothing_is_written_that_would_not_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = keys::public_file(folder.path(), Role::Client);
    let mut nameless = user(1, "Provider1");
    nameless.name.clear();
    let error = keys::save_public(&path, &NodeEntry::Client(nameless)).unwrap_err();
    says(&error, &path, &["name", "is empty"]);
    assert!(!path.exists());
}

/// Python 3 packs text as text, and reads what Python 2 wrote.
#[test]
fn text_may_be_packed_as_either_python_does() {
    let entry = NodeEntry::Client(user(3, "Provider1"));
    let pack::Value::Array(fields) = pack::decode(&keys::encode_public(&entry)).unwrap() else {
        panic!("no array")
    };
    let as_python_3 = |field: &pack::Value| pack::text(field).map_or_else(|| field.clone(), Into::into);
    let packed = pack::encode(&pack::Value::Array(fields.iter().map(as_python_3).collect()));
    assert_ne!(packed, keys::encode_public(&entry));
    assert_eq!(keys::decode_public(&packed).unwrap(), entry);
}

proptest! {
    #[test]
    fn any_bytes_are_a_key_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        if let Ok(secret) = keys::decode_secret(&bytes) {
            let again = keys::decode_secret(&keys::encode_secret(&secret)).unwrap();
            prop_assert!(bool::from(again.to_be_bytes().ct_eq(&secret.to_be_bytes())));
        }
        if let Ok(entry) = keys::decode_public(&bytes) {
            prop_assert_eq!(keys::decode_public(&keys::encode_public(&entry)).unwrap(), entry);
        }
    }

    /// Bytes near to a real file reach further into the reader than random ones.
    #[test]
    fn a_file_with_a_changed_byte_is_a_key_or_refused(at in 0_usize..80, to in any::<u8>(), cut in 0_usize..90) {
        let mut public = keys::encode_public(&NodeEntry::Mix(mix(1, 2)));
        let mut secret = keys::encode_secret(&secret(1)).to_vec();
        for bytes in [&mut public, &mut secret] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = to;
            }
            bytes.truncate(cut);
        }
        if let Ok(entry) = keys::decode_public(&public) {
            prop_assert_eq!(keys::decode_public(&keys::encode_public(&entry)).unwrap(), entry);
        }
        if let Ok(number) = keys::decode_secret(&secret) {
            prop_assert_eq!(keys::encode_secret(&number).to_vec(), pack::encode(&pack::big_integer(number.to_be_bytes().expose())));
        }
    }

    #[test]
    fn what_is_written_is_read(name in "[a-zA-Zëñ0-9.-]{1,40}", host in "[a-z0-9.:]{1,20}", port in 1_u16.., layer in any::<i64>()) {
        let entry = NodeEntry::Mix(motemix_loopix::files::MixEntry { name, host, port, layer, ..mix(1, 0) });
        prop_assert_eq!(keys::decode_public(&keys::encode_public(&entry)).unwrap(), entry);
    }
}
