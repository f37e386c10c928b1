//! What a network document says, for C.

use core::ffi::c_char;
use core::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use motemix_directory::{MAX_NAME_LEN, NetworkDocument, Role};

use crate::status::Status;

/// Bytes of a name with its terminating NUL, at most.
pub const NAME_SIZE: usize = 33;
/// The most addresses of a node.
pub const MAX_ADDRESSES: usize = 2;

const _: () = assert!(NAME_SIZE == MAX_NAME_LEN + 1 && MAX_ADDRESSES == motemix_directory::MAX_ADDRESSES);

fn terminated(name: &str) -> [c_char; NAME_SIZE] {
    let mut text = [0; NAME_SIZE];
    // One place is left over for the NUL: no name is longer.
    for (place, byte) in text.iter_mut().zip(name.bytes()).take(NAME_SIZE - 1) {
        *place = c_char::from_ne_bytes([byte]);
    }
    text
}

/// Where a node listens for datagrams.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The address in network order: 16 bytes of IPv6, or 4 of IPv4 and zeros.
    pub ip: [u8; 16],
    /// The UDP port in the machine's byte order, not 0.
    pub port: u16,
    /// 6 or 4.
    pub version: u8,
}

impl Address {
    const NONE: Self = Self { ip: [0; 16], port: 0, version: 0 };

    /// The address of a mote, or of its neighbour.
    pub(crate) fn v6(&self) -> Result<SocketAddrV6, Status> {
        if self.version != 6 {
            return Err(Status::UnknownReceiver);
        }
        Ok(SocketAddrV6::new(Ipv6Addr::from(self.ip), self.port, 0, 0))
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        let (ip, version) = match address.ip() {
            IpAddr::V6(v6) => (v6.octets(), 6),
            IpAddr::V4(v4) => {
                let [a, b, c, d] = v4.octets();
                ([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 4)
            }
        };
        Self { ip, port: address.port(), version }
    }
}

/// A node of the network, as its authorities describe it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Its addresses, the preferred one first.
    pub addresses: [Address; MAX_ADDRESSES],
    /// Its X25519 key of this epoch.
    pub mix_key: [u8; 32],
    /// Its name, NUL-terminated: `[a-z0-9-]`, unique in the network.
    pub name: [c_char; NAME_SIZE],
    /// How many addresses there are, 1 or 2.
    pub address_count: u8,
    /// Whether it forwards packets for others.
    pub is_mix: bool,
    /// The layer of a mix, from 0; 0 for others.
    pub layer: u8,
    /// Its number in this epoch.
    pub id: u16,
}

impl From<motemix_directory::DocumentNode<'_>> for Descriptor {
    fn from(node: motemix_directory::DocumentNode<'_>) -> Self {
        let mut addresses = [Address::NONE; MAX_ADDRESSES];
        let mut address_count = 0;
        for (place, address) in addresses.iter_mut().zip(node.addresses.iter()) {
            *place = address.into();
            address_count += 1;
        }
        let (is_mix, layer) = match node.role {
            Role::Mix { layer } => (true, layer),
            Role::Endpoint => (false, 0),
        };
        let (id, mix_key, name) = (node.id.get(), node.mix_key.0, terminated(node.name));
        Self { addresses, mix_key, name, address_count, is_mix, layer, id }
    }
}

/// What a document says besides its nodes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// The first second in which it may be used, since 1970.
    pub valid_after: u64,
    /// The first second in which it may no longer be used.
    pub valid_until: u64,
    /// Its epoch.
    pub epoch: u32,
    /// How many ids there are, from 0 on. Of an id whose node left the network,
    /// motemix_document_node says MOTEMIX_UNKNOWN_NODE.
    pub nodes: u16,
    /// The network's name, NUL-terminated.
    pub network: [c_char; NAME_SIZE],
}

impl From<&NetworkDocument<'_>> for About {
    fn from(document: &NetworkDocument<'_>) -> Self {
        Self {
            valid_after: document.valid_after().0,
            valid_until: document.valid_until().0,
            epoch: document.epoch().0,
            nodes: document.id_count() as u16,
            network: terminated(document.network_name()),
        }
    }
}
