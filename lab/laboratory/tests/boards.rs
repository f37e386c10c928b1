//! `motemix-lab boards cycles` counts what the benches of an image cost.

mod program;

use program::lab;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// `bench_loop` needs what `prepare_loop` wrote: 10 turns of SUBS and BNE. `bench_broken` says that
/// it failed.
const BENCHES: &str = "
.syntax unified
.thumb
.macro function name
.global \\name
.type \\name, %function
.thumb_func
\\name:
.endm
function prepare_loop
    ldr r0, =turns
    movs r1, #10
    str r1, [r0]
    bx lr
.ltorg
.size prepare_loop, . - prepare_loop
function bench_loop
    ldr r0, =turns
    ldr r0, [r0]
1:  subs r0, #1
    bne 1b
    bx lr
.ltorg
.size bench_loop, . - bench_loop
function bench_wild
    udf #0
.size bench_wild, . - bench_wild
function bench_broken
    movs r0, #9
    bx lr
.size bench_broken, . - bench_broken
.bss
turns: .space 4
";

/// A folder with the image, and its path.
fn image() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let [source, elf] = ["benches.S", "benches.elf"].map(|name| folder.path().join(name));
    fs::write(&source, BENCHES).unwrap();
    let output = Command::new("arm-none-eabi-gcc")
        .args(["-mcpu=cortex-m0plus", "-nostdlib", "-Wl,-Ttext=0,-Tbss=0x20000000,--entry=bench_loop", "-o"])
        .args([&elf, &source])
        .output()
        .expect("arm-none-eabi-gcc is missing; `scripts/setup arm_gcc` installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = elf.to_str().unwrap().to_owned();
    (folder, path)
}

fn counted(words: &[&str]) -> Value {
    serde_json::from_str(&lab(words).succeeds()).unwrap()
}

#[test]
fn a_bench_is_prepared_and_counted() {
    let (_folder, elf) = image();
    let words = ["boards", "cycles", &elf, "--only", "loop", "--json", "--core"];
    // LDR twice, 10 SUBS, 9 BNE taken and one not, BX; the second LDR needs what the first one
    // loads.
    for (core, cycles) in
        [("m0p", 4 + 10 + 18 + 1 + 2), ("m3", 4 + 10 + 18 + 1 + 3), ("m4", 4 + 10 + 18 + 1 + 3)]
    {
        let report = counted(&[&words[..], &[core]].concat());
        assert_eq!(report["core"], core);
        assert_eq!(report["ram_bytes"], 4);
        let bench = &report["benches"][0];
        assert_eq!((&bench["name"], &bench["cycles"]), (&json!("loop"), &json!(cycles)), "{report}");
        assert_eq!(
            (&bench["instructions"], &bench["loads"], &bench["stores"]),
            (&json!(23), &json!(2), &json!(0))
        );
        assert_eq!(bench.get("profile"), None);
    }
}

#[test]
fn slow_flash_costs_more() {
    let (_folder, elf) = image();
    let words = ["boards", "cycles", &elf, "--core", "m3", "--only", "loop", "--json"];
    let cycles =
        |more: &[&str]| counted(&[&words[..], more].concat())["benches"][0]["cycles"].as_u64().unwrap();
    assert!(cycles(&["--flash-line", "8", "--flash-wait", "2,2"]) > cycles(&[]));
    assert_eq!(cycles(&["--flash-wait", "0,0"]), cycles(&[]));
}

#[test]
fn a_table_shows_the_bench_and_where_its_cycles_went() {
    let (_folder, elf) = image();
    let table = lab(["boards", "cycles", &elf, "--core", "m0p", "--only", "loop", "--profile"]).succeeds();
    for word in ["multiplications", "CPI", "loop", "35", "calls", "bench_loop", "100.0"] {
        assert!(table.contains(word), "{word} is not in {table}");
    }
}

#[test]
fn what_goes_wrong_is_said_in_one_line() {
    let (folder, elf) = image();
    let only = |bench: &'static str| lab(["boards", "cycles", &elf, "--core", "m0p", "--only", bench]);
    only("broken").fails(1, &["bench_broken", "returned 9"]);
    only("wild").fails(1, &["bench_wild", "undefined instruction 0xde00"]);
    only("none").fails(2, &["there is no bench none", "loop"]);

    let text = folder.path().join("text");
    fs::write(&text, "no image").unwrap();
    lab(["boards", "cycles", text.to_str().unwrap(), "--core", "m4"]).fails(2, &["text", "ELF"]);
    lab(["boards", "cycles", "nowhere.elf", "--core", "m4"]).fails(2, &["nowhere.elf"]);
    for (options, hint) in [
        (&["--core", "m7"][..], "m0p, m3 and m4"),
        (&["--core", "m3", "--flash-line", "9"], "power of two"),
        (&["--core", "m3", "--flash-wait", "2"], "2,2"),
    ] {
        let run = lab(["boards", "cycles", &elf].iter().chain(options));
        assert_eq!(run.status(), 2);
        assert!(run.stderr().contains(hint), "{}", run.stderr());
    }
}
