//! Stories of `motemix directory`.

mod program;

use program::{Network, motemix};
use std::fs;

#[test]
fn show_lists_every_node_of_the_present_epoch() {
    let network = Network::init(&["--mixes", "4", "--layers", "2", "--loop-cover", "0s"]);
    let by_file = network.documents()[0].clone();
    for path in [network.dir.clone(), network.path("documents"), by_file] {
        let said = motemix(["directory", "show", path.to_str().unwrap()]).succeeds();
        for name in ["mix-1", "mix-4", "mote-1", "mote-4", "receiver"] {
            assert!(said.contains(name), "{name} is not in {said}");
        }
        assert!(said.contains("off") && said.contains("50ms"), "{said}");
    }
    let said = motemix(["directory", "show", network.dir.to_str().unwrap(), "--json"]).succeeds();
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(json["nodes"].as_array().unwrap().len(), 9);
    assert_eq!(json["nodes"][3]["layer"], 1);
    assert_eq!(json["parameters"]["mean_delay_us"], 50_000);
    assert_eq!(json["parameters"]["loop_mean_us"], serde_json::Value::Null);
}

#[test]
fn verify_says_until_when_a_document_is_valid() {
    let network = Network::init(&[]);
    let document = network.documents()[0].clone();
    let said =
        motemix(["directory", "verify", document.to_str().unwrap(), "--authority", &network.authority()])
            .succeeds();
    assert!(said.starts_with("valid: epoch ") && said.contains("11 nodes"), "{said}");
}

#[test]
fn a_document_with_one_bit_changed_is_refused() {
    let network = Network::init(&[]);
    let path = network.documents()[0].clone();
    let authority = network.authority();
    let whole = fs::read(&path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let file = path.to_str().unwrap();
    for at in [0, 1, 10, whole.len() / 2, whole.len() - 70, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        motemix(["directory", "verify", file, "--authority", &authority]).fails(2, &[name]);
        motemix(["directory", "show", file]).fails(2, &[name]);
    }
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    motemix(["directory", "verify", file, "--authority", &authority]).fails(2, &[name]);
    fs::write(&path, &whole).unwrap();
    motemix(["directory", "verify", file, "--authority", &authority]).succeeds();
}

#[test]
fn a_document_of_another_authority_or_time_is_refused() {
    let network = Network::init(&[]);
    let document = network.documents()[0].to_str().unwrap().to_owned();
    let stranger = Network::init(&[]).authority();
    let ours = network.authority();
    let verify = |more: &[&str]| motemix([&["directory", "verify", &document], more].concat());
    verify(&["--authority", &stranger]).fails(2, &[".cbor", "0 of 1 signatures"]);
    verify(&["--authority", &ours, "--authority", &stranger]).succeeds();
    verify(&["--authority", &ours, "--authority", &stranger, "--threshold", "2"])
        .fails(2, &[".cbor", "1 of 2 signatures"]);
    verify(&["--authority", &ours, "--threshold", "2"]).fails(2, &["--threshold", "use 1 up to"]);
    verify(&["--authority", &ours, "--at", "2030-01-31T12:00:00Z"]).fails(2, &[".cbor", "expired"]);
    verify(&["--authority", &ours, "--at", "2001-01-31T12:00:00Z"]).fails(2, &[".cbor", "valid from"]);
    motemix(["directory", "show", &document, "--authority", &stranger]).fails(2, &[".cbor", "signatures"]);
}

#[test]
fn show_wants_to_know_whose_signature_counts() {
    let network = Network::init(&[]);
    fs::remove_file(network.path("authority.pub")).unwrap();
    motemix(["directory", "show", network.dir.to_str().unwrap()]).fails(2, &["authority.pub", "--authority"]);
    motemix(["directory", "show", "/nowhere"]).fails(2, &["/nowhere: neither a document", "check the path"]);
}
