//! Compares motemix with its peers. Absolute times of a host are not stable, so both sides run in
//! one process on one core and take turns; what counts is the ratio.
//!
//! | module | what |
//! |---|---|
//! | [`machine`] | which processor this is, and staying on one core of it |
//! | [`turns`] | two pieces of work, timed in turns |
//! | [`ours`], [`peer`] | the same network, once with motemix and once with Nym's `sphinx-packet` |
//! | [`node_filter`] | the node's replay filter alone |
//! | [`rows`] | what is compared |
//! | [`load`] | datagrams through a forwarding process: generator, sink, forwarders |
//! | [`report`] | the table and `target/bench.json` |

#![forbid(unsafe_code)]

#[allow(dead_code, reason = "the filter needs one type of it")]
#[path = "../../../net/node/src/journal.rs"]
mod journal;
pub mod load;
pub mod machine;
pub mod node_filter;
pub mod ours;
pub mod outfox;
pub mod peer;
#[allow(dead_code, reason = "a node does more with it")]
#[path = "../../../net/node/src/replay.rs"]
mod replay;
pub mod report;
pub mod rows;
pub mod turns;
