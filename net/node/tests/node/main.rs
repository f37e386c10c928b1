//! The node on virtual time: a network, stories in it, and any order of calls.

mod admission;
mod alarm;
mod any_order;
mod batches;
mod constant_rate;
mod curve;
mod expiry;
mod network;
mod passed;
mod rate;
mod side_by_side;
mod statistics;
mod stories;
mod tables;
mod turned;
