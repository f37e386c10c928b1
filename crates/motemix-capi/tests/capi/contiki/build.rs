//! The module for boards: compiled for their processors, and built by Contiki-NG where that is.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::Command;

use super::{NATIVE, SOURCES, gcc, port};
use crate::succeed;

/// Contiki-NG's platforms: what its build says of each, and its processor, as gcc names it.
const PLATFORMS: [(&str, &[&str]); 7] = [
    ("cc2538dk", &["-DCONTIKI_TARGET_CC2538DK", "-mcpu=cortex-m3"]),
    ("zoul", &["-DCONTIKI_TARGET_ZOUL", "-mcpu=cortex-m3"]),
    ("openmote", &["-DCONTIKI_TARGET_OPENMOTE", "-mcpu=cortex-m3"]),
    ("nrf", &["-DCONTIKI_TARGET_NRF", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]),
    // Somebody else's, who has a seed and forgets everything.
    (
        "own, small",
        &["-DMOTEMIX_CONF_CSPRNG_IS_SEEDED", "-DMOTEMIX_CONF_FLASH_IN_RAM", "-mcpu=cortex-m0plus"],
    ),
    (
        "own, with software for floating point",
        &[
            "-DMOTEMIX_CONF_CSPRNG_IS_SEEDED",
            "-DMOTEMIX_CONF_FLASH_IN_RAM",
            "-mcpu=cortex-m4",
            "-mfloat-abi=soft",
        ],
    ),
    (
        "nrf, a node that only mixes",
        &["-DCONTIKI_TARGET_NRF", "-DMOTEMIX_CONF_LIMITS=MOTEMIX_MOTE_MIX", "-mcpu=cortex-m4"],
    ),
];

#[test]
fn the_module_compiles_for_the_boards() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let object = place.path().join("out.o");
    for (name, flags) in PLATFORMS {
        println!("{name}");
        for source in SOURCES.iter().chain(&["motemix/motemix-zep.c"]) {
            // As Contiki-NG compiles it: a source of a PC alone is empty.
            let mut command = gcc("arm-none-eabi-gcc", &[flags, &["-mthumb"]].concat());
            succeed(command.arg("-c").arg(port().join(source)).arg("-o").arg(&object));
        }
    }
    for source in SOURCES {
        // The simulated mote has a stack of its own as well.
        let mut command = gcc("gcc", &["-DCONTIKI_TARGET_COOJA"]);
        succeed(command.arg("-c").arg(port().join(source)).arg("-o").arg(&object));
    }
}

#[test]
fn a_board_without_a_generator_or_a_place_for_its_key_does_not_compile() {
    for (source, flags, reason) in [
        ("motemix-random.c", &[][..], "random bytes that nobody can guess"),
        ("motemix-random.c", &["-DCSPRNG_CONF_ENABLED=0", NATIVE], "set CSPRNG_CONF_ENABLED to 1"),
        ("motemix-flash.c", &["-DMOTEMIX_CONF_CSPRNG_IS_SEEDED"], "nowhere to keep its key"),
        (
            "motemix-flash.c",
            &["-DCONTIKI_TARGET_ZOUL", "-DMOTEMIX_CONF_TAGS_PAGES=8"],
            "the program may reach into the mote",
        ),
    ] {
        let mut command = gcc("gcc", flags);
        command.arg("-fsyntax-only").arg(port().join("motemix").join(source));
        let output = command.output().expect("gcc starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(reason), "{flags:?}: {stderr}");
    }
}

/// Builds the application as a user does.
pub(super) fn make(contiki: &OsStr, target: &str, place: &Path) {
    let mut make = Command::new("make");
    make.arg("-C").arg(port().join("app")).arg(format!("TARGET={target}")).arg("RELSTR=test");
    make.arg(format!("BUILD_DIR={}", place.display()));
    let mut contiki_is = std::ffi::OsString::from("CONTIKI=");
    contiki_is.push(contiki);
    let nothing = File::open("/dev/null").expect("the null device");
    println!("{}", String::from_utf8_lossy(&succeed(make.arg(contiki_is).stdin(nothing)).stdout));
}

pub(super) fn contiki() -> std::ffi::OsString {
    env::var_os("CONTIKI").expect("CONTIKI names Contiki-NG")
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn contikis_application_builds_for_a_board_where_contiki_is() {
    let place = tempfile::tempdir().expect("a temporary directory");
    make(&contiki(), "cc2538dk", place.path());
    assert!(place.path().join("cc2538dk/motemix-app.cc2538dk").is_file());
}
