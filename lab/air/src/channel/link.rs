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

/// A power as radios have it: hundredths of a decibel, above one milliwatt if it is not a ratio.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Centibels(pub i16);

/// What a station hears of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Nothing: neither frames, nor that the channel is busy. Such stations are hidden from each
    /// other.
    Silent,
    /// Frames as strong as all others, of which so many are lost although nothing overlaps them.
    Audible(Loss),
    /// Frames of a strength, which decides what is heard and what survives an overlap.
    Received(Centibels, Loss),
}

/// The power of [`Link::Audible`]: one milliwatt, well above any threshold.
const EVEN: Centibels = Centibels(0);

impl Link {
    fn strength(self) -> Option<Centibels> {
        match self {
            Self::Silent => None,
            Self::Audible(_) => Some(EVEN),
            Self::Received(strength, _) => Some(strength),
        }
    }

    pub(super) fn is_heard(self) -> bool {
        self.strength().is_some()
    }

    pub(super) fn is_above(self, threshold: Centibels) -> bool {
        self.strength().is_some_and(|strength| strength >= threshold)
    }

    /// Whether it is stronger than what overlaps it, by at least so much.
    pub(super) fn exceeds(self, interference: Self, ratio: Centibels) -> bool {
        match (self.strength(), interference.strength()) {
            (Some(own), Some(other)) => i32::from(own.0) - i32::from(other.0) >= i32::from(ratio.0),
            (own, _) => own.is_some(),
        }
    }

    pub(super) fn loss(self) -> Loss {
        match self {
            Self::Silent => Loss { threshold: 1 << 32 },
            Self::Audible(loss) | Self::Received(_, loss) => loss,
        }
    }
}

/// How stations hear each other, when it follows from something else, such as where they are.
/// Stations are given by [`Station::number`].
pub trait Paths: Send {
    /// What `to` hears of `from`. The same as long as the channel lives.
    fn link(&self, from: u16, to: u16) -> Link;
}

/// All links; those not set are alike, or follow from paths.
pub(super) struct Links {
    usual: Link,
    paths: Option<Box<dyn Paths>>,
    set: BTreeMap<(Station, Station), Link>,
}

impl Links {
    pub fn new(loss: Loss, paths: Option<Box<dyn Paths>>) -> Self {
        Self { usual: Link::Audible(loss), paths, set: BTreeMap::new() }
    }

    pub fn set(&mut self, from: Station, to: Station, link: Link) {
        self.set.insert((from, to), link);
    }

    pub fn forget(&mut self, station: Station) {
        self.set.retain(|(from, to), _| *from != station && *to != station);
    }

    pub fn get(&self, from: Station, to: Station) -> Link {
        if !self.set.is_empty()
            && let Some(link) = self.set.get(&(from, to))
        {
            return *link;
        }
        self.paths.as_ref().map_or(self.usual, |paths| paths.link(from.number(), to.number()))
    }
}
