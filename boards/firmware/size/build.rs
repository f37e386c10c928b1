//! Names the linker script.

fn main() {
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-link-arg-bins=-T{dir}/../bench/link.ld");
    println!("cargo:rerun-if-changed=link.ld");
}
