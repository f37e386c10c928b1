//! The commands of the program `motemix`.

mod commands;

pub use commands::run;
