//! The program teaches its own use.

use motemix_testbed::{Manual, Run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_motemixd");

#[test]
fn the_program_shows_examples() {
    Manual::read("motemixd", PROGRAM).shows_examples();
    let help = Run::of(PROGRAM, ["--help"]).succeeds();
    assert!(help.contains("authority"), "{help}");
}

/// Nobody has to have another program of motemix to run a mix and an authority.
#[test]
fn an_authority_and_a_node_are_made_and_told_of_by_the_daemon_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let alone = folder.path().join("motemixd");
    // By a process of its own: the kernel runs no file that somebody has open for writing.
    let copied = std::process::Command::new("cp").arg(PROGRAM).arg(&alone).status();
    assert!(copied.expect("cp starts").success());
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(&alone);
        Run::by(command.args(words).current_dir(folder.path())).succeeds()
    };
    run(&["authority", "init", "north", "--network", "orchard", "--listen", "127.0.0.1:7000"]);
    let key = std::fs::read_to_string(folder.path().join("north/authority.pub")).expect("its public key");
    let network = ["--network", "orchard", "--directory", "127.0.0.1:7000", "--authority", key.trim()];
    let made =
        run(&[&["node", "init", "mix-1", "--listen", "192.0.2.7:41001", "--mix"], &network[..]].concat());
    assert!(made.contains("mix-1"), "{made}");
    assert!(folder.path().join("mix-1/node.toml").is_file());
    let script = run(&["completions", "bash"]);
    assert!(script.contains("renew-keys"), "{script}");
}
