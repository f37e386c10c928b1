//! What the laboratory reckons and checks, without a terminal.

#![forbid(unsafe_code)]

pub mod loopix;
