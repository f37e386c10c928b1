//! Datagrams between nodes.
//!
//! A node authenticates packets, not senders. The source address of a datagram is read for two
//! purposes: to give each source its fair share of the node's work ([`fair`]), and to find the key
//! of a neighbour where links are protected ([`sessions`]). It is never kept, logged or told.

mod batch;
pub mod fair;
pub mod faults;
pub mod key_log;
pub mod radio;
mod radio_socket;
pub mod sessions;
mod stations;
pub mod udp;

pub use batch::{BATCH, Batch, Outbox, Outgoing};
pub use fair::{FairQueue, Sources};
pub use faults::Loss;
pub use key_log::{DatagramKeyLog, KeyLog};
pub use radio::RadioLink;
pub use radio_socket::RadioSocket;
pub use sessions::{PAYLOAD_OVERHEAD, SessionCounters, Sessions, SocketNetwork, SocketNode};
pub use stations::RadioNetwork;
pub use udp::{LinkCounters, UdpLink};
