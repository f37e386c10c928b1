//! Names the linker script.

use std::env;

fn main() {
    let dir = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rerun-if-changed=../bench/link.ld");
    println!("cargo:rustc-link-arg-bins=-T{dir}/../bench/link.ld");
}
