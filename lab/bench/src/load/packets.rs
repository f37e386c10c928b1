//! Packets made ahead of time. A node refuses a packet that it has seen before, so all are
//! different.

use anyhow::{Result, ensure};
use motemix_sphinx::{PathHop, Profile};

use crate::{ours, peer};

/// Packets of one length.
pub struct Packets {
    bytes: Vec<u8>,
    packet_len: usize,
}

impl Packets {
    /// Ours, along `path`, from number `first` on.
    pub fn ours<P: Profile>(path: &[PathHop], first: u64, count: usize, data: &[u8]) -> Self {
        let packet_len = P::GEOMETRY.packet_len();
        let mut bytes = vec![0; packet_len * count];
        for (packet, number) in bytes.chunks_exact_mut(packet_len).zip(first..) {
            ours::create::<P>(path, ours::seed(number), data, packet);
        }
        Self { bytes, packet_len }
    }

    /// The peer's.
    pub fn theirs(route: &peer::Route, count: usize, data: &[u8]) -> Result<Self> {
        let mut bytes = Vec::new();
        for number in 0..count as u64 {
            bytes.extend(route.create(&peer::secret(number), data)?.to_bytes());
        }
        ensure!(count > 0 && bytes.len().is_multiple_of(count), "the peer's packets differ in length");
        let packet_len = bytes.len() / count;
        Ok(Self { bytes, packet_len })
    }

    /// `count` packets, these over and over.
    pub fn repeat(&self, count: usize) -> Self {
        let mut bytes = Vec::with_capacity(count * self.packet_len);
        self.iter().cycle().take(count).for_each(|packet| bytes.extend_from_slice(packet));
        Self { bytes, packet_len: self.packet_len }
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.bytes.chunks_exact(self.packet_len)
    }

    /// So many at a time, one behind the other.
    pub fn runs(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(count * self.packet_len)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.bytes.len() / self.packet_len
    }

    /// The length of each.
    pub fn packet_len(&self) -> usize {
        self.packet_len
    }
}
