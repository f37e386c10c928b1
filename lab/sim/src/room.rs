//! A room: where stations are, and how strong they hear each other.
//!
//! Log-distance path loss with log-normal shadowing (Rappaport, *Wireless Communications*, 4.9):
//! what `to` receives is `power − reference − 10·n·log10(d) − X`, where `X` belongs to the pair and
//! is the same both ways. Links are computed when they are needed, so memory grows with the
//! stations and not with the pairs.

use crate::random::{self, Purpose};
use crate::scenario::Room;
use motemix_air::channel::{Centibels, Link, Loss, Paths};
use rand_core::Rng as _;

/// Nearer than that, distance says nothing any more: metres.
const NEAREST: f64 = 0.1;

/// Stations at random places of a room.
pub(crate) struct Places {
    room: Room,
    loss: Loss,
    seed: u64,
    places: Vec<[f64; 3]>,
}

impl Places {
    pub fn new(room: Room, loss: Loss, seed: u64, stations: usize) -> Self {
        let mut rng = random::stream(seed, 0, Purpose::Places);
        // 32 bits: exact in a float, on every platform.
        let mut part = || f64::from(rng.next_u32()) / 4_294_967_296.0;
        let places = (0..stations).map(|_| room.size.map(|metres| metres * part())).collect();
        Self { room, loss, seed, places }
    }

    /// Nearly normal, mean 0, deviation 1: the sum of twelve uniform numbers, less 6. No logarithm,
    /// so the same everywhere.
    fn shadow(&self, one: u16, other: u16) -> f64 {
        let pair = u32::from(one.min(other)) << 16 | u32::from(one.max(other));
        let mut rng = random::stream(self.seed, pair, Purpose::Shadows);
        (0..12).map(|_| f64::from(rng.next_u32()) / 4_294_967_296.0).sum::<f64>() - 6.0
    }
}

impl Paths for Places {
    fn link(&self, from: u16, to: u16) -> Link {
        let (Some(a), Some(b)) = (self.places.get(usize::from(from)), self.places.get(usize::from(to)))
        else {
            return Link::Silent;
        };
        let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        let distance = square.sqrt().max(NEAREST);
        let shadow =
            if self.room.shadowing_db > 0.0 { self.room.shadowing_db * self.shadow(from, to) } else { 0.0 };
        let path = self.room.reference_db + 10.0 * self.room.exponent * libm::log10(distance) + shadow;
        let strength = (self.room.power_dbm - path) * 100.0;
        Link::Received(Centibels(strength.clamp(-30_000.0, 10_000.0) as i16), self.loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(shadowing_db: f64) -> Places {
        Places::new(Room { shadowing_db, ..Room::default() }, Loss::NONE, 7, 200)
    }

    fn strength(places: &Places, from: u16, to: u16) -> i16 {
        match places.link(from, to) {
            Link::Received(strength, _) => strength.0,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_ways_are_alike_and_everybody_is_in_reach_of_a_small_room() {
        let places = places(4.0);
        for (from, to) in (0..200).zip(1..200) {
            assert_eq!(strength(&places, from, to), strength(&places, to, from));
            assert!(strength(&places, from, to) > -9_000);
        }
    }

    #[test]
    fn shadows_have_the_deviation_that_was_asked_for() {
        let (bright, dark) = (places(0.0), places(4.0));
        let difference = |to| f64::from(strength(&dark, 0, to) - strength(&bright, 0, to)) / 100.0;
        let square: f64 = (1..200).map(|to| difference(to) * difference(to)).sum::<f64>() / 199.0;
        assert!((3.5..4.5).contains(&square.sqrt()), "{}", square.sqrt());
    }

    #[test]
    fn without_shadows_the_nearer_is_the_stronger() {
        let places = Places { places: vec![[0.0; 3], [1.0, 0.0, 0.0], [4.0, 0.0, 0.0]], ..places(0.0) };
        assert_eq!(strength(&places, 0, 1), -4_020);
        // 20 dB for each decade at exponent 2.
        assert_eq!(strength(&places, 0, 2), -4_020 - 1_204);
    }
}
