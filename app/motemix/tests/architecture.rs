//! The dependency table of the workspace and the rules of its protocol crates, enforced.
//!
//! `Rules` is the table, `Found` is what the workspace holds, `violations` compares them. The
//! checker is itself tested on inputs that break each rule, so a rule that stopped matching would
//! be noticed.

#[path = "architecture/found.rs"]
mod found;
#[path = "architecture/source.rs"]
mod source;

use found::{Crate, File, read_workspace};
use source::Source;

/// What one workspace crate may use.
struct Rule {
    name: &'static str,
    may_use: &'static [&'static str],
    kind: Kind,
}

#[derive(PartialEq)]
enum Kind {
    /// `no_std`, no allocator, no clock, no entropy, no floating point, no sockets, no async, no
    /// serde.
    Protocol,
    /// The same for one chip, whose registers it reads and writes.
    Driver,
    /// Runs on an operating system.
    Host,
}

/// Lowest first, as in the workspace's list of members. A new crate gets a line here.
const RULES: [Rule; 35] = [
    // Time that all hand to each other; no clock.
    Rule { name: "motemix-time", may_use: &[], kind: Kind::Protocol },
    Rule { name: "motemix-crypto", may_use: &[], kind: Kind::Protocol },
    Rule { name: "motemix-sphinx", may_use: &["motemix-crypto"], kind: Kind::Protocol },
    Rule {
        name: "motemix-directory",
        may_use: &["motemix-time", "motemix-crypto", "motemix-sphinx"],
        kind: Kind::Protocol,
    },
    Rule {
        name: "motemix-node",
        may_use: &["motemix-time", "motemix-crypto", "motemix-sphinx", "motemix-directory"],
        kind: Kind::Protocol,
    },
    // Knows neither packets nor addresses.
    Rule { name: "motemix-neighbour", may_use: &["motemix-time", "motemix-crypto"], kind: Kind::Protocol },
    // Knows no path: an object is the same on all of them.
    Rule { name: "motemix-object", may_use: &["motemix-crypto"], kind: Kind::Protocol },
    // Its payload is opaque: what it carries is nothing to the link.
    Rule {
        name: "motemix-link",
        may_use: &["motemix-time", "motemix-crypto", "motemix-neighbour"],
        kind: Kind::Protocol,
    },
    Rule {
        name: "motemix-mote",
        may_use: &[
            "motemix-crypto",
            "motemix-sphinx",
            "motemix-directory",
            "motemix-node",
            "motemix-neighbour",
            "motemix-object",
            "motemix-link",
        ],
        kind: Kind::Protocol,
    },
    // Knows files, and nothing of what is in them.
    Rule { name: "motemix-toml", may_use: &[], kind: Kind::Host },
    // What a program asks of its host; knows no node.
    Rule { name: "motemix-os", may_use: &["motemix-time", "motemix-crypto"], kind: Kind::Host },
    Rule {
        name: "motemix-host",
        may_use: &[
            "motemix-crypto",
            "motemix-sphinx",
            "motemix-directory",
            "motemix-node",
            "motemix-neighbour",
            "motemix-link",
            "motemix-toml",
            "motemix-os",
        ],
        kind: Kind::Host,
    },
    // Who signs documents; knows no packet.
    Rule {
        name: "motemix-authority",
        may_use: &["motemix-crypto", "motemix-directory", "motemix-toml", "motemix-os", "motemix-host"],
        kind: Kind::Host,
    },
    // What readings say, and whose they are; knows no way that they come.
    Rule {
        name: "motemix-readings",
        may_use: &["motemix-crypto", "motemix-object", "motemix-os"],
        kind: Kind::Host,
    },
    // Another protocol's wire; takes the algorithm, the socket and the stores.
    Rule {
        name: "motemix-loopix",
        may_use: &[
            "motemix-crypto",
            "motemix-sphinx",
            "motemix-directory",
            "motemix-node",
            "motemix-toml",
            "motemix-os",
            "motemix-host",
        ],
        kind: Kind::Host,
    },
    // No input and output; an allocator, and keys made by EDHOC.
    Rule {
        name: "motemix-coap",
        may_use: &["motemix-time", "motemix-crypto", "motemix-neighbour"],
        kind: Kind::Host,
    },
    // Asks a broker; decides nothing.
    Rule {
        name: "motemix-broker-client",
        may_use: &["motemix-time", "motemix-object", "motemix-os", "motemix-readings", "motemix-coap"],
        kind: Kind::Host,
    },
    // Holds what was published; how readings came to it is others' work.
    Rule {
        name: "motemix-broker",
        may_use: &[
            "motemix-time",
            "motemix-crypto",
            "motemix-neighbour",
            "motemix-object",
            "motemix-toml",
            "motemix-os",
            "motemix-readings",
            "motemix-coap",
            "motemix-broker-client",
        ],
        kind: Kind::Host,
    },
    // One of the broker's stores.
    Rule { name: "motemix-broker-nats", may_use: &["motemix-broker"], kind: Kind::Host },
    // What the programs share; none of them.
    Rule {
        name: "motemix-program",
        may_use: &[
            "motemix-crypto",
            "motemix-sphinx",
            "motemix-directory",
            "motemix-node",
            "motemix-neighbour",
            "motemix-object",
            "motemix-os",
            "motemix-host",
            "motemix-readings",
            "motemix-broker-client",
        ],
        kind: Kind::Host,
    },
    // A node or an authority: neither broker nor Loopix, and nothing of a terminal.
    Rule {
        name: "motemixd",
        may_use: &[
            "motemix-crypto",
            "motemix-sphinx",
            "motemix-directory",
            "motemix-object",
            "motemix-os",
            "motemix-host",
            "motemix-authority",
            "motemix-readings",
            "motemix-broker-client",
            "motemix-program",
        ],
        kind: Kind::Host,
    },
    // What is needed to run a network, and nothing that is needed to study one.
    Rule {
        name: "motemix",
        may_use: &[
            "motemix-time",
            "motemix-crypto",
            "motemix-sphinx",
            "motemix-directory",
            "motemix-neighbour",
            "motemix-object",
            "motemix-os",
            "motemix-host",
            "motemix-readings",
            "motemix-coap",
            "motemix-broker-client",
            "motemix-program",
            "motemixd",
        ],
        kind: Kind::Host,
    },
    Rule {
        name: "motemix-broker-program",
        may_use: &["motemix-os", "motemix-broker", "motemix-broker-nats", "motemix-program"],
        kind: Kind::Host,
    },
    Rule {
        name: "motemix-loopix-program",
        may_use: &["motemix-crypto", "motemix-os", "motemix-host", "motemix-loopix", "motemix-program"],
        kind: Kind::Host,
    },
    // What tests of programs share.
    Rule { name: "motemix-testbed", may_use: &[], kind: Kind::Host },
    // The line between Rust and C: the only crate with `repr(C)`, and the only raw pointers.
    Rule {
        name: "motemix-capi",
        may_use: &[
            "motemix-crypto",
            "motemix-sphinx",
            "motemix-directory",
            "motemix-node",
            "motemix-neighbour",
            "motemix-object",
            "motemix-link",
            "motemix-mote",
        ],
        kind: Kind::Host,
    },
    Rule { name: "motemix-at86rf231", may_use: &["motemix-link"], kind: Kind::Driver },
    Rule {
        name: "motemix-cc2538-crypto",
        may_use: &["motemix-crypto", "motemix-neighbour"],
        kind: Kind::Driver,
    },
    Rule { name: "motemix-csma", may_use: &["motemix-link"], kind: Kind::Driver },
    Rule { name: "motemix-stm32f1-thermometer", may_use: &[], kind: Kind::Driver },
    Rule { name: "motemix-write-once", may_use: &[], kind: Kind::Driver },
    Rule { name: "motemix-air", may_use: &["motemix-link"], kind: Kind::Host },
    // Runs the shipping code; makes no decision of a protocol itself.
    Rule {
        name: "motemix-sim",
        may_use: &[
            "motemix-crypto",
            "motemix-sphinx",
            "motemix-directory",
            "motemix-node",
            "motemix-link",
            "motemix-mote",
            "motemix-object",
            "motemix-toml",
            "motemix-air",
        ],
        kind: Kind::Host,
    },
    // Knows nothing of what runs on it.
    Rule { name: "motemix-mcu", may_use: &[], kind: Kind::Host },
    Rule {
        name: "motemix-lab",
        may_use: &[
            "motemix-crypto",
            "motemix-sphinx",
            "motemix-directory",
            "motemix-link",
            "motemix-neighbour",
            "motemix-object",
            "motemix-toml",
            "motemix-host",
            "motemix-readings",
            "motemix-loopix",
            "motemix-air",
            "motemix-sim",
            "motemix-mcu",
            "motemix-os",
            "motemix-program",
            "motemix-loopix-program",
        ],
        kind: Kind::Host,
    },
];

