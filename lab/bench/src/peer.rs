//! The peer's side: Nym's `sphinx-packet`, over nodes of the same number and data of the same
//! length.

use std::time::Duration;

use anyhow::{Result, anyhow};
use motemix_crypto::hash;
use sphinx_packet::header::delays::Delay;
use sphinx_packet::payload::PAYLOAD_OVERHEAD_SIZE;
use sphinx_packet::route::{Destination, DestinationAddressBytes, Node, NodeAddressBytes};
use sphinx_packet::{ProcessedPacketData, SphinxPacket, SphinxPacketBuilder};
use x25519_dalek::{PublicKey, StaticSecret};

/// As the tables call it.
pub const NAME: &str = "sphinx-packet 0.8";

/// Node n's secret.
pub fn mix_key(n: u16) -> StaticSecret {
    StaticSecret::from(*hash::blake2s_256(b"peer node", &n.to_be_bytes()).expose())
}

/// Where a packet goes, and what the sender decides about it.
pub struct Route {
    nodes: Vec<Node>,
    delays: Vec<Delay>,
    destination: Destination,
}

impl Route {
    /// Nodes 0 to `hops` − 1.
    pub fn new(hops: u16) -> Self {
        let node = |n| Node::new(NodeAddressBytes::from_bytes([n as u8; 32]), PublicKey::from(&mix_key(n)));
        Self {
            nodes: (0..hops).map(node).collect(),
            delays: (0..hops).map(|_| Delay::new_from_millis(1)).collect(),
            destination: Destination::new(DestinationAddressBytes::from_bytes([0xd; 32]), [0x1; 16]),
        }
    }

    /// Creates a packet with `data` sealed in it. The secret is given, as our seed is: neither
    /// side's source of entropy is timed.
    pub fn create(&self, secret: &StaticSecret, data: &[u8]) -> Result<SphinxPacket> {
        SphinxPacketBuilder::new()
            .with_payload_size(data.len() + PAYLOAD_OVERHEAD_SIZE)
            .with_initial_secret(secret)
            .build_packet(data, &self.nodes, &self.destination, &self.delays)
            .map_err(|error| anyhow!("sphinx-packet: {error}"))
    }
}

/// The initial secret of packet n.
pub fn secret(n: u64) -> StaticSecret {
    StaticSecret::from(*hash::blake2s_256(b"peer packet", &n.to_be_bytes()).expose())
}

/// Reads a datagram.
pub fn parse(datagram: &[u8]) -> Result<SphinxPacket> {
    SphinxPacket::from_bytes(datagram).map_err(|error| anyhow!("sphinx-packet: {error}"))
}

/// Removes one layer; the next packet and its delay, if there is one.
pub fn forward(packet: SphinxPacket, key: &StaticSecret) -> Option<(SphinxPacket, Duration)> {
    match packet.process(key).ok()?.data {
        ProcessedPacketData::ForwardHop { next_hop_packet, delay, .. } => {
            Some((next_hop_packet, delay.to_duration()))
        }
        ProcessedPacketData::FinalHop { .. } => None,
    }
}
