//! Link-local addresses, and the radios that have them.

use core::net::Ipv6Addr;

#[cfg(doc)]
use super::Received;
use crate::mac::{LinkAddress, link_local_of};
use crate::serial::ExtendedAddress;

/// The interface identifier of a neighbour's address, as in [`Received::from`]; `None` if the
/// address is not link-local, or of no radio.
pub fn interface_of(address: Ipv6Addr) -> Option<u64> {
    LinkAddress::of(address).map(LinkAddress::number)
}

/// The link-local address with this interface identifier, which [`Received::from`] is.
pub fn neighbour_at(interface: u64) -> Ipv6Addr {
    link_local_of(interface.to_be_bytes())
}

/// The radio with this link-local address; `None` if the address is not link-local, or made of a
/// short address.
pub fn station_of(address: Ipv6Addr) -> Option<ExtendedAddress> {
    match LinkAddress::of(address)? {
        LinkAddress::Extended(station) => Some(station),
        LinkAddress::Short(_) => None,
    }
}

/// The link-local address of a radio (RFC 4291, appendix A).
pub fn link_local(address: ExtendedAddress) -> Ipv6Addr {
    LinkAddress::Extended(address).link_local()
}
