//! `motemix boards`: what boards do with our code.

mod cycles;

pub use cycles::cycles;
