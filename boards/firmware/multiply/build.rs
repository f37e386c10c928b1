//! Tells ARMv6-M apart, which the compiler's own conditions cannot.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(armv6m)");
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("TARGET").is_ok_and(|target| target.starts_with("thumbv6m")) {
        println!("cargo:rustc-cfg=armv6m");
    }
}
