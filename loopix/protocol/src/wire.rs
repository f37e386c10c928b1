//! What Loopix says inside and beside its packets.

pub mod command;
pub mod control;
pub mod hardened;
pub mod json;
pub mod message;
