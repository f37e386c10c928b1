//! Identities and signed readings behind the C interface.

use std::path::Path;
use std::process::Command;

use crate::diet::{link, symbols};
use crate::{says, succeed, under_valgrind, with_sanitizers};

const SAID: &str = "expectations met";

#[test]
fn misuse_of_readings_is_told_under_the_sanitizers() {
    says(&with_sanitizers("tests/capi/readings.c", &[]), SAID);
}

#[test]
#[ignore = "half a minute under valgrind"]
fn misuse_of_readings_is_told_under_valgrind() {
    says(&under_valgrind("tests/capi/readings.c", &[]), SAID);
}

#[test]
fn the_example_of_a_signed_reading_runs() {
    let said = with_sanitizers("examples/readings.c", &[]);
    says(&said, "believed: number 0, SenML 81a4");
    says(&said, "arrived before, or too old to tell");
}

/// What a mote needs so that it signs, beside what runs it.
const RUNS: &str = "(void)motemix_mote_open(given(0), 4096, given(8), given(8), given(8)); \
                    (void)motemix_mote_start(given(0), 0); (void)motemix_mote_poll(given(0), 0, given(8));";
const SIGNS: &str = "(void)motemix_mote_sign_readings(given(0), given(8), given(8)); \
                     (void)motemix_mote_send_readings(given(0), 0, given(8), 6, 60);";

/// What multiplies Ed25519's base point, which the check of a signature does not.
const SIGNATURE: &str = "ed25519::multiply::base_times";

fn flash_of(program: &Path) -> u32 {
    let said = succeed(Command::new("arm-none-eabi-size").arg(program)).stdout;
    let said = String::from_utf8(said).expect("text");
    let text = said.lines().nth(1).and_then(|line| line.split_whitespace().next());
    text.and_then(|bytes| bytes.parse().ok()).expect("bytes of text")
}

#[test]
fn a_mote_that_signs_nothing_has_nothing_that_signs_in_its_flash() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let without = link(place.path(), "runs", RUNS);
    let with = link(place.path(), "signs", &format!("{RUNS} {SIGNS}"));
    for name in ["Signing as", SIGNATURE] {
        assert!(!symbols(&without).contains(name), "{name} is in a program that signs nothing");
    }
    assert!(
        ["Signing as", SIGNATURE].iter().all(|name| symbols(&with).contains(name)),
        "the search finds what is there"
    );
    let typed = "(void)motemix_mote_command(given(0), 0, given(8), 6);";
    let commands = link(place.path(), "commands", &format!("{RUNS} {typed}"));
    assert!(!symbols(&commands).contains(SIGNATURE), "what is typed brings no signature along");
    let [less, more] = [&without, &with].map(|program| flash_of(program));
    println!("{less} bytes of flash without readings, {more} with them");
    assert!(more - less < 12 * 1024, "readings take {} bytes of flash", more - less);
}
