//! What Loopix costs and what it buys: models alone, without sockets and without a terminal.
//!
//! | module | what |
//! |---|---|
//! | [`cost`] | data and money of a client, and the delay that its rate allows |
//! | [`energy`] | the radio of a telephone, fed with a packet trace; three generations of networks |
//! | [`anonymity`] | what a mix hides, in closed form and simulated; what layers of them hide from an observer |
//! | [`policy`] | cover that follows the number of users; sending in the foreground alone |
//! | [`advice`] | rates and delays within a budget and a latency |
//!
//! `docs/research/loopix-study.md` has the formulas, their sources, and what was found. Everything
//! that involves chance takes a seed, and gives the same figures for it on every machine.

pub mod advice;
pub mod anonymity;
pub mod chance;
pub mod cost;
pub mod energy;
pub mod estimate;
pub mod policy;
