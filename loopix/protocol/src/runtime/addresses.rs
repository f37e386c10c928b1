//! Where hosts are. Packets never wait for a name server.
//!
//! IP addresses are read as such. DNS names are looked up only if the directory has them, when the
//! node starts and every few minutes, on another thread: what a packet or a request names cannot
//! make the node ask anybody. What was found serves twice: it says where to send, and which
//! addresses others may write for a name ([`Hosts`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout_at;

use crate::files::Directory;
use crate::role::{Address, Hosts};

/// How long an answer of a name server is used.
const REFRESH_EVERY: Duration = Duration::from_mins(5);
/// How soon names are looked up again of which some were not found.
const RETRY_AFTER: Duration = Duration::from_secs(15);
/// How long a node that starts waits for the first answers.
const FIRST_WAIT: Duration = Duration::from_secs(10);

/// Names that are looked up side by side: one that no server answers for is waited for by itself.
pub(super) const SIDE_BY_SIDE: usize = 16;

/// No addresses: the name was not found.
type Found = (Arc<str>, Vec<IpAddr>);

/// The addresses of one node's neighbours.
#[derive(Debug)]
pub(super) struct Addresses {
    /// The family of the node's own socket: it reaches no other.
    is_ipv4: bool,
    routes: BTreeMap<Arc<str>, IpAddr>,
    hosts: Hosts,
    /// Whether the role knows `hosts`.
    is_told: bool,
    names: BTreeSet<Arc<str>>,
    /// Names without an address, each said once.
    missing: BTreeSet<Arc<str>>,
    /// Names that are to be looked up.
    waiting: VecDeque<Arc<str>>,
    lookups: JoinSet<Found>,
    next_lookup: Instant,
}

