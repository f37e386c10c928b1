//! Names the linker script, and the core.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(core, values(\"m0\", \"m3\", \"m4\"))");
    // The compiler's own conditions do not tell these cores apart.
    let target = std::env::var("TARGET").expect("cargo sets it");
    let core = match target.split('-').next() {
        Some("thumbv6m") => "m0",
        Some("thumbv7m") => "m3",
        _ => "m4",
    };
    println!("cargo:rustc-cfg=core=\"{core}\"");
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-link-arg-bins=-T{dir}/../bench/link.ld");
    println!("cargo:rerun-if-changed=link.ld");
}