/// What protocol crates may take from elsewhere. Each works without `std` and without an allocator.
const PROTOCOL_LIBRARIES: [&str; 26] = [
    "blake2",
    // The wide block of the host profiles; boards do not link it.
    "blake2b_simd",
    "chacha20",
    // What is sealed to a device.
    "chacha20poly1305",
    // Which vectors a processor has, for batches of the curve.
    "cpufeatures",
    "crc",
    "curve25519-dalek",
    "ed25519-dalek",
    // The hash of Ed25519, for boards that check signatures without tables.
    "sha2",
    // The primitives between neighbours.
    "aes",
    "ccm",
    "ecdsa",
    "hkdf",
    "p256",
    "rfc6979",
    // Readings and what devices state: CBOR into memory that is lent.
    "minicbor",
    // The store of a mote: its library speaks in futures, which one call runs to their end.
    "embassy-futures",
    "embedded-storage",
    "embedded-storage-async",
    "heapless",
    // How drivers reach a bus and pins.
    "embedded-hal",
    "rand_core",
    "sequential-storage",
    "siphasher",
    "subtle",
    "zeroize",
];

/// What must not even reach a protocol crate through another library.
const NEVER_BELOW: [&str; 10] =
    ["tokio", "serde", "serde_json", "tracing", "log", "rand", "getrandom", "libc", "anyhow", "socket2"];

