//! The flash of two boards, whose controllers the test plays; and one of a PC that two motes want.

use std::process::Command;

use super::{PORT, gcc, port, sources};
use crate::ports::{FLASH_FAILED, Link, everything_is_refused};
use crate::signed::FIRST;
use crate::succeed;

#[test]
fn two_motes_do_not_share_a_flash() {
    let link = Link::of(&PORT, 2);
    let mut first = link.start(0);
    let key = first.member(0, FIRST).key;
    std::os::unix::fs::symlink(link.flash(0), link.flash(1)).expect("a second name of the file");
    let mut second = link.start(1);
    second.until(FLASH_FAILED);
    everything_is_refused(&mut second);
    second.kill();
    assert_eq!(first.member(0, FIRST).key, key);
    first.kill();
    assert_eq!(link.start(1).member(1, FIRST).key, key);
}

/// The board's source runs here, where the test's controller looks after its flash.
fn run_with_controller(target: &str, flags: &[&str]) -> (bool, String) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let program = place.path().join("flash");
    let mut command = gcc("gcc", &[target, "-no-pie", "-g", "-fsanitize=undefined"]);
    command.arg(sources().join("flash.c")).arg(port().join("motemix/motemix-flash.c"));
    succeed(command.args(flags).arg("-o").arg(&program));
    let output = Command::new(&program).output().expect("it starts");
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_cc2538_erases_and_writes_whole_pages_of_its_own_and_nothing_else() {
    for target in ["-DCONTIKI_TARGET_CC2538DK", "-DCONTIKI_TARGET_ZOUL", "-DCONTIKI_TARGET_OPENMOTE"] {
        let (succeeded, said) = run_with_controller(target, &[]);
        assert!(succeeded, "{said}");
    }
}

#[test]
fn an_nrf52840_erases_and_writes_pages_of_its_own_and_nothing_else() {
    let program_until = |end: u32| {
        [
            format!("-Wl,--defsym=__etext={end}"),
            "-Wl,--defsym=__data_start__=1000".to_owned(),
            "-Wl,--defsym=__data_end__=1096".to_owned(),
        ]
    };
    let begin = 0x10_0000 - 13 * 4096;
    for (end, fits) in [(begin - 96, true), (begin - 95, false)] {
        let flags = program_until(end);
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        let (succeeded, said) = run_with_controller("-DCONTIKI_TARGET_NRF", &flags);
        assert_eq!(succeeded, fits, "{said}");
        assert!(fits || said.contains("no flash"), "{said}");
    }
}
