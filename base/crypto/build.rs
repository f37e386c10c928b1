//! Tells the cores apart that each have instructions of their own to multiply with, and whether code
//! is to be small. The compiler's own conditions cannot.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").unwrap_or_default();
    let cores = [
        // Cortex-M0, M0+ and M23: no long product.
        ("armv6m", &["thumbv6m-", "thumbv8m.base-"][..]),
        // Cortex-M3: a long product whose time depends on its factors.
        ("armv7m", &["thumbv7m-"]),
        // Cortex-M4 and M7: long products of one cycle, with two summands.
        ("armv7em", &["thumbv7em-"]),
    ];
    for (core, targets) in cores {
        println!("cargo:rustc-check-cfg=cfg({core})");
        if targets.iter().any(|prefix| target.starts_with(prefix)) {
            println!("cargo:rustc-cfg={core}");
        }
    }
    // Vectors with a multiplier of 32 bits by 32, in each program for the target.
    println!("cargo:rustc-check-cfg=cfg(neon)");
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if target.starts_with("aarch64") && features.split(',').any(|feature| feature == "neon") {
        println!("cargo:rustc-cfg=neon");
    }
    // A program that is to be small has a smaller table too.
    println!("cargo:rustc-check-cfg=cfg(little_code)");
    if matches!(std::env::var("OPT_LEVEL").as_deref(), Ok("s" | "z")) {
        println!("cargo:rustc-cfg=little_code");
    }
}
