//! A policy file: what it says, and how it names its mistakes.

use std::path::Path;

use motemix_broker::Policy;
use motemix_broker::policy::{Pattern, Who};

fn parse(text: &str) -> Result<Policy, String> {
    Policy::parse(Path::new("policy.toml"), text).map_err(|error| error.to_string())
}

#[test]
fn the_example_says_the_defaults_and_two_rules() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/policy.toml")).unwrap();
    let policy = parse(&text).unwrap();
    assert_eq!(policy.topics.len(), 2);
    assert_eq!(policy.topics[1].access.read, Some(vec![Who::Device(String::new()), Who::Local]));
    assert_eq!(Policy { topics: Vec::new(), ..policy }, Policy::default());
    assert_eq!(parse("").unwrap(), Policy::default());
}

#[test]
fn a_mistake_is_named_with_its_line_and_what_to_do() {
    for (text, says) in [
        ("\nnetwrok = \"a\"", "policy.toml:2: netwrok: unknown field"),
        ("verify = 1", "policy.toml:1: verify"),
        ("freshness = \"windw\"", "perhaps `window`"),
        ("threshold = 40000", "policy.toml:1: threshold: is 40000; use at most 32767"),
        ("[limits]\ntopics = -1", "policy.toml:2: limits.topics"),
        ("[limits]\n\npayload = 0", "policy.toml:3: limits.payload: is 0; use at least 1"),
        ("[limits]\npayload = 2000000", "policy.toml:2: limits.payload: is 2000000; use at most 1048576"),
        ("[history]\n\nbytes = 5", "policy.toml:3: history.bytes: is 5; use at least 65536"),
        ("[history]\nbytes_of_a_device = -1", "policy.toml:2: history.bytes_of_a_device"),
        ("[rates]\nburst = 0", "policy.toml:2: rates.burst: is 0"),
        ("[directory]\ndevices = [\"ab\"]", "policy.toml:2: directory.devices: \"ab\" is no identity"),
        ("[oscore]\ndevices = [\"ab\"]", "policy.toml:2: oscore.devices: \"ab\" is no identity"),
        ("[oscore]\ncontexts = 0", "policy.toml:2: oscore.contexts: is 0; use at least 1"),
        ("[oscore]\n\ncontexts = 70000", "policy.toml:3: oscore.contexts: is 70000; use at most 65536"),
        ("[directory]\nregistration_bytes = 2000000", "directory.registration_bytes: is 2000000"),
        (
            "[[access]]\ntopics = \"a\"\nread = [\"evrybody\"]",
            "policy.toml:3: access[0].read: \"evrybody\": none of anyone",
        ),
        ("[[access]]\nread = [\"anyone\"]", "missing field `topics`"),
        ("[[access]]\ntopics = \"a\"", "policy.toml:2: access[0].topics: the rule says nothing"),
        (
            "[[access]]\ntopics = \"a\"\nread = []\n[[access]]\ntopics = \"#/a\"\nread = []",
            "policy.toml:5: access[1].topics: \"#/a\": `#` stands at the end only",
        ),
        (
            "[[access]]\ntopics = \"a\"\npublish = [\"device 12\"]",
            "policy.toml:3: access[0].publish: \"device 12\": a device is 16 to 64",
        ),
    ] {
        let said = parse(text).unwrap_err();
        assert!(said.contains(says), "{said} has not {says}");
        assert!(!said.contains('\n'), "{said}");
    }
    let long = format!("network = \"{}\"", "n".repeat(65));
    assert!(parse(&long).unwrap_err().contains("has 65 bytes; use at most 64"));
}

#[test]
fn a_pattern_matches_whole_segments() {
    for (pattern, matching, others) in [
        ("a/b", vec!["a/b"], vec!["a", "a/b/c", "a/c", "a/b/"]),
        ("a/+/c", vec!["a/b/c", "a//c"], vec!["a/c", "a/b/b/c", "a/b"]),
        ("a/#", vec!["a", "a/b", "a/b/c"], vec!["b", "ab"]),
        ("#", vec!["", "a", "a/b"], vec![]),
        ("+", vec!["a", ""], vec!["a/b"]),
    ] {
        let pattern: Pattern = pattern.parse().unwrap();
        for name in matching {
            assert!(pattern.matches(name), "{pattern} {name}");
        }
        for name in others {
            assert!(!pattern.matches(name), "{pattern} {name}");
        }
    }
    for wrong in ["", "a#", "#/a", "a/b+/c"] {
        assert!(wrong.parse::<Pattern>().is_err(), "{wrong}");
    }
}
