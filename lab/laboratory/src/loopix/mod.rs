//! What Loopix costs and what it buys, and whether its known answers hold.
//!
//! | module | what |
//! |---|---|
//! | [`study`] | data, energy, anonymity |
//! | [`vectors`] | known answers of the Python programs, and whether `motemix-loopix` gives them |
//! | [`ultrix`] | a packet without header MACs, which their package has too; nothing sends it |

pub mod study;
pub mod ultrix;
pub mod vectors;
