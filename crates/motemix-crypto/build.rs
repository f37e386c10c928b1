//! Tells the cores apart that have no long product, or one whose time depends on what it
//! multiplies. The compiler's own conditions cannot.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(products_of_halves)");
    println!("cargo:rerun-if-changed=build.rs");
    // Cortex-M0, M0+ and M23; Cortex-M3.
    let cores = ["thumbv6m-", "thumbv8m.base-", "thumbv7m-"];
    let target = std::env::var("TARGET").unwrap_or_default();
    if cores.iter().any(|core| target.starts_with(core)) {
        println!("cargo:rustc-cfg=products_of_halves");
    }
}
