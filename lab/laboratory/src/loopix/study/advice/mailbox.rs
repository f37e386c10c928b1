//! How long mail waits in a mailbox: queues with bulk service.
//!
//! Packets come to a mailbox as a Poisson stream of rate Λ: each left a Poisson stream of its
//! sender, and independent exponential delays leave a Poisson stream one. Each pull takes the k =
//! `MAX_RETRIEVE` oldest packets, or all if there are fewer; pulls come every T = `TIME_PULL`, by
//! the clock or at random. Such queues are Bailey's, "On queueing processes with bulk service",
//! J. R. Statist. Soc. B 16, 1954. With a = ΛT, the packets that come between two pulls, a queue
//! has an end if a < k, and everything else depends on a and k alone.
//!
//! **By the clock.** Let X be what a pull leaves: X' = max(X + A − k, 0), A Poisson of mean a. This
//! is Lindley's recursion, and Spitzer's identity ("A combinatorial lemma and its application to
//! probability theory", Trans. AMS 82, 1956) gives the mean of what it tends to:
//!
//! E X = Σ E[max(Sₙ − nk, 0)]/n, n ≥ 1, where Sₙ is Poisson of mean na.
//!
//! A time t after the pull the mailbox has X + Λt packets in the mean, so X + a/2 over time, and by
//! Little's law ("A proof for the queuing formula L = λW", Oper. Res. 9, 1961) a packet waits
//! (E X + a/2)/Λ.
//!
//! **At random**, with exponential times between pulls. The number of packets goes up by one at the
//! rate Λ, and down by k, or to zero, at the rate 1/T. For n ≥ 1 they balance if (a + 1) πₙ is the
//! sum of a πₙ₋₁ and πₙ₊ₖ, and for zero if a π₀ is that of π₁ to πₖ. Both hold for πₙ = (1 − r) rⁿ
//! where the sum of r, r², … and rᵏ is a, which is so for one r below 1 if a < k. The mean is
//! r/(1 − r), and a packet waits r/((1 − r) Λ).
//! Gross and others, "Fundamentals of Queueing Theory", have this queue as M/M^[K]/1.

/// When a client asks for its mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pulls {
    /// Every T: the originals.
    ByTheClock,
    /// After exponential times of mean T: the hardened profile.
    AtRandom,
}

/// Mean wait of a packet, as a multiple of T. `coming` packets come between two pulls, in the mean,
/// and a pull takes `most`. Infinite if more come than are taken.
pub(super) fn wait(pulls: Pulls, coming: f64, most: u32) -> f64 {
    if coming >= f64::from(most) {
        return f64::INFINITY;
    }
    match pulls {
        Pulls::ByTheClock => left_by_a_pull(coming, most) / coming + 0.5,
        Pulls::AtRandom => {
            let ratio = ratio(coming, most);
            ratio / (1.0 - ratio) / coming
        }
    }
}

/// E X: see the module's text.
fn left_by_a_pull(coming: f64, most: u32) -> f64 {
    let mut sum = 0.0;
    for number in 1..=10_000 {
        let number = f64::from(number);
        let term = excess(number * coming, number * f64::from(most)) / number;
        sum += term;
        // The terms fall about geometrically.
        if term <= 1e-9 * sum || term < 1e-12 {
            break;
        }
    }
    sum
}

/// E[max(N − c, 0)] of a Poisson number N, where c is whole and above the mean.
fn excess(mean: f64, least: f64) -> f64 {
    let mut number = least + 1.0;
    let mut probability = libm::exp(number * libm::log(mean) - mean - libm::lgamma(number + 1.0));
    let mut sum = 0.0;
    loop {
        let term = probability * (number - least);
        sum += term;
        // Above the mean the probabilities fall; what is left out is below a billionth.
        if term <= 1e-10 * sum {
            return sum;
        }
        number += 1.0;
        probability *= mean / number;
    }
}

/// r: see the module's text.
fn ratio(coming: f64, most: u32) -> f64 {
    // r + … + rᵏ = r (1 − rᵏ)/(1 − r), which grows with r.
    let sum = |ratio: f64| ratio * (1.0 - libm::pow(ratio, f64::from(most))) / (1.0 - ratio);
    let (mut low, mut high) = (0.0, 1.0 - 1e-12);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if sum(middle) < coming { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loopix::study::chance::{Chance, Purpose};
    use std::collections::VecDeque;

    /// Mean wait in multiples of T, packet by packet.
    fn simulated(pulls: Pulls, coming: f64, most: u32, packets: u32, seed: u64) -> f64 {
        let mut chance = Chance::of(seed, Purpose::Traffic);
        let mut waiting = VecDeque::new();
        let (mut comes, mut pull, mut waited, mut count) = (chance.exponential(1.0 / coming), 0.0, 0.0, 0);
        while count < packets {
            if comes < pull {
                waiting.push_back(comes);
                comes += chance.exponential(1.0 / coming);
                continue;
            }
            for _ in 0..most {
                let Some(came) = waiting.pop_front() else { break };
                waited += pull - came;
                count += 1;
            }
            pull += match pulls {
                Pulls::ByTheClock => 1.0,
                Pulls::AtRandom => chance.exponential(1.0),
            };
        }
        waited / f64::from(count)
    }

    #[test]
    fn packets_wait_as_long_as_the_formulas_say() {
        for pulls in [Pulls::ByTheClock, Pulls::AtRandom] {
            for (coming, most) in [(0.5, 1), (0.75, 1), (2.0, 3), (1.0, 4), (40.0, 60), (4.0, 6)] {
                let said = wait(pulls, coming, most);
                let found = simulated(pulls, coming, most, 400_000, u64::from(most));
                assert!((found / said - 1.0).abs() < 0.03, "{pulls:?}, {coming}, {most}: {said}, {found}");
            }
        }
    }

    #[test]
    fn one_packet_a_pull_is_the_textbook_s_queue() {
        for coming in [0.1, 0.5, 0.9] {
            // M/D/1 whose server begins by the clock: half a period until then, and the rest as in
            // M/D/1.
            let clock = wait(Pulls::ByTheClock, coming, 1);
            assert!((clock - (0.5 + coming / 2.0 / (1.0 - coming))).abs() < 1e-6, "{coming}: {clock}");
            // M/M/1 with its service.
            let random = wait(Pulls::AtRandom, coming, 1);
            assert!((random - 1.0 / (1.0 - coming)).abs() < 1e-6, "{coming}: {random}");
        }
    }

    #[test]
    fn with_room_for_all_only_the_time_until_the_next_pull_is_left() {
        assert!((wait(Pulls::ByTheClock, 10.0, 100) - 0.5).abs() < 1e-9);
        assert!((wait(Pulls::AtRandom, 10.0, 400) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn more_than_is_taken_waits_forever() {
        for pulls in [Pulls::ByTheClock, Pulls::AtRandom] {
            assert!(wait(pulls, 3.0, 3).is_infinite() && wait(pulls, 2.999, 3).is_finite());
        }
    }
}
