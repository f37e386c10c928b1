//! Where boards have their random bytes from, run here with receivers and generators of all kinds.

use std::path::PathBuf;
use std::process::Command;

use crate::signed::from_hex;
use crate::{contiki, riot, root, succeed};

const LEN: usize = 128 * 32;

/// A board's source, and what it is compiled with.
fn program(place: &tempfile::TempDir, mut gcc: Command, flags: &[&str], source: PathBuf) -> PathBuf {
    let program = place.path().join("random");
    gcc.args(flags).arg(root().join("tests/capi/ports/random.c")).arg(source);
    succeed(gcc.args(["-g", "-fsanitize=undefined"]).arg("-o").arg(&program));
    program
}

/// Each board's source of random bytes: its name, and whether it draws on a receiver.
fn for_each(check: impl Fn(&str, bool, &dyn Fn(&str) -> Option<Vec<u8>>)) {
    let of_riot = riot::port().join("modules/motemix/random.c");
    let of_contiki = contiki::port().join("motemix/motemix-random.c");
    let include = format!("-I{}", riot::port().join("modules/motemix").display());
    let riot = |board| (board, of_riot.clone(), vec!["-DRIOT", include.as_str(), board]);
    let contiki = |board| (board, of_contiki.clone(), vec![board]);
    let boards = [
        riot("-DCPU_CC2538"),
        riot("-DCONFIG_MOTEMIX_RADIO_RANDOM"),
        contiki("-DCONTIKI_TARGET_CC2538DK"),
        contiki("-DCONTIKI_TARGET_NRF"),
    ];
    for (board, source, flags) in boards {
        let place = tempfile::tempdir().expect("a temporary directory");
        let gcc = if flags[0] == "-DRIOT" { riot::gcc("gcc", &[]) } else { contiki::gcc("gcc", &[]) };
        let program = program(&place, gcc, &flags, source);
        let run = |noise: &str| {
            let said = succeed(Command::new(&program).arg(noise)).stdout;
            let said = String::from_utf8(said).expect("text");
            (said.trim() != "refused").then(|| from_hex(said.trim()))
        };
        check(board, board != "-DCONTIKI_TARGET_NRF", &run);
    }
}

/// The share of ones in each of the eight bits of all bytes, in percent.
fn ones(bytes: &[u8]) -> [f64; 8] {
    let share = |bit: usize| bytes.iter().map(|byte| f64::from(byte >> bit & 1)).sum::<f64>();
    let all = bytes.iter().map(|_| 1.0).sum::<f64>();
    std::array::from_fn(|bit| 100.0 * share(bit) / all)
}

#[test]
fn a_sound_receiver_gives_random_bytes_and_a_biased_one_too() {
    for_each(|board, is_receiver, run| {
        for noise in if is_receiver { &["sound", "biased", "sending"][..] } else { &["sound"] } {
            let bytes = run(noise).unwrap_or_else(|| panic!("{board}, {noise}: refused"));
            assert_eq!(bytes.len(), LEN);
            // 4,096 coins: 0.78 % is one standard deviation.
            let ones = ones(&bytes);
            assert!(ones.iter().all(|share| (share - 50.0).abs() < 4.0), "{board}, {noise}: {ones:?}");
        }
    });
}

#[test]
fn a_receiver_or_generator_that_gives_nothing_is_refused() {
    for_each(|board, is_receiver, run| {
        let noise = if is_receiver { "stuck" } else { "off" };
        assert_eq!(run(noise), None, "{board}, {noise}");
    });
}
