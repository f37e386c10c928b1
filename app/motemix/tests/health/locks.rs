//! A file system without locks, as one that several machines share may be.

use crate::program::{Network, Ports, Run, motemix};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Stands in front of the system's library, and says what the kernel says of such a file system.
const WITHOUT_LOCKS: &str = r"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

int flock(int file, int operation)
{
    (void)file, (void)operation;
    errno = ENOLCK;
    return -1;
}

#define CONTROL(name)                                                                  \
    int name(int file, int command, ...)                                               \
    {                                                                                  \
        va_list more;                                                                  \
        va_start(more, command);                                                       \
        void *argument = va_arg(more, void *);                                         \
        va_end(more);                                                                  \
        if (command == F_SETLK || command == F_SETLKW || command == F_GETLK) {         \
            errno = ENOLCK;                                                            \
            return -1;                                                                 \
        }                                                                              \
        int (*system)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, #name); \
        return system(file, command, argument);                                        \
    }

CONTROL(fcntl)
CONTROL(fcntl64)
";

fn without_locks(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("locks.c"), folder.join("locks.so"));
    fs::write(&source, WITHOUT_LOCKS).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).args([&library, &source]).status();
    assert!(compiled.expect("there is a C compiler").success());
    library
}

#[test]
fn where_no_file_can_be_locked_each_program_says_what_the_system_said() {
    let network = Network::init(&["--motes", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (authority, broker, loops) = (place("north"), place("broker"), place("loops"));
    let ports = Ports::new();
    let listen = format!("127.0.0.1:{}", ports.first);
    motemix(["authority", "init", &authority, "--network", "orchard", "--listen", &listen]).succeeds();
    motemix(["loopix", "net", "init", &loops, "--profile", "hardened", "--mixes", "3"]).succeeds();
    let config = network.config("mix-1").to_str().unwrap().to_owned();
    let node = |name: &str| format!("{loops}/nodes/{name}");

    let library = without_locks(folder.path());
    let run = |words: &[&str]| {
        let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        // Whoever does not fail would go on.
        command.args(words).env("LD_PRELOAD", &library);
        let run = Run::by(&mut command);
        let said = run.stderr();
        assert_ne!(run.status(), 0, "{words:?}: {said}");
        assert!(said.contains("No locks available"), "{words:?}: {said}");
        assert!(said.contains("a file system with locks"), "{words:?}: {said}");
        assert!(!said.contains("in use") && !said.contains("another process"), "{words:?}: {said}");
    };
    run(&["node", "--config", &config]);
    run(&["net", "up", network.dir.to_str().unwrap()]);
    run(&["authority", "serve", &authority]);
    run(&["authority", "remove", &authority, "mix-1"]);
    run(&["broker", "--data", &broker, "--listen", "127.0.0.1:0"]);
    run(&["loopix", "client", "--dir", &node("Client1")]);
    run(&["loopix", "provider", "--dir", &node("Provider1")]);
    run(&["loopix", "directory", "show", &node("Client1")]);
}
