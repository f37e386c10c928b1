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
    /// The address has shown that what is sent to it arrives, or it is of a connection.
    pub proven: bool,
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

    /// The same for places that are taken from the source that has most: each forged address would
    /// have less than an honest one. All that are not proven are one source; nobody else than a
    /// device that has proven its key has sent its requests.
    pub(crate) fn source_of_places(&self) -> Option<Source> {
        let source = self.source()?;
        Some(if self.proven || self.device.is_some() { source } else { Source::UNPROVEN })
    }
}
