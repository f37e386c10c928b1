//! The program teaches its own use.

mod program;

use program::{Manual, lab};

fn manual() -> Manual {
    Manual::read("motemix-lab", env!("CARGO_BIN_EXE_motemix-lab"))
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
    let run = lab(["reproduc"]);
    assert_eq!(run.status(), 2);
    assert!(run.stderr().contains("reproduce"), "{}", run.stderr());
}
