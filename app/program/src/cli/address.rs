//! Addresses on the command line: `[::1]:5683`, `[fe80::1%eth0]:5683`, and names of hosts where
//! something listens or is to be reached.

use motemix_os::address::{parse, resolve};
use std::net::SocketAddr;

/// Where something listens. The name of a host stands for its first address of each family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddresses(pub Vec<SocketAddr>);

/// One or two addresses.
pub fn of_each_family(text: &str) -> Result<ListenAddresses, String> {
    let found = resolve(text.trim()).map_err(|error| error.to_string())?;
    let first = |is_ipv4| found.iter().copied().find(|address| address.is_ipv4() == is_ipv4);
    Ok(ListenAddresses([first(false), first(true)].into_iter().flatten().collect()))
}

/// One address: the first, if a host has several.
pub fn of_host(text: &str) -> Result<SocketAddr, String> {
    let found = resolve(text.trim()).map_err(|error| error.to_string())?;
    found.into_iter().next().ok_or_else(|| format!("{text}: the host has no address"))
}

/// An address that other machines are told: neither a name, nor an interface of this one.
pub fn for_others(text: &str) -> Result<SocketAddr, String> {
    let address = parse(text.trim()).map_err(|error| error.to_string())?;
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => Err(format!(
            "{text}: others have no such interface, and a link-local address leads nowhere from another link; name a \
             wider one"
        )),
        other => Ok(other),
    }
}

/// All that `--listen` was given.
pub fn all(listen: &[ListenAddresses]) -> Vec<SocketAddr> {
    listen.iter().flat_map(|ListenAddresses(addresses)| addresses.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_at_most_one_address_of_each_family() {
        let ListenAddresses(found) = of_each_family("localhost:5683").unwrap();
        assert!(!found.is_empty() && found.len() <= 2, "{found:?}");
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 5683));
        assert!(of_host("localhost:5683").is_ok());
        let refusals = [
            of_each_family("localhost").map(drop),
            of_host("localhost").map(drop),
            for_others("localhost").map(drop),
        ];
        for refused in refusals {
            assert!(refused.is_err_and(|said| said.contains("as in [::1]:5683")));
        }
        assert!(for_others("localhost:5683").is_err());
        assert!(for_others("[fe80::1%1]:5683").is_err_and(|said| said.contains("another link")));
        assert!(for_others("[fe80::1]:61616").is_ok(), "as motes on a radio have it");
    }
}
