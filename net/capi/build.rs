//! Names the conditions by which a program leaves the console, or the exchange of documents, out of
//! the library.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(motemix_without_console)");
    println!("cargo:rustc-check-cfg=cfg(motemix_without_exchange)");
    println!("cargo:rerun-if-changed=build.rs");
}
