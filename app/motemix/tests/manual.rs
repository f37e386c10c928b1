//! The program teaches its own use.

mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use program::{Manual, Run, motemix};

fn manual() -> Manual {
    Manual::read("motemix", motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
}

#[test]
fn every_command_that_does_something_shows_an_example() {
    let manual = manual();
    assert!(manual.commands() > 20, "only {} commands were found", manual.commands());
    manual.shows_examples();
}

#[test]
fn completions_know_the_commands() {
    manual().is_completed();
}

#[test]
fn each_command_has_a_manual_page() {
    manual().has_pages();
}

#[test]
fn a_misspelt_command_gets_a_suggestion() {
    let run = motemix(["ibox"]);
    assert_eq!(run.status(), 2);
    assert!(run.stderr().contains("inbox"), "{}", run.stderr());
}

#[test]
fn a_log_filter_that_is_none_is_one_line() {
    for filter in ["a=b=c", "verbose", "motemix_host=loud", "info,", ""] {
        motemix(["--log", filter, "completions", "bash"]).fails(2, &["--log", "try `info`"]);
    }
    for filter in ["off", "debug", "warn,motemix_host=debug,motemix_node=trace"] {
        motemix(["--log", filter, "completions", "bash"]).succeeds();
    }
}

/// The broker and Loopix are programs of their own. Who has this one alone is told what to get.
#[test]
fn a_program_that_is_missing_or_of_another_version_is_named_with_the_way_to_get_it() {
    let own = Path::new(env!("CARGO_BIN_EXE_motemix"));
    // On the same file system, so that a link will do.
    let folder = tempfile::tempdir_in(own.parent().unwrap()).unwrap();
    let alone = folder.path().join("motemix");
    fs::hard_link(own, &alone).unwrap();
    let commands: [(&str, &[&str]); 2] = [
        ("motemix-broker", &["broker", "--listen", "[::1]:0", "--data", "data"]),
        ("motemix-loopix", &["loopix", "status", "--dir", "node"]),
    ];
    for (name, words) in commands {
        let run = || Run::of(alone.to_str().unwrap(), words);
        let way = format!("cargo install --path app/{name}");
        run().fails(2, &[&format!("{name}: not found"), &way]);
        let other = folder.path().join(name);
        fs::write(&other, "#!/bin/sh\n[ \"$1\" = --version ] || touch \"$0.ran\"\necho other 9\n").unwrap();
        fs::set_permissions(&other, PermissionsExt::from_mode(0o755)).unwrap();
        run().fails(2, &["says other 9", &format!("needs {name} {}", env!("CARGO_PKG_VERSION")), &way]);
        assert!(!folder.path().join(format!("{name}.ran")).exists());
        // Whom everybody may change may be anybody's: it is not even asked for its version.
        fs::write(&other, "#!/bin/sh\ntouch \"$0.ran\"\n").unwrap();
        fs::set_permissions(&other, PermissionsExt::from_mode(0o757)).unwrap();
        run().fails(2, &[name, "everybody may change it", "install the programs in a folder of root's"]);
        assert!(!folder.path().join(format!("{name}.ran")).exists());
    }
}

/// Wherever options stand that all commands have, what they say reaches the program that goes on.
#[test]
fn a_program_that_goes_on_hears_all_words() {
    for words in [
        ["--log-format", "json", "loopix", "status", "--dir", "/nowhere"],
        ["loopix", "--log-format", "json", "status", "--dir", "/nowhere"],
        ["--log-format=json", "--log", "info", "loopix", "status", "--dir=/nowhere"],
        // The later word counts, on both sides of the command.
        ["--log-format=text", "loopix", "--log-format=json", "status", "--dir", "/nowhere"],
    ] {
        let run = motemix(words);
        assert_ne!(run.status(), 0);
        let said: serde_json::Value = serde_json::from_str(run.stderr().trim()).expect("JSON");
        assert!(said["message"].as_str().unwrap().contains("/nowhere"), "{said}");
    }
}
