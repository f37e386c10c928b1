//! Where load comes from, and tables that no single source fills.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A source of load: an IPv4 address, or the first 64 bits of an IPv6 address. Ports do not count,
/// because one host has all of them, and one network of IPv6 has all addresses behind its prefix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(IpAddr);

impl Source {
    /// All addresses together that nobody has proven: anybody may have written them.
    pub const UNPROVEN: Self = Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED));

    /// The source that an address is of. An IPv4 address that is mapped into IPv6 is the same one.
    pub const fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
            v4 @ IpAddr::V4(_) => v4,
        })
    }

    /// The IPv4 address, or the prefix of IPv6 with 64 bits of zero behind it.
    pub const fn address(self) -> IpAddr {
        self.0
    }
}

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        Self::of(address)
    }
}

impl From<SocketAddr> for Source {
    fn from(address: SocketAddr) -> Self {
        Self::of(address.ip())
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As `192.0.2.1` or `2001:db8::/64`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => v4.fmt(f),
            IpAddr::V6(v6) => write!(f, "{v6}/64"),
        }
    }
}

/// A table with a bounded number of places. When all are taken, a newcomer gets that of the oldest
/// entry of the source that has most: a source keeps what it has while others have more, however
/// fast they come. Every operation takes logarithmic time.
#[derive(Debug)]
pub struct FairTable<K, V> {
    most: usize,
    /// Counts insertions, so that entries are in the order of their age.
    next: u64,
    entries: HashMap<K, Entry<V>>,
    /// All entries, the oldest first.
    ages: BTreeMap<u64, K>,
    /// Entries of each source, the oldest first.
    sources: HashMap<Source, BTreeMap<u64, K>>,
    /// How many entries a source has, and how old its oldest is. The last one gives up a place.
    shares: BTreeSet<(usize, Reverse<u64>, Source)>,
}

#[derive(Debug)]
struct Entry<V> {
    source: Source,
    age: u64,
    value: V,
}

