//! Tells a Cortex-M3 apart, which the compiler's own conditions cannot.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(armv7m)");
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("TARGET").is_ok_and(|target| target.starts_with("thumbv7m")) {
        println!("cargo:rustc-cfg=armv7m");
    }
}