impl Addresses {
    /// Addresses for a socket bound to `local`.
    pub(super) fn new(local: SocketAddr) -> Self {
        Self {
            is_ipv4: local.is_ipv4(),
            routes: BTreeMap::new(),
            hosts: Hosts::default(),
            is_told: false,
            names: BTreeSet::new(),
            missing: BTreeSet::new(),
            waiting: VecDeque::new(),
            lookups: JoinSet::new(),
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
        self.routes.retain(|host, _| hosts.contains(host));
        self.hosts.retain(|host| hosts.contains(host));
        self.missing.retain(|host| hosts.contains(host));
        self.is_told = false;
        self.names.clear();
        self.waiting.clear();
        for host in hosts {
            match host.parse() {
                Ok(address) => drop(self.routes.insert(host, address)),
                Err(_) => drop(self.names.insert(host)),
            }
        }
        self.next_lookup = Instant::now();
    }

    /// Where datagrams for `to` go; `None` if that is not known, or cannot be reached from here.
    pub(super) fn find(&self, to: &Address) -> Option<SocketAddr> {
        let known = self.routes.get(&to.host).copied();
        // A client may have subscribed with an address of its own.
        let address = known.or_else(|| to.host.parse().ok())?;
        (address.is_ipv4() == self.is_ipv4 && to.port != 0).then(|| SocketAddr::new(address, to.port))
    }

    /// What the role is to know of the directory's hosts, if it has changed since the last call.
    pub(super) fn take_news(&mut self) -> Option<Hosts> {
        let is_told = std::mem::replace(&mut self.is_told, true);
        (!is_told).then(|| self.hosts.clone())
    }

    /// How many of the directory's names have no address that this node can send to.
    pub(super) fn missing(&self) -> u64 {
        self.missing.len() as u64
    }

    /// Looks names up if it is time to, and takes over what was found. It does not wait.
    pub(super) fn refresh(&mut self, now: Instant) {
        while let Some(found) = self.lookups.try_join_next() {
            self.take_up(found);
        }
        if self.lookups.is_empty() && now >= self.next_lookup {
            self.next_lookup = now + REFRESH_EVERY;
            self.waiting.extend(self.names.iter().cloned());
            self.look_up_more();
        }
    }

    fn look_up_more(&mut self) {
        while self.lookups.len() < SIDE_BY_SIDE
            && let Some(name) = self.waiting.pop_front()
        {
            self.lookups.spawn_blocking(move || (name.clone(), look_up(&name)));
        }
    }

    /// Takes over what was found, and goes on with the next name.
    fn take_up(&mut self, found: Result<Found, JoinError>) {
        // A thread that failed has found nothing.
        if let Ok((name, addresses)) = found {
            self.take(name, addresses);
        }
        self.look_up_more();
    }

    /// Waits for lookups that are under way, but not long: a name server that is down must not keep
    /// a node from its work.
    pub(super) async fn found(&mut self) {
        let until = tokio::time::Instant::now() + FIRST_WAIT;
        while let Ok(Some(found)) = timeout_at(until, self.lookups.join_next()).await {
            self.take_up(found);
        }
    }

    /// An address stays until a name server names another: one that does not answer must not cut
    /// off the node.
    fn take(&mut self, name: Arc<str>, addresses: Vec<IpAddr>) {
        // The directory may have changed meanwhile.
        if !self.names.contains(&name) {
            return;
        }
        if let Some(address) = addresses.iter().find(|address| address.is_ipv4() == self.is_ipv4) {
            if self.missing.remove(&name) {
                tracing::info!("the directory's host {name} is found again");
            }
            self.routes.insert(name.clone(), *address);
        } else {
            self.next_lookup = self.next_lookup.min(Instant::now() + RETRY_AFTER);
            if self.missing.insert(name.clone()) {
                let family = if self.is_ipv4 { "IPv4" } else { "IPv6" };
                let since =
                    if self.routes.contains_key(&name) { "; the address from before is used" } else { "" };
                tracing::warn!(
                    "the directory's host {name} has no {family} address{since}; check the name server"
                );
            }
        }
        if !addresses.is_empty() {
            self.hosts.set(name, addresses);
            self.is_told = false;
        }
    }
}

/// All addresses of a name.
pub(super) fn look_up(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs();
    found.map(|found| found.map(|address| address.ip()).collect()).unwrap_or_default()
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
        addresses.refresh(Instant::now());
        addresses.found().await;
        // Said here too: a name server may take longer to say so than a node waits.
        addresses.take("no-such-host.invalid".into(), Vec::new());
        assert_eq!(find(&addresses, "localhost", 5), Some("127.0.0.1:5".into()));
        assert_eq!(find(&addresses, "no-such-host.invalid", 5), None);
        assert_eq!(find(&addresses, "LOCALHOST", 5), None, "a packet names it, the directory does not");
        assert_eq!(addresses.missing(), 1);
        let hosts = addresses.take_news().unwrap();
        assert!(hosts.is_same("localhost", "127.0.0.1"));
        assert!(!hosts.is_same("no-such-host.invalid", "127.0.0.1"));
        assert_eq!(addresses.take_news(), None, "said once");
        // One that is found no more keeps its address; one that has left the directory does not.
        addresses.take("localhost".into(), Vec::new());
        assert_eq!(find(&addresses, "localhost", 5), Some("127.0.0.1:5".into()));
        assert_eq!(addresses.missing(), 2);
        addresses.set_directory(&Directory::default());
        assert_eq!(find(&addresses, "localhost", 5), None);
        assert_eq!(addresses.missing(), 0);
        assert!(!addresses.take_news().unwrap().is_same("localhost", "127.0.0.1"));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_name_that_no_server_answers_for_holds_up_no_other() {
        let mut addresses = addresses(&["localhost"]);
        addresses.refresh(Instant::now());
        addresses.lookups.spawn(std::future::pending());
        let is_found = async {
            while find(&addresses, "localhost", 5).is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
                addresses.refresh(Instant::now());
            }
        };
        tokio::time::timeout(Duration::from_mins(3), is_found).await.unwrap();
    }

    #[test]
    fn a_host_of_both_families_is_reached_by_one_and_known_by_both() {
        let mut addresses = addresses(&["both.example"]);
        let found = ["2001:db8::7", "192.0.2.7"].map(|address| address.parse().unwrap());
        addresses.take("both.example".into(), found.to_vec());
        assert_eq!(find(&addresses, "both.example", 5), Some("192.0.2.7:5".into()));
        let hosts = addresses.take_news().unwrap();
        assert!(["2001:db8::7", "192.0.2.7"].iter().all(|said| hosts.is_same("both.example", said)));
        // What name servers say now counts, and not what they said before.
        addresses.take("both.example".into(), vec!["192.0.2.8".parse().unwrap()]);
        let hosts = addresses.take_news().unwrap();
        assert!(!hosts.is_same("both.example", "192.0.2.7"));
        assert_eq!(find(&addresses, "both.example", 5), Some("192.0.2.8:5".into()));
    }
}
