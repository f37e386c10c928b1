//! Chooses the memory of the board that the target stands for.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let target = env::var("TARGET").expect("cargo sets it");
    let core = target.split('-').next().unwrap_or_default();
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let memory = root.join("memory").join(core).with_extension("x");
    let memory = fs::read(&memory).unwrap_or_else(|error| {
        panic!("{}: {error}; the boards are thumbv6m, thumbv7m, thumbv7em", memory.display())
    });
    fs::write(out.join("memory.x"), memory).expect("OUT_DIR can be written");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    // Without it the sections' addresses are not multiples of a page, and QEMU refuses to load
    // them.
    println!("cargo:rustc-link-arg-bins=--nmagic");
    println!("cargo:rerun-if-changed=memory");
}
