//! The module, compiled for boards' processors.

use super::{COMMANDS, NATIVE, SOURCES, gcc, port};
use crate::succeed;

/// The boards' processors, as gcc names them.
const CORES: [&[&str]; 4] = [
    &["-mcpu=cortex-m0plus"],
    &["-mcpu=cortex-m3"],
    &["-mcpu=cortex-m4", "-mfloat-abi=soft"],
    &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
];

#[test]
fn the_module_compiles_for_the_boards() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let object = place.path().join("out.o");
    let variants: [&[&str]; 5] = [
        &[
            "-DMODULE_AUTO_INIT",
            "-DMODULE_MOTEMIX_SHELL",
            "-DMODULE_PERIPH_HWRNG",
            "-DMODULE_MOTEMIX_FLASHPAGE",
            "-DMOTEMIX_PAGES=11",
        ],
        &["-DMODULE_AUTO_INIT", "-DCONFIG_MOTEMIX_RADIO_RANDOM", "-DMODULE_MOTEMIX_MTD"],
        // Pages of a SAM R21.
        &[
            "-DCONFIG_MOTEMIX_RANDOM=my_fill",
            "-DMODULE_MOTEMIX_FLASHPAGE",
            "-DFLASHPAGE_SIZE=256u",
            "-DMOTEMIX_PAGES=11",
        ],
        &[
            "-DCPU_CC2538",
            "-DMODULE_PERIPH_HWRNG",
            "-DMODULE_MOTEMIX_FLASHPAGE",
            "-DMODULE_MOTEMIX_READINGS",
            "-DMODULE_SAUL_REG",
            "-DMOTEMIX_PAGES=13",
        ],
        &[
            "-DCONFIG_MOTEMIX_MIX",
            "-DMODULE_PERIPH_HWRNG",
            "-DMODULE_MOTEMIX_MTD",
            "-DMODULE_MOTEMIX_READINGS",
            "-DCONFIG_MOTEMIX_MEASURE=my_measure",
        ],
    ];
    for core in CORES {
        for variant in variants {
            for source in SOURCES.iter().chain(&COMMANDS) {
                // The mote's own console is a module, which the others do without.
                let console: &[&str] =
                    if source == &COMMANDS[0] { &["-DMODULE_MOTEMIX_CONSOLE"] } else { &[] };
                let flags = [core, &["-mthumb"], variant, console].concat();
                let mut command = gcc("arm-none-eabi-gcc", &flags);
                succeed(command.arg("-c").arg(port().join(source)).arg("-o").arg(&object));
            }
        }
    }
}

#[test]
fn a_board_without_a_generator_a_place_for_its_key_or_a_sensor_does_not_compile() {
    let module =
        |sought: &&&str| !["-DMODULE_PERIPH_HWRNG", "-DMODULE_MOTEMIX_MTD", "-DCPU_NATIVE"].contains(*sought);
    let flags: Vec<&str> = NATIVE.iter().filter(module).copied().collect();
    for (source, reason) in [
        ("random.c", "no hardware random generator"),
        ("flash.c", "nowhere to keep its key"),
        ("readings.c", "nothing to measure with"),
    ] {
        let mut command = gcc("gcc", &flags);
        command.arg("-fsyntax-only").arg(port().join("modules/motemix").join(source));
        let output = command.output().expect("gcc starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(reason), "{stderr}");
    }
}
