//! Names the linker script, and GCC's own library: its 64-bit multiplication is part of what is
//! measured.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let dir = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rerun-if-changed=../bench/link.ld");
    println!("cargo:rustc-link-arg-bins=-T{dir}/../bench/link.ld");

    let core = match env::var("TARGET").expect("cargo sets it").as_str() {
        target if target.starts_with("thumbv6m") => "-mcpu=cortex-m0plus",
        target if target.starts_with("thumbv7m") => "-mcpu=cortex-m3",
        _ => "-mcpu=cortex-m4",
    };
    let output = Command::new("arm-none-eabi-gcc")
        .args(["-mthumb", core, "-mfloat-abi=soft", "-print-libgcc-file-name"])
        .output()
        .expect("arm-none-eabi-gcc is missing: install gcc-arm-none-eabi");
    let library = PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim());
    println!("cargo:rustc-link-search=native={}", library.parent().expect("a folder").display());
    println!("cargo:rustc-link-lib=static:-bundle=gcc");
}