const PROTOCOL_ATTRIBUTES: [&str; 2] = ["#![no_std]", "#![forbid(unsafe_code)]"];
/// The one protocol crate with unsafe code denies it everywhere but in these files, which have
/// nothing else in them: what cores and vectors do that Rust has no word for.
const WITH_UNSAFE: &str = "motemix-crypto";
const DENIES_UNSAFE: &str = "#![deny(unsafe_code)]";
const UNSAFE_FILES: [&str; 11] = [
    "curve/lanes/detected.rs",
    "curve/lanes/extremes.rs",
    "curve/lanes/rows.rs",
    "curve/words/armv6m.rs",
    "curve/words/armv7em/choose.rs",
    "curve/words/armv7em/ladder.rs",
    "curve/words/armv7em/multiply.rs",
    "curve/words/armv7em/square.rs",
    "curve/words/armv7em/sums.rs",
    "curve/words/armv7m.rs",
    "stream/armv7.rs",
];
const PROTOCOL_FORBIDS: [&str; 6] = ["f32", "f64", "std::time", "Instant::now", "SystemTime", "async fn"];
const EMPTY_NAMES: [&str; 4] = ["common", "shared", "utils", "helpers"];
const MAX_LINES: usize = 500;

fn violations(crates: &[Crate]) -> Vec<String> {
    let mut found: Vec<_> = crates.iter().flat_map(violations_of).collect();
    found.extend(
        RULES
            .iter()
            .filter(|rule| !crates.iter().any(|member| member.name == rule.name))
            .map(|rule| format!("{}: in the table of this test, but not in the workspace", rule.name)),
    );
    found
}

fn violations_of(member: &Crate) -> Vec<String> {
    let name = &member.name;
    let Some(rule) = RULES.iter().find(|rule| rule.name == name) else {
        return vec![format!("{name}: has no line in the table of this test; add one")];
    };
    let mut found: Vec<_> = member
        .workspace_dependencies
        .iter()
        .filter(|used| !rule.may_use.contains(&used.as_str()))
        .map(|used| format!("{name}: may not depend on {used}"))
        .collect();
    if rule.kind != Kind::Host {
        found.extend(protocol_violations(member, &rule.kind));
    }
    found.extend(member.files.iter().flat_map(|file| file_violations(name, file)));
    found
}

