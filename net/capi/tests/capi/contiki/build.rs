//! The module, compiled for boards' processors.

use super::{NATIVE, SOURCES, diet, gcc, gcc_for, port};
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
        &[
            "-DMOTEMIX_CONF_CSPRNG_IS_SEEDED",
            "-DMOTEMIX_CONF_FLASH_IN_RAM",
            "-DMOTEMIX_CONF_MEASURE=my_measure",
            "-mcpu=cortex-m0plus",
        ],
    ),
    (
        "own, with software for floating point",
        &[
            "-DMOTEMIX_CONF_CSPRNG_IS_SEEDED",
            "-DMOTEMIX_CONF_FLASH_IN_RAM",
            "-DMOTEMIX_CONF_MEASURE=my_measure",
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
    for source in diet::SOURCES {
        let flags = ["-DCONTIKI_TARGET_ZOUL", "-DDIET_CONF_INTERVAL=10", "-mcpu=cortex-m3", "-mthumb"];
        let mut command = gcc_for("diet", "arm-none-eabi-gcc", &flags);
        succeed(command.arg("-c").arg(port().join(source)).arg("-o").arg(&object));
    }
    for source in SOURCES {
        // The simulated mote has a stack of its own as well.
        let mut command = gcc("gcc", &["-DCONTIKI_TARGET_COOJA"]);
        succeed(command.arg("-c").arg(port().join(source)).arg("-o").arg(&object));
    }
}

#[test]
fn a_board_without_a_generator_a_place_for_its_key_or_a_sensor_does_not_compile() {
    for (source, flags, reason) in [
        ("motemix-random.c", &[][..], "random bytes that nobody can guess"),
        ("motemix-random.c", &["-DCSPRNG_CONF_ENABLED=0", NATIVE], "set CSPRNG_CONF_ENABLED to 1"),
        ("motemix-readings.c", &["-DMOTEMIX_CONF_CSPRNG_IS_SEEDED"], "nothing to measure with"),
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
