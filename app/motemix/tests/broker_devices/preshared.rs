//! A device and the broker were given a security context before they met.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::broker::{Broker, code, text};
use crate::program::motemix;
use crate::proven::{Device, links};
use crate::python::Python;

const SECRET: [u8; 32] = [0x5a; 32];

fn write_private(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
}

fn context(device: &Device) -> String {
    let (device, secret) = (device.identity(), hex::encode(SECRET));
    format!("motemix oscore context 1\ndevice {device}\nsender 01\nrecipient 02\nsalt a5\nsecret {secret}\n")
}

/// Up to where the broker's numbers may have been used.
fn reserved(data: &Path) -> i64 {
    let file = rusqlite::Connection::open(data.join("oscore.sqlite")).expect("the broker made it");
    file.query_row("SELECT max(below) FROM numbers", [], |row| row.get(0)).expect("a number")
}

#[test]
fn a_device_with_a_shared_context_goes_on_after_a_power_cut_and_no_number_comes_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let device = Device::of(0x27);
    write_private(&data.join("oscore/gate.context"), &context(&device));
    let theirs = folder.path().join("theirs");
    let settings = json!({
        "sender-id_hex": "02", "recipient-id_hex": "01", "secret_hex": hex::encode(SECRET), "salt_hex": "a5",
    });
    write_private(&theirs.join("settings.json"), &settings.to_string());

    let mut python = Python::device();
    let mut place = String::new();
    for (life, below) in [256, 512, 768].into_iter().enumerate() {
        // Dropping it kills it.
        let mut broker = Broker::start_with(&data, &["--page", "127.0.0.1:0"]);
        python.ask("introduce", json!({ "base": broker.base, "folder": theirs })).expect("a client");
        if life == 0 {
            let registered = broker.ask(&mut python, "POST", "/rd?ep=gate", links(&device));
            assert_eq!((code(&registered), &registered["is_protected"]), ("2.01", &json!(true)));
            place = format!("/{}", registered["path"].as_str().expect("a place"));
            // The context is that of one device.
            let refused = broker.ask(&mut python, "POST", "/rd?ep=other", links(&Device::of(0x28)));
            assert_eq!(code(&refused), "4.01");
        }
        let changed = broker.ask(&mut python, "POST", &format!("{place}?lt=60"), json!({}));
        assert_eq!(code(&changed), "2.04", "{}", text(&changed));
        let [counters] = <[Value; 1]>::try_from(broker.page(&["/api/counters"])).expect("one");
        assert_eq!(counters["oscore"]["asked_for_echo"], json!(1), "the window of before is forgotten");
        drop(broker);
        assert_eq!(reserved(&data), below);
        if life == 0 {
            fs::copy(data.join("oscore.sqlite"), folder.path().join("earlier")).expect("a copy");
        }
    }

    // Without the numbers, or with those of before, nothing is sent under the context.
    let numbers = data.join("oscore.sqlite");
    let deeds: [(&dyn Fn(), &str); 3] = [
        (
            &|| {
                fs::copy(folder.path().join("earlier"), &numbers).expect("a copy");
            },
            "it is older",
        ),
        (&|| fs::remove_file(&numbers).expect("it is ours"), "it is gone"),
        (&|| fs::write(&numbers, "").expect("it is ours"), "it is empty"),
    ];
    for (deed, says) in deeds {
        deed();
        let words = ["broker", "--listen", "127.0.0.1:0", "--data", data.to_str().expect("UTF-8")];
        motemix(words).fails(1, &["oscore.sqlite: ", says, "a new secret", "motemix adopt"]);
    }
    let other = context(&device).replace("5a5a", "6b6b");
    write_private(&data.join("oscore/gate.context"), &other);
    motemix(["adopt", numbers.to_str().expect("UTF-8")]).succeeds();
    drop(Broker::start_with(&data, &[]));
}

#[test]
fn two_contexts_that_would_use_one_key_and_a_file_that_others_may_read_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let text = context(&Device::of(0x27));
    let (one, other) = (data.join("oscore/a.context"), data.join("oscore/b.context"));
    write_private(&one, &text);
    write_private(&other, &text.replace("recipient 02", "recipient 03"));
    let words = ["broker", "--listen", "127.0.0.1:0", "--data", data.to_str().expect("UTF-8")];
    motemix(words).fails(2, &["b.context", "the same keys", "a.context"]);
    fs::remove_file(&other).expect("it is ours");
    fs::set_permissions(&one, fs::Permissions::from_mode(0o644)).expect("it is ours");
    motemix(words).fails(2, &["a.context", "chmod 600"]);
}
