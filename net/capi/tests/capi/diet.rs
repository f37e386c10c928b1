//! Two neighbours that have never met, behind the C interface.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{built_for, root, says, succeed, under_valgrind, with_sanitizers};

const SAID: &str = "expectations met";

#[test]
fn misuse_between_two_neighbours_is_told_under_the_sanitizers() {
    says(&with_sanitizers("tests/capi/diet.c", &[]), SAID);
}

#[test]
#[ignore = "half a minute under valgrind"]
fn misuse_between_two_neighbours_is_told_under_valgrind() {
    says(&under_valgrind("tests/capi/diet.c", &[]), SAID);
}

#[test]
fn the_example_of_two_neighbours_runs() {
    says(&with_sanitizers("examples/neighbours.c", &[]), "21.5 degrees");
}

/// The snippet of the package's front page is the example's.
#[test]
fn the_front_page_shows_what_compiles() {
    let [page, example] = ["README.md", "examples/neighbours.c"]
        .map(|name| fs::read_to_string(root().join(name)).expect("a file of the package"));
    let snippet = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a snippet");
    assert!(
        example.contains(snippet),
        "README.md shows what examples/neighbours.c does not have:\n{snippet}"
    );
}

/// Links a program for a board as RIOT and Contiki-NG do, without what it does not call.
pub(crate) fn link(place: &Path, name: &str, body: &str) -> PathBuf {
    let (source, program) = (place.join("program.c"), place.join(name));
    let text = format!(
        "#include \"motemix.h\"\n\
         extern uint8_t volatile anything[];\n\
         uint8_t volatile anything[4096];\n\
         static void *given(unsigned at) {{ return (void *)(uintptr_t)(anything + at); }}\n\
         void *memcpy(void *to, const void *of, size_t len)\n\
         {{ volatile uint8_t *t = to; const uint8_t *f = of; while (len--) *t++ = *f++; return to; }}\n\
         void *memset(void *to, int value, size_t len)\n\
         {{ volatile uint8_t *t = to; while (len--) *t++ = (uint8_t)value; return to; }}\n\
         void begin(void);\nvoid begin(void) {{ (void)given; {body} }}\n"
    );
    fs::write(&source, text).expect("a source");
    let mut gcc = Command::new("arm-none-eabi-gcc");
    gcc.args(["-mthumb", "-mcpu=cortex-m3", "-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror"]);
    gcc.args(["-ffreestanding", "-nostdlib", "-fno-tree-loop-distribute-patterns"]);
    gcc.args(["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-Wl,--entry=begin"]);
    gcc.arg("-I").arg(root().join("include")).arg("-o").arg(&program).arg(&source);
    succeed(gcc.arg(built_for("thumbv7m-none-eabi")).arg("-lgcc"));
    program
}

pub(crate) fn symbols(program: &Path) -> String {
    let output = succeed(Command::new("arm-none-eabi-nm").arg("--demangle").arg(program));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_program_that_does_not_call_it_has_no_code_of_it_in_flash() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mote = "(void)motemix_mote_open(given(0), 4096, given(8), given(8), given(8)); \
                (void)motemix_mote_start(given(0), 0); (void)motemix_mote_poll(given(0), 0, given(8));";
    let without = symbols(&link(place.path(), "mote", mote));
    assert!(without.contains("motemix_mote_poll"));
    // AES and the handshakes are those of a mote's own links.
    for name in ["motemix_diet", "motemix_neighbour::diet", "motemix_neighbour::functions", "p256"] {
        assert!(!without.contains(name), "{name} is in a program that does not call it");
    }
    // And the search finds what is there.
    let diet = "(void)motemix_diet_generate_key_pair(given(0), given(8), given(64));";
    let with = symbols(&link(place.path(), "diet", diet));
    assert!(with.contains("motemix_diet_generate_key_pair") && with.contains("p256"));
    // One of the six functions brings no other along.
    for name in ["motemix_diet_verify", "motemix_diet_encrypt", "motemix_mote", "aes::"] {
        assert!(!with.contains(name), "{name} is in a program that does not call it");
    }
}
