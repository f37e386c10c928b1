//! The port to Contiki-NG, against a stand-in for Contiki-NG: compiled for the host and for boards,
//! and what it does and the port to RIOT does not.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use motemix_mote::limits::FlashLimits;

use crate::ports::{Flash, Port};
use crate::{SANITIZERS, SYSTEM, library, root, succeed};

mod build;
mod diet;
mod flash;
mod lines;
mod news;
mod stack;
mod words;
pub(crate) mod zep;

pub(crate) use diet::{link_identity, motemix};
pub(crate) use stack::left_by_contiki;
pub(crate) use words::CONSOLE;

/// gcc with the port's headers, as Contiki-NG's build calls it: the application's and the module's
/// settings are read in front of each source.
pub(crate) fn gcc(gcc: &str, flags: &[&str]) -> Command {
    gcc_for("app", gcc, flags)
}

/// The same with another application's settings.
fn gcc_for(application: &str, gcc: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(gcc);
    command.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]).args(flags);
    for settings in [&*format!("{application}/project-conf.h"), "motemix/module-macros.h"] {
        command.arg("-include").arg(port().join(settings));
    }
    command.arg("-I").arg(root().join("include"));
    for include in ["motemix", "stand-in"] {
        command.arg("-I").arg(port().join(include));
    }
    command
}

pub(crate) fn port() -> PathBuf {
    root().join("../../boards/ports/contiki-ng")
}

/// Where the tests' own C sources are.
fn sources() -> PathBuf {
    root().join("tests/capi/contiki")
}

/// The radio of a PC is not among them: its datagrams are the stand-in's.
const SOURCES: [&str; 7] = [
    "app/motemix-app.c",
    "motemix/motemix.c",
    "motemix/motemix-flash.c",
    "motemix/motemix-news.c",
    "motemix/motemix-random.c",
    "motemix/motemix-readings.c",
    "motemix/motemix-stack.c",
];
const NATIVE: &str = "-DCONTIKI_TARGET_NATIVE";

/// Links a program for this machine with the stand-in.
fn link(name: &str, sources: &[PathBuf], flags: &[&str]) -> PathBuf {
    link_with(gcc("gcc", &[NATIVE]), name, sources, flags)
}

fn link_with(mut command: Command, name: &str, sources: &[PathBuf], flags: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("contiki-{name}"));
    command.args(flags).args(sources).arg(port().join("stand-in/contiki.c"));
    succeed(command.arg(library()).args(SYSTEM).arg("-o").arg(&program));
    program
}

/// Links the application.
fn link_application(name: &str, flags: &[&str]) -> PathBuf {
    link(name, &SOURCES.map(|source| port().join(source)), flags)
}

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| link_application("app", &SANITIZERS))
}

/// The flash, and behind it the address.
const FLASH_LEN: usize = 13 * 4096 + 8;

pub(crate) const PORT: Port = Port {
    program,
    link: link_application,
    limits: "MOTEMIX_CONF_LIMITS",
    variables: ["CONTIKI_STAND_IN_SOCKET", "CONTIKI_STAND_IN_LINK", "MOTEMIX_FLASH"],
    flash: Flash {
        limits: FlashLimits { page: 4096, settings: 5, tags: 4, messages: 2, readings: 2, devices: 0 },
        len: FLASH_LEN,
        wrong_lengths: &[FLASH_LEN - 1, FLASH_LEN + 1],
    },
    words: CONSOLE,
};
