//! The motemix command-line program.
fn main() {}
