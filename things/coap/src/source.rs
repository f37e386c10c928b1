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

/// How sure it is who sent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// The address on the datagram may be forged.
    Unproven,
    /// The address has shown a while ago that what is sent to it arrives (RFC 9175). Others may
    /// have written it on this datagram since.
    Proven,
    /// Nobody else has sent this very message: it has an Echo value, is under OSCORE, or came over
    /// a connection.
    Certain,
}

/// As whose an entry counts. What others send in the name of a source is not in the account of what
/// is certainly its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account {
    /// Where it comes from.
    pub source: Source,
    /// How sure that is.
    pub standing: Standing,
}

impl Account {
    /// The account of what certainly comes from a source.
    pub const fn certain(source: Source) -> Self {
        Self { source, standing: Standing::Certain }
    }

    const fn is_unproven(self) -> bool {
        matches!(self.standing, Standing::Unproven)
    }
}

/// A table with a bounded number of places. Half of them are for accounts whose addresses are not
/// proven, which anybody has without end, and half for all others. Either half is lent to the other
/// accounts while it is free.
///
/// When all places are taken, a newcomer gets that of the oldest entry of the account that has
/// most, among its own half's accounts if these have their half, and else among the others: an
/// account keeps what it has while others have more, however fast they come. Every operation takes
/// logarithmic time.
#[derive(Debug)]
pub struct FairTable<K, V> {
    most: usize,
    /// Counts insertions, so that entries are in the order of their age.
    next: u64,
    entries: HashMap<K, Entry<V>>,
    /// All entries, the oldest first.
    ages: BTreeMap<u64, K>,
    /// Entries of each account, the oldest first.
    accounts: HashMap<Account, BTreeMap<u64, K>>,
    proven: Half,
    unproven: Half,
}

#[derive(Debug)]
struct Entry<V> {
    account: Account,
    age: u64,
    value: V,
}

/// Accounts that share half of the places.
#[derive(Debug, Default)]
struct Half {
    /// How many entries they have.
    len: usize,
    /// How many entries an account has, and how old its oldest is. The last one gives up a place.
    shares: BTreeSet<(usize, Reverse<u64>, Account)>,
}

