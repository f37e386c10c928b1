//! Puts what is for the emulator outside of the chip's memories, where simavr looks for it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-Wl,--section-start=.mmcu=0x910000,--undefined=_mmcu");
}
