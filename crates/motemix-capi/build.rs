//! Names the condition by which a program leaves the console out of the library.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(motemix_without_console)");
    println!("cargo:rerun-if-changed=build.rs");
}