impl<K: Copy + Eq + Hash, V> FairTable<K, V> {
    /// An empty table of `most` places, of one at least.
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            next: 0,
            entries: HashMap::new(),
            ages: BTreeMap::new(),
            accounts: HashMap::new(),
            proven: Half::default(),
            unproven: Half::default(),
        }
    }

    /// How many places are taken.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many of them an account has.
    pub fn len_of(&self, account: Account) -> usize {
        self.accounts.get(&account).map_or(0, BTreeMap::len)
    }

    /// How many of them accounts have whose addresses are not proven.
    pub const fn len_of_unproven(&self) -> usize {
        self.unproven.len
    }

    /// As whose an entry counts.
    pub fn account(&self, key: &K) -> Option<Account> {
        self.entries.get(key).map(|entry| entry.account)
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

    /// Whether another entry of an account takes no place from that account's own.
    pub fn has_room(&self, account: Account) -> bool {
        self.entries.len() < self.most || !(self.has_its_half(account) && self.is_crowded_by(account))
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

    /// Puts an entry in, as the newest of its account, in place of one with the same key. Returns
    /// the entry of another key that made room.
    pub fn insert(&mut self, key: K, account: Account, value: V) -> Option<(K, V)> {
        self.remove(&key);
        let loser = if self.entries.len() < self.most { None } else { self.loser(account) };
        let gone = loser.and_then(|key| Some((key, self.remove(&key)?)));
        let age = self.next;
        self.next += 1;
        self.ages.insert(age, key);
        self.change(account, |entries| {
            entries.insert(age, key);
        });
        self.entries.insert(key, Entry { account, age, value });
        gone
    }

    /// Takes an entry out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let Entry { account, age, value } = self.entries.remove(key)?;
        self.ages.remove(&age);
        self.change(account, |entries| {
            entries.remove(&age);
        });
        Some(value)
    }

    /// It was shown later whose an entry is: it counts so from now on, unless it counts as more
    /// already. Whoever shows less may be somebody else.
    pub fn raise(&mut self, key: &K, standing: Standing) {
        let Some(entry) = self.entries.get_mut(key).filter(|entry| entry.account.standing < standing) else {
            return;
        };
        let (before, age) = (entry.account, entry.age);
        let account = Account { standing, ..before };
        entry.account = account;
        self.change(before, |entries| {
            entries.remove(&age);
        });
        self.change(account, |entries| {
            entries.insert(age, *key);
        });
    }

    /// Takes out the oldest entry of the account that has most, of that half which has most.
    pub fn pop_most(&mut self) -> Option<(K, V)> {
        let half = if self.unproven.len < self.proven.len { &self.proven } else { &self.unproven };
        let key = self.oldest_of(half.has_most()?)?;
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

    /// The oldest entry of an account.
    pub fn oldest_of(&self, account: Account) -> Option<K> {
        self.accounts.get(&account)?.first_key_value().map(|(_, key)| *key)
    }

    /// Whose place another entry of this account gets. The newcomer counts with its account, so
    /// that an account that has most already takes nothing from others.
    fn loser(&self, comes: Account) -> Option<K> {
        let half = self.half_of(comes);
        let gives = match (self.has_its_half(comes), self.is_crowded_by(comes)) {
            (true, true) => comes,
            (true, false) => half.has_most()?,
            (false, _) if comes.is_unproven() => self.proven.has_most()?,
            (false, _) => self.unproven.has_most()?,
        };
        self.oldest_of(gives)
    }

    /// Whether the accounts of this one's half have as many places as are theirs.
    const fn has_its_half(&self, account: Account) -> bool {
        self.half_of(account).len * 2 >= self.most
    }

    const fn half_of(&self, account: Account) -> &Half {
        if account.is_unproven() { &self.unproven } else { &self.proven }
    }

    fn is_crowded_by(&self, account: Account) -> bool {
        let has = self.len_of(account);
        has > 0 && self.half_of(account).shares.last().is_none_or(|(most, ..)| has + 1 >= *most)
    }

    fn change(&mut self, account: Account, change: impl FnOnce(&mut BTreeMap<u64, K>)) {
        let half = if account.is_unproven() { &mut self.unproven } else { &mut self.proven };
        let entries = self.accounts.entry(account).or_default();
        if let Some((age, _)) = entries.first_key_value() {
            half.shares.remove(&(entries.len(), Reverse(*age), account));
        }
        half.len -= entries.len();
        change(entries);
        half.len += entries.len();
        match entries.first_key_value() {
            Some((age, _)) => {
                half.shares.insert((entries.len(), Reverse(*age), account));
            }
            None => {
                self.accounts.remove(&account);
            }
        }
    }
}

impl Half {
    fn has_most(&self) -> Option<Account> {
        self.shares.last().map(|(.., account)| *account)
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

    fn of(address: &str) -> Account {
        Account::certain(source(address))
    }

    /// The keys that are there after these came one after the other.
    fn after(most: usize, comers: &[(u32, &str)]) -> Vec<u32> {
        let mut table = FairTable::new(most);
        for (key, address) in comers {
            let gone = table.insert(*key, of(address), ());
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
            assert_eq!(table.insert(key, of("192.0.2.1"), key), None);
        }
        assert_eq!(table.insert(3, of("192.0.2.1"), 3), Some((2, 2)));
        assert_eq!((table.len(), table.len_of(of("192.0.2.1"))), (2, 2));
        assert_eq!(["192.0.2.1", "192.0.2.2"].map(|at| table.has_room(of(at))), [false, true]);
        table.retain(|key, _| *key == 3);
        assert_eq!((table.remove(&3), table.remove(&1), table.len()), (Some(3), None, 0));
        assert!(table.first().is_none() && table.accounts.is_empty() && table.proven.shares.is_empty());
    }

    fn forged(number: u16) -> Account {
        let [high, low] = number.to_be_bytes();
        Account { source: Source::of([10, 0, high, low].into()), standing: Standing::Unproven }
    }

    #[test]
    fn accounts_without_proof_have_half_and_what_others_leave_free() {
        let mut table = FairTable::new(10);
        for number in 0..100 {
            table.insert(number, forged(number), ());
        }
        assert_eq!((table.len(), table.len_of_unproven()), (10, 10));
        // A source with all ports takes back the half of those who have proven theirs, and no more.
        for number in 100..200 {
            table.insert(number, of("192.0.2.1"), ());
        }
        assert_eq!((table.len(), table.len_of_unproven()), (10, 5));
        // Whatever comes under forged addresses takes nothing of it.
        for number in 200..300 {
            assert!(table.has_room(forged(number)));
            table.insert(number, forged(number), ());
        }
        assert_eq!(table.len_of(of("192.0.2.1")), 5);
        assert_eq!([of("192.0.2.1"), of("192.0.2.2")].map(|account| table.has_room(account)), [false, true]);
    }

    #[test]
    fn one_proven_source_leaves_those_without_proof_their_half() {
        let mut table = FairTable::new(10);
        for number in 0..100 {
            table.insert(number, of("192.0.2.1"), ());
        }
        for number in 100..105 {
            table.insert(number, forged(number), ());
        }
        for number in 200..300 {
            table.insert(number, of("192.0.2.1"), ());
        }
        assert_eq!((table.len(), table.len_of_unproven()), (10, 5));
        // An entry whose source proves itself later counts with the others from then on.
        table.raise(&104, Standing::Proven);
        assert_eq!((table.len(), table.len_of_unproven()), (10, 4));
        table.insert(300, forged(300), ());
        assert!(table.get(&104).is_some(), "the source that has most makes room");
        assert_eq!((table.len_of(of("192.0.2.1")), table.len_of_unproven()), (4, 5));
    }

    /// What others send in the name of a source takes nothing of what is certainly its own.
    #[test]
    fn a_source_has_an_account_of_what_is_certainly_its_own() {
        let mut table = FairTable::new(10);
        let named = Account { standing: Standing::Proven, ..of("192.0.2.1") };
        for number in 0..3 {
            table.insert(number, named, ());
            table.raise(&number, Standing::Certain);
            table.raise(&number, Standing::Unproven);
        }
        for number in 10..100 {
            table.insert(number, named, ());
        }
        assert_eq!((table.len_of(of("192.0.2.1")), table.len_of(named)), (3, 7));
    }
}
