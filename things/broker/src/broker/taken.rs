//! Which numbers of its device each topic took. A device's numbers are fresh once over all of its
//! topics; a receiver has to know whether this one has a reading.

use std::collections::HashMap;

use motemix_object::{Order, WINDOW};

use crate::Change;
use crate::state::{Signed, TopicId, Value};

/// Numbers that one topic took: the highest, and a bit for each of those up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbers {
    highest: u64,
    seen: u64,
}

impl Numbers {
    fn take(&mut self, number: u64) {
        if let Some(ahead) = number.checked_sub(self.highest) {
            self.seen = u32::try_from(ahead).ok().and_then(|ahead| self.seen.checked_shl(ahead)).unwrap_or(0);
            self.highest = number;
        }
        self.seen |= bit(self.highest.saturating_sub(number));
    }

    /// What is below the window came long ago, or never will.
    fn has(self, number: u64) -> bool {
        let behind = self.highest.checked_sub(number);
        behind.is_some_and(|behind| behind >= WINDOW || self.seen & bit(behind) != 0)
    }
}

/// The bit of a number that is so far below the highest.
fn bit(behind: u64) -> u64 {
    u32::try_from(behind).ok().and_then(|behind| 1_u64.checked_shl(behind)).unwrap_or(0)
}

/// For all topics. What a store keeps of a topic's numbers is the newest value's alone.
#[derive(Debug, Default)]
pub(super) struct Taken(HashMap<TopicId, Numbers>);

impl Taken {
    /// After a start: which of the numbers below a newest value were taken is not known any more,
    /// and they count as taken.
    pub(super) fn with<'v>(values: impl Iterator<Item = (&'v TopicId, &'v Value)>) -> Self {
        let numbers = |value: &Value| match value.signed {
            Signed::ByDevice { sequence } => Some(Numbers { highest: sequence, seen: u64::MAX }),
            Signed::Unchecked => None,
        };
        Self(values.filter_map(|(id, value)| Some((id.clone(), numbers(value)?))).collect())
    }

    /// What was stored.
    pub(super) fn note(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Value(id, Some(value)) => {
                    let Signed::ByDevice { sequence } = value.signed else { continue };
                    if let Some(numbers) = self.0.get_mut(id) {
                        numbers.take(sequence);
                    } else {
                        self.0.insert(id.clone(), Numbers { highest: sequence, seen: 1 });
                    }
                }
                Change::Topic(id, None) => {
                    self.0.remove(id);
                }
                Change::Value(_, None)
                | Change::Topic(..)
                | Change::Registration(..)
                | Change::Freshness(..) => {}
            }
        }
    }

    /// Whether a topic took a number, or is further by so much that it need not come.
    pub(super) fn has(&self, id: &TopicId, number: u64, order: Order) -> bool {
        self.0.get(id).is_some_and(|numbers| match order {
            Order::Strict => number <= numbers.highest,
            Order::Window => numbers.has(number),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_has_what_it_took_and_what_is_far_below() {
        let mut numbers = Numbers { highest: 100, seen: 1 };
        for number in [103, 101, 103] {
            numbers.take(number);
        }
        let missing: Vec<u64> = (0..200).filter(|number| !numbers.has(*number)).collect();
        let expected: Vec<u64> = (40..100).chain([102]).chain(104..200).collect();
        assert_eq!(missing, expected);
        numbers.take(1000);
        assert!(numbers.has(1000) && numbers.has(936) && !numbers.has(937) && !numbers.has(999));
        numbers.take(u64::MAX);
        assert!(numbers.has(u64::MAX) && !numbers.has(u64::MAX - 1) && numbers.has(0));
    }
}
