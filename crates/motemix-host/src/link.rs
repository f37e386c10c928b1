//! Datagrams between nodes.
//!
//! Source addresses are not read: a node authenticates packets, not senders, and what is not read cannot be
//! logged.

mod batch;
pub mod faults;
pub mod radio;
pub mod udp;

pub use batch::{BATCH, Batch, Outbox, Outgoing};
pub use faults::Loss;
pub use radio::RadioLink;
pub use udp::{LinkCounters, UdpLink};
