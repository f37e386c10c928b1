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

/// Four motes as they answer to `key`: names, addresses, and keys that are points.
fn motes() -> Vec<String> {
    (1..=4)
        .map(|mote| format!("mote-{mote}=[fe80::{mote}]:61616,{}", format!("{mote:02}").repeat(32)))
        .collect()
}

#[test]
fn sign_makes_a_document_of_what_motes_said_of_themselves() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("motes");
    let dir = dir.to_str().unwrap();
    let motes = motes();
    let sign = |more: &[&str]| {
        let words = ["directory", "sign", dir].into_iter().chain(motes.iter().map(String::as_str));
        motemix(words.chain(more.iter().copied()))
    };
    let said = sign(&["--endpoint", "mote-4"]).succeeds();
    assert!(said.contains("4 nodes"), "{said}");
    let shown = motemix(["directory", "show", dir, "--json"]).succeeds();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["nodes"][0]["role"], &shown["nodes"][3]["role"]), (&"mix".into(), &"endpoint".into()));
    assert_eq!(shown["nodes"][2]["addresses"][0], "[fe80::3]:61616");
    // The lines for a console are the document, in pieces that the shortest line holds.
    let documents: Vec<_> =
        fs::read_dir(format!("{dir}/documents")).unwrap().map(|file| file.unwrap().path()).collect();
    let with = |end: &str| documents.iter().find(|path| path.extension().unwrap() == end).unwrap();
    let lines = fs::read_to_string(with("txt")).unwrap();
    let pieces = lines
        .lines()
        .filter_map(|line| line.strip_prefix("document "))
        .filter(|line| !line.ends_with(['n', 'd']) || line.len() > 5);
    assert_eq!(pieces.collect::<String>(), hex::encode(fs::read(with("cbor")).unwrap()));
    assert!(lines.lines().all(|line| line.len() < 120), "{lines}");
    // An epoch has one document; the next one is signed by the same authority.
    sign(&[]).fails(2, &[".cbor", "there is a document of epoch", "--epoch"]);
    let epoch = shown["epoch"].as_u64().unwrap() + 1;
    sign(&["--epoch", &epoch.to_string()]).succeeds();
    sign(&["--endpoint", "mote-9", "--epoch", "9"]).fails(2, &["mote-9", "none of the nodes"]);
}

#[test]
fn what_no_mote_said_is_not_signed() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().to_str().unwrap();
    let motes = motes();
    let few = ["directory", "sign", dir].into_iter().chain(motes[..3].iter().map(String::as_str));
    assert_eq!(motemix(few).status(), 2);
    for (wrong, reason) in [
        ("mote-5", "NAME=ADDRESS,KEY"),
        ("mote-5=[fe80::5]:61616", "NAME=ADDRESS,KEY"),
        ("mote-5=fe80::5,00", "NAME=ADDRESS,KEY"),
        ("mote-5=[fe80::5]:61616,00", "64 hex digits"),
    ] {
        let words = ["directory", "sign", dir].into_iter().chain(motes.iter().map(String::as_str));
        let run = motemix(words.chain([wrong]));
        assert!(run.status() == 2 && run.stderr().contains(reason), "{}", run.stderr());
    }
}
