//! Bounded numbers of connections that nobody can occupy: when all places are taken, whoever has
//! most of them gives up the one that has been idle for longest.

use std::cell::Cell;
use std::cmp::Reverse;
use std::net::{IpAddr, Ipv6Addr};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

/// Since when a connection waits for its peer; `None` while the peer waits for the node.
pub type Idle = Rc<Cell<Option<Instant>>>;

/// A connection that is idle from now on.
pub fn idle_now() -> Idle {
    Rc::new(Cell::new(Some(Instant::now())))
}

/// Whose a connection is: an IPv4 address, or the first 64 bits of one of IPv6, because whoever has
/// one of those has all of them. Whoever comes over a Unix-domain socket is of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(Option<IpAddr>);

impl Network {
    /// This machine.
    pub const HERE: Self = Self(None);

    /// Whose an address is.
    pub fn of(address: IpAddr) -> Self {
        Self(Some(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(v6) => {
                let prefix = v6.to_bits() >> 64 << 64;
                v6.to_ipv4_mapped().map_or_else(|| Ipv6Addr::from_bits(prefix).into(), IpAddr::V4)
            }
        }))
    }
}

/// Connections that gave up their places, of all listeners of this process.
static CLOSED: AtomicU64 = AtomicU64::new(0);

/// How many connections gave up their places since the program began.
pub fn closed() -> u64 {
    CLOSED.load(Ordering::Relaxed)
}

/// The connections of one listener.
#[derive(Debug)]
pub struct Places {
    most: usize,
    taken: Vec<Taken>,
}

#[derive(Debug)]
struct Taken {
    task: AbortHandle,
    idle: Idle,
    network: Network,
}

impl Places {
    /// So many places, all free.
    pub fn new(most: usize) -> Self {
        Self { most, taken: Vec::new() }
    }

    /// Whether another connection from there has a place. One that is idle is closed for it if
    /// necessary.
    pub fn make_room(&mut self, from: Network) -> bool {
        self.taken.retain(|taken| !taken.task.is_finished());
        self.taken.len() < self.most || self.close_one(Some(from))
    }

    /// Closes the connection that has been idle for longest, of a network that has most: the one
    /// from which another comes, perhaps. `false` if none is idle.
    pub fn close_one(&mut self, comes: Option<Network>) -> bool {
        let of = |network| {
            let has = self.taken.iter().filter(|taken| taken.network == network).count();
            has + usize::from(comes == Some(network))
        };
        let idle = self.taken.iter().enumerate().filter_map(|(at, taken)| {
            let since = taken.idle.get()?;
            Some(((of(taken.network), Reverse(since)), at))
        });
        let Some((_, at)) = idle.max() else { return false };
        self.taken.swap_remove(at).task.abort();
        CLOSED.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Gives a connection from there its place.
    pub fn take(&mut self, from: Network, task: &JoinHandle<()>, idle: Idle) {
        self.taken.push(Taken { task: task.abort_handle(), idle, network: from });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::task::{LocalSet, spawn_local};

    use super::*;

    fn network(address: &str) -> Network {
        Network::of(address.parse().unwrap())
    }

    /// Connections of these, one after the other, of which none ends by itself; which are open
    /// then.
    async fn open(places: &mut Places, of: &[&str]) -> Vec<String> {
        let (mut tasks, begin) = (Vec::new(), Instant::now());
        for (number, address) in (0..).zip(of) {
            assert!(places.make_room(network(address)));
            let task = spawn_local(std::future::pending());
            let since = begin + Duration::from_millis(number);
            places.take(network(address), &task, Rc::new(Cell::new(Some(since))));
            tasks.push((*address, task));
            // Those that are closed end when they are next looked at.
            tokio::task::yield_now().await;
        }
        let open = tasks.iter().filter(|(_, task)| !task.is_finished());
        open.map(|(address, _)| (*address).to_owned()).collect()
    }

    #[tokio::test]
    async fn who_has_most_gives_up_its_oldest_and_others_keep_theirs() {
        let (mut places, closed_before) = (Places::new(4), closed());
        let flood = ["192.0.2.9"; 100];
        let comers = [&["192.0.2.1"], &flood[..], &["192.0.2.2"], &flood[..]].concat();
        let open = LocalSet::new().run_until(open(&mut places, &comers)).await;
        assert_eq!(open, ["192.0.2.1", "192.0.2.2", "192.0.2.9", "192.0.2.9"]);
        assert!(closed() >= closed_before + 198);
    }

    #[tokio::test]
    async fn where_all_have_one_the_oldest_goes() {
        let mut places = Places::new(2);
        let comers = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
        let open = LocalSet::new().run_until(open(&mut places, &comers)).await;
        assert_eq!(open, ["192.0.2.2", "192.0.2.3"]);
    }

    #[test]
    fn a_prefix_of_ipv6_is_one_network_and_addresses_of_ipv4_are_several() {
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    }
}