fn protocol_violations(member: &Crate, kind: &Kind) -> Vec<String> {
    let name = &member.name;
    let mut found = Vec::new();
    for used in &member.libraries {
        if !PROTOCOL_LIBRARIES.contains(&used.as_str()) {
            found.push(format!("{name}: depends on {used}, which no protocol crate may"));
        }
    }
    for reached in &member.reached {
        if NEVER_BELOW.contains(&reached.as_str()) {
            found.push(format!("{name}: reaches {reached} through a library"));
        }
    }
    match member.files.iter().find(|file| file.path.ends_with("src/lib.rs")) {
        None => found.push(format!("{name}: has no src/lib.rs")),
        Some(root) => {
            let code = Source::new(&root.text);
            let attributes =
                if *kind == Kind::Driver { &PROTOCOL_ATTRIBUTES[..1] } else { &PROTOCOL_ATTRIBUTES };
            for attribute in attributes {
                let denies = name == WITH_UNSAFE && *attribute == PROTOCOL_ATTRIBUTES[1];
                let attribute = if denies { DENIES_UNSAFE } else { attribute };
                if !code.has(attribute) {
                    found.push(format!("{}: does not say {attribute}", root.path));
                }
            }
        }
    }
    for file in &member.files {
        let code = Source::new(&file.text);
        let is_listed = *kind == Kind::Driver || UNSAFE_FILES.iter().any(|path| file.path.ends_with(path));
        if code.has("allow(unsafe_code") && !is_listed {
            found.push(format!("{}: allows unsafe code, and is not in the table of this test", file.path));
        }
        for word in PROTOCOL_FORBIDS {
            if code.has(word) {
                found.push(format!("{}: says {word}, which no protocol crate may", file.path));
            }
        }
    }
    found
}

fn file_violations(name: &str, file: &File) -> Vec<String> {
    let mut found = Vec::new();
    let lines = source::lines_without_tests(&file.text);
    if lines > MAX_LINES {
        found.push(format!("{}: {lines} lines without its tests; more than {MAX_LINES}", file.path));
    }
    let code = Source::new(&file.text);
    for empty in EMPTY_NAMES {
        let is_module = file.path.split('/').any(|part| part == empty || part == format!("{empty}.rs"));
        if is_module || code.has(&format!("mod {empty}")) || name.ends_with(&format!("-{empty}")) {
            found.push(format!("{}: the name {empty} says nothing about what is in it", file.path));
        }
    }
    for line in source::comments_without_a_noun(&file.text) {
        found.push(format!("{}:{line}: a comment that begins with \"Of\" leaves its noun out", file.path));
    }
    for line in source::long_comments(&file.text) {
        found.push(format!("{}:{line}: a comment of more than {} columns", file.path, source::COLUMNS));
    }
    found
}

#[test]
fn the_workspace_follows_its_table() {
    let found = violations(&read_workspace());
    assert!(found.is_empty(), "\n  {}\n", found.join("\n  "));
}

mod checker {
    use super::*;

    fn sound() -> Crate {
        Crate {
            name: "motemix-sphinx".into(),
            workspace_dependencies: vec!["motemix-crypto".into()],
            libraries: vec!["subtle".into()],
            reached: vec!["subtle".into()],
            files: vec![File {
                path: "net/sphinx/src/lib.rs".into(),
                text: "#![no_std]\n#![forbid(unsafe_code)]\n//! Not f64, which this comment may say.\n"
                    .into(),
            }],
        }
    }

