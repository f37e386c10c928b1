//! A node's folder as a whole.

use crate::network::{client_folder, directory, mix, says, secret, user};
use crate::vectors::{VARIANTS, key_files, rows, variant};
use motemix_loopix::files::{
    Config, Directory, MixEntry, NodeEntry, NodeFiles, Profile, ProviderEntry, Role, Settings, UserEntry,
    config::Form, keys, names,
};
use motemix_loopix::pack;
use std::fs;

#[test]
fn the_keys_tell_the_role_and_the_rest_fits() {
    let folder = client_folder(20);
    let node = NodeFiles::open(folder.path()).unwrap();
    assert_eq!(node.role, Role::Client);
    assert_eq!(node.own, NodeEntry::Client(user(20, "Provider11")));
    assert_eq!(node.secret.to_be_bytes().expose(), secret(20).to_be_bytes().expose());
    assert_eq!(node.directory, directory());
    assert_eq!(node.config, Config::default());
    assert_eq!(node.settings.profile, Profile::Ucl2017);
}

/// Every node of the vectors, in a folder with the files that the originals' scripts put there.
#[test]
fn the_folders_of_the_originals_are_opened() {
    for variant in VARIANTS.map(variant) {
        let files = key_files(&variant);
        let public = files.iter().filter(|(_, file, _)| file.starts_with("public"));
        let entries = public.map(|(_, _, bytes)| keys::decode_public(bytes).unwrap());
        let directory = Directory::of_nodes(entries);
        for pair in files.chunks(2) {
            let folder = tempfile::tempdir().unwrap();
            for (_, file, bytes) in pair {
                fs::write(folder.path().join(file), bytes).unwrap();
            }
            let config =
                r#"{ "parametersClients": {}, "parametersMixnodes": {}, "parametersProviders": {} }"#;
            fs::write(folder.path().join("config.json"), config).unwrap();
            directory.save(&folder.path().join("example.db")).unwrap();
            let node = NodeFiles::open(folder.path()).unwrap();
            assert_eq!(node.own.name(), pair[0].0);
            assert_eq!(node.directory.users().len(), rows(&variant, "Users").len());
            assert_eq!(node.settings, Settings::default());
        }
    }
}

#[test]
fn a_folder_without_keys_or_with_those_of_two_nodes_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    says(&NodeFiles::open(empty.path()).unwrap_err(), empty.path(), &["has no keys", "secretMixnode.prv"]);
    let folder = client_folder(20);
    keys::create_secret(&keys::secret_file(folder.path(), Role::Mix), &secret(1)).unwrap();
    let error = NodeFiles::open(folder.path()).unwrap_err();
    says(&error, folder.path(), &["keys of a mix and of a client", "folder of its own"]);
}

#[test]
fn whatever_is_missing_is_named() {
    let made_here = ["cannot read it", "make the file first"];
    // The directory is made elsewhere, of what every operator hands in.
    let handed_out = ["there is no directory yet", "publicClient.bin in", "motemix loopix directory install"];
    for (file, words) in [
        ("secretClient.prv", &made_here[..]),
        ("publicClient.bin", &made_here),
        ("config.json", &made_here),
        ("example.db", &handed_out),
    ] {
        let folder = client_folder(20);
        let path = folder.path().join(file);
        fs::remove_file(&path).unwrap();
        says(&NodeFiles::open(folder.path()).unwrap_err(), &path, words);
    }
    let folder = client_folder(20);
    fs::remove_file(folder.path().join(names::SETTINGS)).unwrap();
    assert_eq!(NodeFiles::open(folder.path()).unwrap().settings.profile, Profile::Ucl2017);
}

/// Nodes of 2017 have never heard of `PUSH_MESSAGES`; providers of 2018 do not start without.
#[test]
fn a_folder_without_ours_speaks_as_its_configuration_says() {
    for (push, profile) in
        [(None, Profile::Ucl2017), (Some(false), Profile::Fork2018), (Some(true), Profile::Fork2018)]
    {
        let folder = client_folder(20);
        fs::remove_file(folder.path().join(names::SETTINGS)).unwrap();
        for form in [Form::Sections, Form::Flat] {
            let mut config = Config::default();
            config.providers.push = push;
            config.save(&folder.path().join(names::CONFIG), form).unwrap();
            assert_eq!(NodeFiles::open(folder.path()).unwrap().settings.profile, profile, "{push:?}");
        }
        // What motemix was told counts more.
        let told = Settings::of(Profile::Hardened);
        told.save(&folder.path().join(names::SETTINGS)).unwrap();
        assert_eq!(NodeFiles::open(folder.path()).unwrap().settings.profile, Profile::Hardened);
    }
}

#[test]
fn the_record_of_replay_tags_follows_from_rate_and_key_life() {
    let folder = client_folder(20);
    let path = folder.path().join(names::SETTINGS);
    for (text, tags) in [
        ("profile = \"hardened\"\n", 20 * 30 * 86_400),
        ("profile = \"hardened\"\n[replay]\npackets_per_second = 100\nkey_days = 7\n", 100 * 7 * 86_400),
        ("profile = \"hardened\"\n[replay]\npackets_per_second = 4294967295\n", 1 << 30),
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(NodeFiles::open(folder.path()).unwrap().settings.replay.tags(), tags, "{text}");
    }
}

