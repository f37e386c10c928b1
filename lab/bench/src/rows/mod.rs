//! What is compared.

pub mod broker;
pub mod create;
pub mod forward;
pub mod hop;
pub mod link;
pub mod loopix;
pub mod p224;
pub mod replay;
pub mod sim;
pub mod x25519;

/// Bytes of application data in a host's packet, on both sides.
pub const HOST_DATA: [u8; 1024] = [0x6d; 1024];
