//! The devices of each board.

pub mod microbit;
pub mod mps2;
