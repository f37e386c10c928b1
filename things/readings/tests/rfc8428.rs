//! The thirteen examples of RFC 8428 (`vectors/senml`), and its dump of CBOR.

use std::fs;
use std::path::PathBuf;

use motemix_readings::senml::{Number, Pack};

const EXAMPLES: [&str; 13] = [
    "2a", "2b", "5.1.1", "5.1.2a", "5.1.2b", "5.1.2c", "5.1.3", "5.1.4", "5.1.5", "5.1.6", "5.1.7a",
    "5.1.7b", "5.1.7c",
];

fn vector(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/senml");
    fs::read_to_string(folder.join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn read(name: &str) -> Pack {
    Pack::from_json(vector(name).as_bytes()).unwrap_or_else(|why| panic!("{name}: {why}"))
}

#[test]
fn every_example_resolves() {
    let now = Number::integer(1_498_780_179);
    for name in EXAMPLES {
        let resolved =
            read(&format!("{name}.json")).resolve(now).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(resolved.to_pack(), read(&format!("{name}.resolved.json")), "{name}");
    }
}

#[test]
fn the_example_with_a_resolved_form_has_that_form() {
    let resolved = read("5.1.3.json").resolve(Number::ZERO).expect("it has absolute times");
    assert_eq!(resolved.to_pack(), read("5.1.4.json"));
}

#[test]
fn every_example_survives_both_forms() {
    for name in EXAMPLES {
        let pack = read(&format!("{name}.json"));
        assert_eq!(Pack::read(&pack.to_cbor()).as_ref(), Ok(&pack), "{name}");
        assert_eq!(Pack::read(pack.to_json().as_bytes()).as_ref(), Ok(&pack), "{name}");
    }
}

#[test]
fn the_dump_of_cbor_is_the_example_in_json() {
    let bytes = hex::decode(vector("6.cbor.hex").trim()).expect("hex");
    let mut from_cbor = Pack::from_cbor(&bytes).expect("a pack");
    // The dump says a time of zero, which the example in JSON leaves out.
    let last = from_cbor.records.last_mut().expect("seven records");
    assert_eq!(last.time.take(), Some(Number::ZERO));
    assert_eq!(from_cbor, read("5.1.2b.json"));
}
