//! Where hosts are. Packets never wait for a name server.
//!
//! IP addresses are read as such. DNS names are looked up only if the directory has them, when the node starts and
//! every few minutes, on another thread: what a packet or a request names cannot make the node ask anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinHandle, spawn_blocking};

use crate::files::Directory;
use crate::role::Address;

/// How long an answer of a name server is used.
const REFRESH_EVERY: Duration = Duration::from_mins(5);
/// How soon names are looked up again of which some were not found.
const RETRY_AFTER: Duration = Duration::from_secs(15);

type Found = BTreeMap<Arc<str>, Option<IpAddr>>;

/// The addresses of one node's neighbours.
#[derive(Debug)]
pub(super) struct Addresses {
    /// Of the node's own socket: it reaches no other family.
    is_ipv4: bool,
    hosts: BTreeMap<Arc<str>, IpAddr>,
    names: BTreeSet<Arc<str>>,
    lookup: Option<JoinHandle<Found>>,
    next_lookup: Instant,
}

impl Addresses {
    /// Addresses for a socket bound to `local`.
    pub(super) fn new(local: SocketAddr) -> Self {
        Self {
            is_ipv4: local.is_ipv4(),
            hosts: BTreeMap::new(),
            names: BTreeSet::new(),
            lookup: None,
            next_lookup: Instant::now(),
        }
    }

    /// Takes over the hosts of a directory.
    pub(super) fn set_directory(&mut self, directory: &Directory) {
        let mixes = directory.mixes().map(|mix| &mix.host);
        let providers = directory.providers().iter().map(|provider| &provider.host);
        let users = directory.users().iter().map(|user| &user.host);
        let hosts: BTreeSet<Arc<str>> =
            mixes.chain(providers).chain(users).map(|host| host.as_str().into()).collect();
        self.hosts.retain(|host, _| hosts.contains(host));
        self.names.clear();
        for host in hosts {
            match host.parse() {
                Ok(address) => drop(self.hosts.insert(host, address)),
                Err(_) => drop(self.names.insert(host)),
            }
        }
        self.next_lookup = Instant::now();
    }

    /// Where datagrams for `to` go; `None` if that is not known, or cannot be reached from here.
    pub(super) fn find(&self, to: &Address) -> Option<SocketAddr> {
        let known = self.hosts.get(&to.host).copied();
        // A client may have subscribed with an address of its own.
        let address = known.or_else(|| to.host.parse().ok())?;
        (address.is_ipv4() == self.is_ipv4 && to.port != 0).then(|| SocketAddr::new(address, to.port))
    }

    /// Looks names up if it is time to, and takes over what was found. It does not wait.
    pub(super) async fn refresh(&mut self, now: Instant) {
        if self.lookup.as_ref().is_some_and(JoinHandle::is_finished)
            && let Some(lookup) = self.lookup.take()
        {
            // A thread that failed has found nothing.
            self.take(lookup.await.unwrap_or_default());
        }
        if self.lookup.is_none() && !self.names.is_empty() && now >= self.next_lookup {
            self.next_lookup = now + REFRESH_EVERY;
            let (names, is_ipv4) = (self.names.clone(), self.is_ipv4);
            self.lookup = Some(spawn_blocking(move || {
                names.into_iter().map(|name| (name.clone(), look_up(&name, is_ipv4))).collect()
            }));
        }
    }

    /// Waits for a lookup that is under way.
    pub(super) async fn found(&mut self) {
        if let Some(lookup) = self.lookup.take() {
            self.take(lookup.await.unwrap_or_default());
        }
    }

    /// An address stays until a name server names another: one that does not answer must not cut off the node.
    fn take(&mut self, found: Found) {
        let mut missing = None;
        for (name, address) in found {
            match address {
                Some(address) => drop(self.hosts.insert(name, address)),
                None => missing = Some(name),
            }
        }
        if let Some(name) = missing {
            self.next_lookup = self.next_lookup.min(Instant::now() + RETRY_AFTER);
            tracing::warn!("the directory's host {name} is not found; check the name server");
        }
    }
}

/// The first address of the family.
pub(super) fn look_up(name: &str, is_ipv4: bool) -> Option<IpAddr> {
    let mut found = (name, 0).to_socket_addrs().ok()?;
    found.find(|address| address.is_ipv4() == is_ipv4).map(|address| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::ProviderEntry;
    use motemix_crypto::p224::Point;

    fn addresses(hosts: &[&str]) -> Addresses {
        let provider = |(number, host): (usize, &&str)| ProviderEntry {
            name: format!("Provider{number}"),
            host: (*host).to_owned(),
            port: 9000,
            public_key: Point::GENERATOR,
        };
        let providers = hosts.iter().enumerate().map(provider).collect();
        let mut addresses = Addresses::new("127.0.0.1:0".parse().unwrap());
        addresses.set_directory(&Directory::new(Vec::new(), providers, Vec::new()));
        addresses
    }

    fn find(addresses: &Addresses, host: &str, port: u16) -> Option<String> {
        addresses.find(&Address { host: host.into(), port }).map(|found| found.to_string())
    }

    #[test]
    fn ip_addresses_are_read_and_those_out_of_reach_are_not_found() {
        let addresses = addresses(&["10.0.0.7", "::1"]);
        assert_eq!(find(&addresses, "10.0.0.7", 5), Some("10.0.0.7:5".into()));
        assert_eq!(find(&addresses, "10.0.0.8", 5), Some("10.0.0.8:5".into()), "of a subscribed client");
        assert_eq!(find(&addresses, "::1", 5), None, "the socket is one of IPv4");
        assert_eq!(find(&addresses, "10.0.0.7", 0), None);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn names_of_the_directory_are_looked_up_and_no_others() {
        let mut addresses = addresses(&["localhost", "no-such-host.invalid"]);
        assert_eq!(find(&addresses, "localhost", 5), None);
        addresses.refresh(Instant::now()).await;
        addresses.found().await;
        assert_eq!(find(&addresses, "localhost", 5), Some("127.0.0.1:5".into()));
        assert_eq!(find(&addresses, "no-such-host.invalid", 5), None);
        assert_eq!(find(&addresses, "LOCALHOST", 5), None, "a packet names it, the directory does not");
        // One that is found no more keeps its address; one that has left the directory does not.
        addresses.take([("localhost".into(), None)].into());
        assert_eq!(find(&addresses, "localhost", 5), Some("127.0.0.1:5".into()));
        addresses.set_directory(&Directory::default());
        assert_eq!(find(&addresses, "localhost", 5), None);
    }
}
