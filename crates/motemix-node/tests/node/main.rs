//! The node on virtual time: a network, stories in it, and any order of calls.

mod any_order;
mod network;
mod rate;
mod stories;
