//! The program teaches its own use.

mod program;

use program::{Manual, motemix};

fn manual() -> Manual {
    Manual::read("motemix", motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
}

#[test]
fn every_command_that_does_something_shows_an_example() {
    let manual = manual();
    assert!(manual.len() > 20, "only {} commands were found", manual.len());
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
