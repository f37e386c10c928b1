//! The motemix command-line program.
mod reading;
fn main() {}
