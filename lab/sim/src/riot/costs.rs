//! What the thesis' thread computes, and for how long: its figures 4 and 5.

use super::sphinx::Task;
use crate::scenario::{Board, Thesis};
use std::time::Duration;

/// Times of one board and length of paths.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    pub create: Duration,
    forward: Duration,
    reply: Duration,
    acknowledge: Duration,
}

/// Lengths of paths that figure 4 knows.
const LENGTHS: std::ops::RangeInclusive<u32> = 6..=10;

impl Costs {
    /// Those of Sphinx.
    pub fn of(board: Board, settings: &Thesis) -> Self {
        if settings.instant {
            return Self::NONE;
        }
        // Milliseconds: creating for 6 to 10 hops, forwarding, receiving and replying,
        // acknowledging.
        let (creates, [forward, reply, acknowledge]) = match board {
            // The thesis did not run on a micro:bit, and a scenario that asks for it is refused.
            Board::Samr21Xpro | Board::Microbit => {
                ([57_700, 74_700, 94_000, 115_300, 138_800], [4447, 4435, 2146])
            }
            Board::IotlabM3 => ([14_700, 19_100, 25_300, 29_500, 35_500], [1176, 1141, 549]),
            Board::Nrf52840dk => ([12_700, 16_500, 20_700, 25_400, 30_600], [945, 948, 474]),
        };
        let hops = settings.hops.iter().map(|hops| u32::from(*hops)).sum::<u32>();
        let create = hops.checked_sub(*LENGTHS.start()).and_then(|index| creates.get(index as usize));
        // Shorter ones than the thesis measured: by the number of multiplications, of which 6 hops
        // need 27.
        let create = create.copied().unwrap_or_else(|| creates[0] * multiplications(hops) / 27);
        let milli = |time| Duration::from_millis(u64::from(time));
        Self {
            create: milli(create),
            forward: milli(forward),
            reply: milli(reply),
            acknowledge: milli(acknowledge),
        }
    }

    /// Those of plain datagrams, and of Sphinx if its cryptography is taken away.
    pub const NONE: Self = Self {
        create: Duration::ZERO,
        forward: Duration::ZERO,
        reply: Duration::ZERO,
        acknowledge: Duration::ZERO,
    };

    pub fn process(&self, task: Task) -> Duration {
        match task {
            Task::Forward => self.forward,
            Task::Reply => self.reply,
            Task::Acknowledge => self.acknowledge,
        }
    }
}

/// What the sender multiplies: it blinds each hop's element once for each hop before it.
fn multiplications(hops: u32) -> u32 {
    2 * hops + hops * hops.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_hops_need_as_many_multiplications_as_the_thesis_says() {
        assert_eq!(multiplications(6), 27);
    }

    #[test]
    fn longer_paths_cost_what_figure_4_says() {
        let settings = |hops| Thesis { hops, ..Thesis::default() };
        let create = |board, hops| Costs::of(board, &settings(hops)).create.as_millis();
        assert_eq!(create(Board::IotlabM3, [3, 3]), 14_700);
        assert_eq!(create(Board::IotlabM3, [5, 5]), 35_500);
        assert_eq!(create(Board::Samr21Xpro, [3, 4]), 74_700);
        assert_eq!(create(Board::IotlabM3, [1, 1]), 14_700 * 5 / 27);
    }
}
