//! Compares motemix with its peers. Absolute times of a host are not stable, so both sides run in
//! one process on one core and take turns; what counts is the ratio.
//!
//! | module | what |
//! |---|---|
//! | [`machine`] | which processor this is, and staying on one core of it |
//! | [`turns`] | two pieces of work, timed in turns |
//! | [`ours`], [`peer`] | the same network, once with motemix and once with Nym's `sphinx-packet` |
//! | [`rows`] | what is compared |
//! | [`load`] | datagrams through a forwarding process: generator, sink, forwarders |
//! | [`report`] | the table and `target/bench.json` |

#![forbid(unsafe_code)]

pub mod load;
pub mod machine;
pub mod ours;
pub mod peer;
pub mod report;
pub mod rows;
pub mod turns;
