//! The port to RIOT, against a stand-in for RIOT: compiled for the host and for boards, and what it
//! does and the port to Contiki-NG does not.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use motemix_mote::limits::FlashLimits;

use crate::ports::{Flash, Port};
use crate::{SANITIZERS, SYSTEM, library, root, succeed};

mod build;
mod lines;
mod stories;
mod words;

/// gcc with the port's headers.
pub(crate) fn gcc(gcc: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(gcc);
    command.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]).args(flags);
    command.arg("-I").arg(root().join("include"));
    for include in ["modules/motemix/include", "stand-in"] {
        command.arg("-I").arg(port().join(include));
    }
    command
}

pub(crate) fn port() -> PathBuf {
    root().join("../../boards/ports/riot")
}

const SOURCES: [&str; 7] = [
    "app/main.c",
    "modules/motemix/calls.c",
    "modules/motemix/flash.c",
    "modules/motemix/mote.c",
    "modules/motemix/random.c",
    "modules/motemix/readings.c",
    "modules/motemix/shell.c",
];
/// What the shell's commands do: on a PC, and on boards.
const COMMANDS: [&str; 2] = ["modules/motemix/console.c", "modules/motemix/commands.c"];

const STAND_IN: [&str; 2] = ["stand-in/riot.c", "stand-in/mtd.c"];
/// What RIOT's build says about a PC.
const NATIVE: [&str; 8] = [
    "-DCPU_NATIVE",
    "-DMODULE_AUTO_INIT",
    "-DMODULE_GNRC_NETIF",
    "-DMODULE_MOTEMIX_CONSOLE",
    "-DMODULE_MOTEMIX_MTD",
    "-DMODULE_MOTEMIX_READINGS",
    "-DMODULE_MOTEMIX_SHELL",
    "-DMODULE_PERIPH_HWRNG",
];

/// Links the application with the stand-in.
fn link(name: &str, flags: &[&str]) -> PathBuf {
    link_with(COMMANDS[0], name, flags)
}

fn link_with(commands: &str, name: &str, flags: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("riot-{name}"));
    let mut command = gcc("gcc", &NATIVE);
    let sources = SOURCES.iter().chain(&STAND_IN).chain([&commands]);
    command.args(flags).args(sources.map(|source| port().join(source)));
    succeed(command.arg(library()).args(SYSTEM).arg("-o").arg(&program));
    program
}

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| link("app", &SANITIZERS))
}

fn link_for_boards(name: &str, flags: &[&str]) -> PathBuf {
    link_with(COMMANDS[1], &format!("boards-{name}"), flags)
}

fn program_for_boards() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| link_for_boards("app", &SANITIZERS))
}

pub(crate) const PORT: Port = Port {
    program,
    link,
    limits: "CONFIG_MOTEMIX_LIMITS",
    variables: ["RIOT_STAND_IN_SOCKET", "RIOT_STAND_IN_LINK", "RIOT_STAND_IN_FLASH"],
    flash: Flash {
        limits: FlashLimits { page: 4096, settings: 5, tags: 4, messages: 2, readings: 2, devices: 0 },
        len: 16 * 4096,
        wrong_lengths: &[9 * 4096, 13 * 4096 - 1],
    },
    words: words::WORDS,
};

/// The same with the commands that a board has.
pub(crate) const ON_BOARDS: Port =
    Port { program: program_for_boards, link: link_for_boards, words: words::ON_BOARDS, ..PORT };
