//! Where the directory's hosts are, as name servers say.
//!
//! A client of the originals looks its provider's name up at its start, and writes the IP address
//! into its loops. A node that knows the provider by its name alone would drop each of them, so it
//! takes the addresses for the name. It never looks up what a packet says: [`Hosts`] has the
//! directory's names, and the driver fills it beside the packets.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Addresses of one host that count; further ones are left out.
const MOST_ADDRESSES: usize = 16;

/// IP addresses, of both families, by the names of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(BTreeMap<Arc<str>, Vec<IpAddr>>);

impl Hosts {
    /// What name servers say now about a host, in place of what they said before; 16 addresses at
    /// most.
    pub fn set(&mut self, host: Arc<str>, addresses: impl IntoIterator<Item = IpAddr>) {
        let mut kept: Vec<IpAddr> = Vec::new();
        for address in addresses.into_iter().map(|address| address.to_canonical()) {
            if kept.len() < MOST_ADDRESSES && !kept.contains(&address) {
                kept.push(address);
            }
        }
        self.0.insert(host, kept);
    }

    /// Forgets the hosts that `is_kept` does not want.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&str) -> bool) {
        self.0.retain(|host, _| is_kept(host));
    }

    /// The addresses of a host: of a name those that were set, of an IP address itself.
    pub fn of(&self, host: &str) -> Vec<IpAddr> {
        match address(host) {
            Some(address) => vec![address],
            None => self.0.get(host).cloned().unwrap_or_default(),
        }
    }

    /// Whether `said` means the host that a directory lists as `listed`: the same text, or one of
    /// its addresses.
    pub fn is_same(&self, listed: &str, said: &str) -> bool {
        listed == said || address(said).is_some_and(|said| self.of(listed).contains(&said))
    }
}

/// An IP address that stands where a name could. An IPv4 address in the form of IPv6 is the same
/// address.
pub(super) fn address(host: &str) -> Option<IpAddr> {
    host.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stands_for_the_name_that_has_it_and_for_no_other() {
        let mut hosts = Hosts::default();
        let v6: IpAddr = "2001:db8::7".parse().unwrap();
        hosts.set("provider.example".into(), ["192.0.2.7".parse().unwrap(), v6]);
        for said in ["provider.example", "192.0.2.7", "::ffff:192.0.2.7", "2001:db8:0::7"] {
            assert!(hosts.is_same("provider.example", said), "{said}");
        }
        for said in ["192.0.2.8", "other.example", "PROVIDER.example", ""] {
            assert!(!hosts.is_same("provider.example", said), "{said}");
        }
        assert!(hosts.is_same("::1", "0:0:0:0:0:0:0:1"));
        hosts.retain(|_| false);
        assert!(!hosts.is_same("provider.example", "192.0.2.7"));
    }

    #[test]
    fn a_name_server_cannot_fill_the_memory() {
        let mut hosts = Hosts::default();
        hosts.set("many.example".into(), (0..10_000_u32).map(|number| IpAddr::V4(number.into())));
        assert_eq!(hosts.of("many.example").len(), MOST_ADDRESSES);
    }
}
