//! What the laboratory computes and checks, without a terminal.

#![forbid(unsafe_code)]

pub mod loopix;
