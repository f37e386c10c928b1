//! The program teaches its own use.

use motemix_testbed::{Manual, Run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_motemix-loopix");

#[test]
fn the_program_shows_examples() {
    Manual::read("motemix-loopix", PROGRAM).shows_examples();
    let help = Run::of(PROGRAM, ["--help"]).succeeds();
    assert!(help.contains("chat"), "{help}");
}
