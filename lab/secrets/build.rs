//! Compiles the client requests of valgrind.

fn main() {
    println!("cargo::rerun-if-changed=c/requests.c");
    cc::Build::new().file("c/requests.c").warnings(true).compile("requests");
}
