//! The duplicate filter: datagrams that became whole a short while ago. A fragment of theirs that
//! comes again opens no slot, and is acknowledged.

use core::time::Duration;

use motemix_time::Instant;

use crate::reassembly::{DatagramKey, Kind};

/// Datagrams that are remembered.
const REMEMBERED: usize = 8;

/// The last datagrams that became whole, told apart by 32 bits of hash: enough against chance, and
/// who forges one can send worse.
pub(crate) struct DuplicateFilter {
    /// The hash of each, and the time in milliseconds.
    fingerprints: [(u32, u32); REMEMBERED],
    /// The oldest of them.
    next: usize,
    /// For how many milliseconds each is remembered.
    lifetime: u32,
}

impl DuplicateFilter {
    pub(crate) fn new(lifetime: Duration) -> Self {
        let lifetime = millis(Instant::default() + lifetime);
        Self { fingerprints: [(0, 0); REMEMBERED], next: 0, lifetime }
    }

    pub(crate) fn insert(&mut self, now: Instant, key: &DatagramKey) {
        self.fingerprints[self.next] = (fingerprint(key), millis(now));
        self.next = (self.next + 1) % REMEMBERED;
    }

    pub(crate) fn contains(&self, now: Instant, key: &DatagramKey) -> bool {
        let fingerprint = fingerprint(key);
        let is_fresh = |at: u32| millis(now).wrapping_sub(at) < self.lifetime;
        self.fingerprints.iter().any(|&(known, at)| known == fingerprint && is_fresh(at))
    }
}

/// FNV-1a (draft-eastlake-fnv), never zero: that is an empty place.
fn fingerprint(key: &DatagramKey) -> u32 {
    let kind = match key.kind {
        Kind::Rfc4944 { payload_len } => payload_len.to_be_bytes(),
        Kind::Rfc8931 => [0xff; 2],
    };
    let bytes = key.from.interface().into_iter().chain(key.datagram_tag.to_be_bytes()).chain(kind);
    let hash = bytes.fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash | 1
}

/// Milliseconds, modulo 49 days: in that time much is forgotten.
fn millis(at: Instant) -> u32 {
    (at.as_micros() / 1000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::LinkAddress;

    const SECOND: Duration = Duration::from_secs(1);
    const NOW: Instant = Instant::from_micros(5_000_000);

    fn key(datagram_tag: u16) -> DatagramKey {
        DatagramKey { from: LinkAddress::Short([1, 2]), datagram_tag, kind: Kind::Rfc8931 }
    }

    #[test]
    fn a_datagram_is_remembered_for_its_time() {
        let mut filter = DuplicateFilter::new(SECOND);
        assert!(!filter.contains(NOW, &key(1)));
        filter.insert(NOW, &key(1));
        let almost = NOW + Duration::from_millis(999);
        assert!(filter.contains(almost, &key(1)) && !filter.contains(almost, &key(2)));
        assert!(!filter.contains(NOW + SECOND, &key(1)));
    }

    #[test]
    fn the_oldest_gives_way_to_the_ninth() {
        let mut filter = DuplicateFilter::new(SECOND);
        (0..=REMEMBERED as u16).for_each(|tag| filter.insert(NOW, &key(tag)));
        assert!(!filter.contains(NOW, &key(0)));
        assert!((1..=REMEMBERED as u16).all(|tag| filter.contains(NOW, &key(tag))));
    }
}
