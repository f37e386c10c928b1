//! What one station hears of another.

use super::Station;
use chacha20::ChaCha8Rng;
use rand_core::Rng as _;
use std::collections::BTreeMap;

/// A probability of loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loss {
    /// In 2^-32.
    threshold: u64,
}

impl Loss {
    /// Nothing is lost.
    pub const NONE: Self = Self { threshold: 0 };

    /// From a probability between 0 and 1; `None` for anything else.
    #[allow(clippy::cast_sign_loss, reason = "the range was checked")]
    pub fn from_probability(probability: f64) -> Option<Self> {
        let threshold = (probability * 2_f64.powi(32)).round() as u64;
        (0.0..=1.0).contains(&probability).then_some(Self { threshold })
    }

    pub(super) fn strikes(self, rng: &mut ChaCha8Rng) -> bool {
        self.threshold > 0 && u64::from(rng.next_u32()) < self.threshold
    }
}

/// What a station hears of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Nothing: neither frames, nor that the channel is busy. Such stations are hidden from each other.
    Silent,
    /// Frames, of which so many are lost although nothing overlaps them.
    Audible(Loss),
}

impl Link {
    pub(super) fn reaches(self) -> bool {
        matches!(self, Self::Audible(_))
    }

    pub(super) fn loss(self) -> Loss {
        match self {
            Self::Silent => Loss { threshold: 1 << 32 },
            Self::Audible(loss) => loss,
        }
    }
}

/// All links; those not set are alike.
pub(super) struct Links {
    usual: Link,
    set: BTreeMap<(Station, Station), Link>,
}

impl Links {
    pub fn new(loss: Loss) -> Self {
        Self { usual: Link::Audible(loss), set: BTreeMap::new() }
    }

    pub fn set(&mut self, from: Station, to: Station, link: Link) {
        self.set.insert((from, to), link);
    }

    pub fn forget(&mut self, station: Station) {
        self.set.retain(|(from, to), _| *from != station && *to != station);
    }

    pub fn get(&self, from: Station, to: Station) -> Link {
        if self.set.is_empty() {
            return self.usual;
        }
        self.set.get(&(from, to)).copied().unwrap_or(self.usual)
    }
}
