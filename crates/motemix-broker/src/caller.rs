//! Who asks.

use std::net::IpAddr;

use motemix_coap::{Peer, Source};
use motemix_object::Identity;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Where the request came from.
    pub peer: Peer,
    /// The address at the other end of a connection. That of a datagram stands in it, and may be
    /// forged.
    pub connected: Option<IpAddr>,
    /// The device that it is, if OSCORE with EDHOC has proven it.
    pub device: Option<Identity>,
    /// A part of this system: a receiver node or a bridge.
    pub local: bool,
}

impl Caller {
    /// Where the request came from, as limits and first come, first served go by.
    pub fn address(&self) -> Option<IpAddr> {
        match self.peer {
            Peer::Datagram(address) => Some(address.ip().to_canonical()),
            Peer::Stream(_) => self.connected.map(|address| address.to_canonical()),
        }
    }

    /// The source whose share of places a request takes; none for this machine.
    pub(crate) fn source(&self) -> Option<Source> {
        self.address().map(Source::of)
    }
}