/// A key that was renewed belongs to the same node, and the old one is gone.
#[test]
fn a_renewed_key_needs_a_new_directory_and_nothing_else() {
    let folder = client_folder(20);
    let before = NodeFiles::open(folder.path()).unwrap();
    let after = motemix_loopix::runtime::renew(folder.path()).unwrap();
    assert_eq!((after.name(), after.port()), (before.own.name(), before.own.port()));
    assert_ne!(after.public_key(), before.own.public_key());
    let database = folder.path().join(names::DATABASE);
    says(&NodeFiles::open(folder.path()).unwrap_err(), &database, &["build the directory again"]);
    let NodeEntry::Client(user) = after.clone() else { panic!("no client") };
    let mut users = before.directory.users().to_vec();
    users.retain(|other| other.name != user.name);
    users.push(user);
    let mixes = before.directory.mixes().cloned().collect();
    Directory::new(mixes, before.directory.providers().to_vec(), users).save(&database).unwrap();
    assert_eq!(NodeFiles::open(folder.path()).unwrap().own, after);
}

#[test]
fn files_that_contradict_each_other_are_named() {
    let folder = client_folder(20);
    let public = keys::public_file(folder.path(), Role::Client);
    let database = folder.path().join(names::DATABASE);
    let error = || NodeFiles::open(folder.path()).unwrap_err();

    keys::save_public(&public, &NodeEntry::Client(user(21, "Provider10"))).unwrap();
    says(&error(), &public, &["key", "does not belong to", "secretClient.prv"]);
    keys::save_public(&public, &NodeEntry::Mix(mix(20, 0))).unwrap();
    says(&error(), &public, &["kind", "is that of a mix"]);
    let own = user(20, "Provider11");
    let renamed = UserEntry { name: "Nobody".into(), ..own.clone() };
    keys::save_public(&public, &NodeEntry::Client(renamed)).unwrap();
    says(&error(), &database, &["has no client Nobody", "build the directory again"]);
    let moved = UserEntry { port: 9, ..own };
    keys::save_public(&public, &NodeEntry::Client(moved)).unwrap();
    says(&error(), &database, &["something else about the client Clië20"]);
}

#[test]
fn a_client_whose_provider_is_not_listed_is_refused() {
    let folder = client_folder(20);
    let database = folder.path().join(names::DATABASE);
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.execute("DELETE FROM Providers WHERE name = 'Provider11'", []).unwrap();
    drop(connection);
    let error = NodeFiles::open(folder.path()).unwrap_err();
    says(&error, &database, &["has no provider Provider11", "Clië20 needs"]);
}

#[test]
fn cover_that_fits_no_packet_is_refused_and_the_longest_that_does_is_not() {
    let folder = client_folder(20);
    let path = folder.path().join(names::CONFIG);
    // The longest destination has a host of 12 bytes and a name of 7.
    for (noise_len, fits) in [(974, true), (975, false)] {
        Config { noise_len, ..Config::default() }.save(&path, Form::Sections).unwrap();
        match NodeFiles::open(folder.path()) {
            Ok(node) => assert!(fits && node.config.noise_len == noise_len),
            Err(error) => {
                assert!(!fits, "{error}");
                says(&error, &path, &["NOISE_LENGTH", "975", "choose 974 at most"]);
            }
        }
    }
    // 1,024 bytes less the tag and the end of the padding hold the payload: destination and
    // message.
    let destination = pack::Value::Array(vec![pack::binary([0; 12]), 20_020.into(), pack::binary([0; 7])]);
    let payload = |noise_len: usize| {
        pack::encode(&pack::Value::Array(vec![destination.clone(), pack::binary(vec![0; 2 + noise_len])]))
    };
    assert_eq!(payload(974).len(), 1024 - 16 - 1);
}

#[test]
fn the_profile_is_kept_beside_the_originals_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(names::SETTINGS);
    for profile in [Profile::Ucl2017, Profile::Fork2018, Profile::Hardened] {
        Settings::of(profile).save(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(&format!("profile = \"{profile}\"")), "{text}");
        let written = Settings::of(profile);
        assert_eq!(Settings::load(&path).unwrap(), Some(written));
    }
    fs::write(&path, "profile = \"ucl-2018\"\n").unwrap();
    says(&Settings::load(&path).unwrap_err(), &path, &["motemix.toml:1: profile", "perhaps `ucl-2017`"]);
    fs::write(&path, "profile = \"hardened\"\nprofil = 1\n").unwrap();
    says(&Settings::load(&path).unwrap_err(), &path, &["motemix.toml:2: profil", "remove it"]);
}

/// The longest names that a directory takes leave every routing command the 127 bytes it may have.
#[test]
fn the_longest_addresses_fit_a_routing_command() {
    let (host, name) = ("h".repeat(60), "n".repeat(41));
    let provider = ProviderEntry { host: host.clone(), name: name.clone(), ..crate::network::provider(10) };
    let mix = MixEntry { host: host.clone(), ..mix(1, 0) };
    let folder = tempfile::tempdir().unwrap();
    Directory::new(vec![mix], vec![provider], vec![]).save(&folder.path().join("example.db")).unwrap();
    let text = |text: &str| pack::binary(text.as_bytes());
    let meta = vec![
        pack::Value::Array(vec![text(&host), u16::MAX.into()]),
        true.into(),
        pack::binary([1]),
        1.0.into(),
        text(&name),
    ];
    let command = pack::Value::Array(vec![pack::binary([0xf0]), pack::Value::Array(meta)]);
    assert_eq!(pack::encode(&command).len(), 127);
}