impl<K: Copy + Eq + Hash, V> FairTable<K, V> {
    /// An empty table of `most` places, of one at least.
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            next: 0,
            entries: HashMap::new(),
            ages: BTreeMap::new(),
            sources: HashMap::new(),
            shares: BTreeSet::new(),
        }
    }

    /// How many places are taken.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many of them a source has.
    pub fn len_of(&self, source: Source) -> usize {
        self.sources.get(&source).map_or(0, BTreeMap::len)
    }

    /// The value of an entry.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// The value of an entry, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Whether no place is taken.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether another entry of a source takes no place from that source's own.
    pub fn has_room(&self, source: Source) -> bool {
        self.entries.len() < self.most || !self.is_crowded_by(source)
    }

    /// The oldest entry of all.
    pub fn first(&self) -> Option<(K, &V)> {
        let key = *self.ages.first_key_value()?.1;
        Some((key, self.get(&key)?))
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.value))
    }

    /// Puts an entry in, as the newest of its source, in place of one with the same key. Returns
    /// the entry of another key that made room.
    pub fn insert(&mut self, key: K, source: Source, value: V) -> Option<(K, V)> {
        self.remove(&key);
        let loser = if self.entries.len() < self.most { None } else { self.loser(source) };
        let gone = loser.and_then(|key| Some((key, self.remove(&key)?)));
        let age = self.next;
        self.next += 1;
        self.ages.insert(age, key);
        self.change(source, |entries| {
            entries.insert(age, key);
        });
        self.entries.insert(key, Entry { source, age, value });
        gone
    }

    /// Takes an entry out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let Entry { source, age, value } = self.entries.remove(key)?;
        self.ages.remove(&age);
        self.change(source, |entries| {
            entries.remove(&age);
        });
        Some(value)
    }

    /// Takes out the oldest entry of the source that has most.
    pub fn pop_most(&mut self) -> Option<(K, V)> {
        let (.., source) = *self.shares.last()?;
        let key = self.oldest_of(source)?;
        Some((key, self.remove(&key)?))
    }

    /// Keeps the entries that are to stay.
    pub fn retain(&mut self, mut stays: impl FnMut(&K, &V) -> bool) {
        let gone: Vec<K> = self
            .entries
            .iter()
            .filter(|(key, entry)| !stays(key, &entry.value))
            .map(|(key, _)| *key)
            .collect();
        for key in &gone {
            self.remove(key);
        }
    }

    /// The oldest entry of a source.
    pub fn oldest_of(&self, source: Source) -> Option<K> {
        self.sources.get(&source)?.first_key_value().map(|(_, key)| *key)
    }

    /// Whose place another entry of this source gets. The newcomer counts with its source, so that
    /// a source that has most already takes nothing from others.
    fn loser(&self, comes: Source) -> Option<K> {
        let (.., source) = *self.shares.last()?;
        self.oldest_of(if self.is_crowded_by(comes) { comes } else { source })
    }

    fn is_crowded_by(&self, source: Source) -> bool {
        let has = self.len_of(source);
        has > 0 && self.shares.last().is_none_or(|(most, ..)| has + 1 >= *most)
    }

    fn change(&mut self, source: Source, change: impl FnOnce(&mut BTreeMap<u64, K>)) {
        let entries = self.sources.entry(source).or_default();
        if let Some((age, _)) = entries.first_key_value() {
            self.shares.remove(&(entries.len(), Reverse(*age), source));
        }
        change(entries);
        match entries.first_key_value() {
            Some((age, _)) => {
                self.shares.insert((entries.len(), Reverse(*age), source));
            }
            None => {
                self.sources.remove(&source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(address: &str) -> Source {
        Source::of(address.parse().unwrap())
    }

    #[test]
    fn a_prefix_of_ipv6_is_one_source_and_addresses_of_ipv4_are_several() {
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
    }

    #[test]
    fn ports_do_not_count() {
        let [one, other] = [1, 2].map(|port| SocketAddr::from(([192, 0, 2, 1], port)));
        assert_eq!(Source::from(one), Source::from(other));
        assert_eq!(source("192.0.2.1").to_string(), "192.0.2.1");
        assert_eq!(source("2001:db8::1").to_string(), "2001:db8::/64");
    }

    /// The keys that are there after these came one after the other.
    fn after(most: usize, comers: &[(u32, &str)]) -> Vec<u32> {
        let mut table = FairTable::new(most);
        for (key, address) in comers {
            let gone = table.insert(*key, source(address), ());
            assert_eq!(gone.is_some(), gone.is_some_and(|(key, ())| table.get(&key).is_none()));
            assert!(table.len() <= most);
        }
        let mut keys: Vec<_> = table.iter().map(|(key, ())| *key).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn whoever_has_most_gives_up_its_oldest_and_others_keep_theirs() {
        let flood = |from| (from..from + 100).map(|key| (key, "192.0.2.9"));
        let first = [(1, "192.0.2.1")].into_iter();
        let comers: Vec<_> = first.chain(flood(100)).chain([(2, "192.0.2.2")]).chain(flood(200)).collect();
        assert_eq!(after(4, &comers), [1, 2, 298, 299]);
    }

    #[test]
    fn where_all_have_one_the_oldest_goes() {
        assert_eq!(after(2, &[(1, "192.0.2.3"), (2, "192.0.2.2"), (3, "192.0.2.1")]), [2, 3]);
    }

    #[test]
    fn an_entry_that_comes_again_is_the_newest_and_takes_no_second_place() {
        let mut table = FairTable::new(2);
        for key in [1, 2, 1] {
            assert_eq!(table.insert(key, source("192.0.2.1"), key), None);
        }
        assert_eq!(table.insert(3, source("192.0.2.1"), 3), Some((2, 2)));
        assert_eq!((table.len(), table.len_of(source("192.0.2.1"))), (2, 2));
        assert_eq!(["192.0.2.1", "192.0.2.2"].map(|at| table.has_room(source(at))), [false, true]);
        table.retain(|key, _| *key == 3);
        assert_eq!((table.remove(&3), table.remove(&1), table.len()), (Some(3), None, 0));
        assert!(table.first().is_none() && table.sources.is_empty() && table.shares.is_empty());
    }
}