    fn only_violation(change: impl FnOnce(&mut Crate)) -> String {
        let mut member = sound();
        change(&mut member);
        let mut found = violations_of(&member);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    fn add_line(member: &mut Crate, line: &str) {
        member.files[0].text.push_str(line);
    }

    #[test]
    fn finds_nothing_in_a_sound_crate() {
        assert_eq!(violations_of(&sound()), Vec::<String>::new());
    }

    #[test]
    fn finds_a_dependency_upwards() {
        let found = only_violation(|member| member.workspace_dependencies.push("motemix-node".into()));
        assert_eq!(found, "motemix-sphinx: may not depend on motemix-node");
    }

    #[test]
    fn finds_a_library_that_is_not_for_protocols() {
        let found = only_violation(|member| member.libraries.push("tokio".into()));
        assert_eq!(found, "motemix-sphinx: depends on tokio, which no protocol crate may");
    }

    #[test]
    fn finds_a_library_behind_a_library() {
        let found = only_violation(|member| member.reached.push("getrandom".into()));
        assert_eq!(found, "motemix-sphinx: reaches getrandom through a library");
    }

    #[test]
    fn finds_a_missing_attribute() {
        for attribute in PROTOCOL_ATTRIBUTES {
            let found = only_violation(|member| {
                member.files[0].text = member.files[0].text.replace(attribute, &format!("// {attribute}"));
            });
            assert!(found.ends_with(&format!("does not say {attribute}")), "{found}");
        }
    }

    #[test]
    fn finds_a_file_that_allows_unsafe_code() {
        let found = only_violation(|member| {
            let text = "#![allow(unsafe_code)]\n".into();
            member.files.push(File { path: "net/sphinx/src/header.rs".into(), text });
        });
        assert!(found.contains("header.rs: allows unsafe code"), "{found}");
    }

    #[test]
    fn finds_floating_point_clocks_and_async() {
        for (line, word) in [
            ("fn mean(x: f64) {}", "f64"),
            ("const HALF: f32 = 0.5;", "f32"),
            ("use std::time::Duration;", "std::time"),
            ("let now = Instant::now();", "Instant::now"),
            ("async fn send() {}", "async fn"),
        ] {
            let found = only_violation(|member| add_line(member, line));
            assert!(found.contains(&format!("says {word},")), "{found}");
        }
    }

    #[test]
    fn finds_a_long_file() {
        let found = only_violation(|member| add_line(member, &"fn line() {}\n".repeat(MAX_LINES)));
        assert!(found.contains("503 lines without its tests"), "{found}");
    }

    #[test]
    fn does_not_count_tests_as_lines() {
        let mut member = sound();
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    fn line() {}\n".repeat(MAX_LINES));
        add_line(&mut member, &tests);
        assert_eq!(violations_of(&member), Vec::<String>::new());
    }

    #[test]
    fn finds_a_module_with_an_empty_name() {
        for empty in EMPTY_NAMES {
            let declared = only_violation(|member| add_line(member, &format!("mod {empty};\n")));
            assert!(declared.contains(empty), "{declared}");
            let file = only_violation(|member| {
                let path = format!("net/sphinx/src/{empty}.rs");
                member.files.push(File { path, text: String::new() });
            });
            assert!(file.contains(empty), "{file}");
        }
    }

    #[test]
    fn finds_a_comment_without_its_noun() {
        let found = only_violation(|member| add_line(member, "\n/// Of the packet.\nfn len() {}\n"));
        assert!(found.contains("lib.rs:5: "), "{found}");
        let mut member = sound();
        add_line(&mut member, "\n/// The first bytes\n/// Of a long sentence.\n");
        assert_eq!(violations_of(&member), Vec::<String>::new());
    }

    #[test]
    fn finds_a_comment_that_is_too_long_and_leaves_tables_and_examples_alone() {
        let wide = "x".repeat(source::COLUMNS);
        for comment in [format!("/// {wide}"), format!("    // {wide}"), format!("//! {wide}")] {
            let found = only_violation(|member| add_line(member, &format!("\n{comment}\n")));
            assert!(found.contains("lib.rs:5: "), "{found}");
        }
        let mut member = sound();
        add_line(
            &mut member,
            &format!("\n/// | {wide} |\n///\n/// ```\n/// {wide}\n/// ```\nfn len() {{}}\n"),
        );
        assert_eq!(violations_of(&member), Vec::<String>::new());
    }

    #[test]
    fn finds_a_crate_without_a_rule_and_a_rule_without_a_crate() {
        let mut member = sound();
        member.name = "motemix-extra".into();
        assert_eq!(violations_of(&member), ["motemix-extra: has no line in the table of this test; add one"]);
        assert_eq!(violations(&[]).len(), RULES.len());
    }
}
