//! How a node behaves; what all nodes must agree on comes from the network document.

use core::time::Duration;

use motemix_directory::Parameters;
use motemix_sphinx::NodeId;

use crate::alarm::LoopTest;

/// Ticks of its own payload stream that a receiver may need until a reply leaves. A receiver whose
/// packets to turn round take two thirds of what its ticks offer needs more for one packet in 200.
const TICKS_TO_REPLY: u32 = 16;

/// Own messages that wait get one in so many of the ticks that packets to turn round want.
pub(crate) const OWN_SHARE_OF_TICKS: u32 = 4;

/// As many packets may wait for ticks as leave within [`TICKS_TO_REPLY`], own messages included:
/// later ones would come too late for their senders.
pub(crate) const MOST_FOR_TICKS: usize = (TICKS_TO_REPLY - TICKS_TO_REPLY / OWN_SHARE_OF_TICKS) as usize;

/// When a try counts as lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Timeout {
    /// The same time for every try.
    Fixed(Duration),
    /// The delays of the very path, which its sender knows, and `hop_allowance` for every hop. The
    /// allowance grows by half with each try, up to eightfold: short timers collapse a full
    /// channel. With a payload stream, 16 ticks of the receiver's are added.
    Path {
        /// For transmission, queueing and computation at one hop.
        hop_allowance: Duration,
    },
}

/// How many of the messages that a node accepted may be under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Window {
    /// All of them.
    Open,
    /// As many as come back, `first` to begin with: for a channel that others share. Own packets
    /// then wait for those that are forwarded, and the retransmission timer follows what round
    /// trips take. With a payload stream only the timer follows: ticks say how much leaves.
    Adaptive {
        /// At least one.
        first: u16,
    },
}

impl Window {
    /// What a node on a shared channel begins with.
    pub const SHARED_CHANNEL: Self = Self::Adaptive { first: 2 };
}

/// What a node has until its first epoch brings settings. It sends and takes in nothing until then.
pub(crate) static BEFORE_THE_FIRST_EPOCH: Config = Config::of_network(Parameters::new(0, 0));

/// The settings of a node, for an epoch. There will be more of them, so they are made by one of the
/// functions below and changed from there:
///
/// ```
/// # use motemix_directory::Parameters;
/// # use motemix_node::{Config, Window};
/// # fn settings(parameters: Parameters) -> Config {
/// Config::of_network(parameters).with_in_flight(4).with_window(Window::SHARED_CHANNEL)
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The network's: lengths of ways, mean delay, cover, overlap of epochs.
    pub parameters: Parameters,
    /// When a try counts as lost.
    pub timeout: Timeout,
    /// Greatest number of messages in flight; the storage's number of messages bounds it too.
    pub in_flight: usize,
    /// How many of them may be under way.
    pub window: Window,
    /// For how long the application may keep a received message before it replies.
    pub answer_within: Duration,
    /// When loops that do not come back raise the alarm.
    pub loop_test: LoopTest,
    /// Build headers for this receiver before the first message. Afterwards they are built for the
    /// receiver of the last message.
    pub receiver: Option<NodeId>,
}

impl Config {
    /// What the network document says, with the settings that suit any node.
    pub const fn of_network(parameters: Parameters) -> Self {
        Self {
            parameters,
            timeout: Timeout::Path { hop_allowance: parameters.hop_allowance },
            in_flight: usize::MAX,
            window: Window::Open,
            answer_within: Duration::from_secs(10),
            loop_test: LoopTest::USUAL,
            receiver: None,
        }
    }

    /// The same on a channel that all neighbours share, for boards, and for hosts and simulated
    /// nodes with a radio: own messages wait for those that are forwarded. How frames share it
    /// is `motemix_link`'s `LinkSettings::new`.
    pub const fn of_shared_channel(parameters: Parameters) -> Self {
        Self { window: Window::SHARED_CHANNEL, ..Self::of_network(parameters) }
    }

    /// The mesh of the thesis "Implementing and analysing Sphinx on low-end IoT devices": 3 + 3
    /// hops, 120 s until a try counts as lost, 3 transmissions, 10 messages in flight, no
    /// delays, no cover.
    pub const fn thesis() -> Self {
        let mut parameters = Parameters::new(3, 3);
        parameters.transmissions = 3;
        Self {
            timeout: Timeout::Fixed(Duration::from_mins(2)),
            in_flight: 10,
            ..Self::of_network(parameters)
        }
    }

    /// With another rule for when a try counts as lost.
    #[must_use]
    pub const fn with_timeout(self, timeout: Timeout) -> Self {
        Self { timeout, ..self }
    }

    /// With at most so many messages in flight.
    #[must_use]
    pub const fn with_in_flight(self, in_flight: usize) -> Self {
        Self { in_flight, ..self }
    }

    /// With another rule for how many of them may be under way.
    #[must_use]
    pub const fn with_window(self, window: Window) -> Self {
        Self { window, ..self }
    }

    /// With another time within which the application replies.
    #[must_use]
    pub const fn with_answer_within(self, answer_within: Duration) -> Self {
        Self { answer_within, ..self }
    }

    /// With another test of the loops that come back.
    #[must_use]
    pub const fn with_loop_test(self, loop_test: LoopTest) -> Self {
        Self { loop_test, ..self }
    }

    /// With a receiver to build headers for before the first message.
    #[must_use]
    pub const fn with_receiver(self, receiver: Option<NodeId>) -> Self {
        Self { receiver, ..self }
    }

    /// How long try number `tries` (1 for the first) is waited for, on a path of `hops` hops whose
    /// delays sum to `delay`, when round trips have lately taken `measured` besides their delays.
    /// Never less than the allowance, never more than its eightfold. The receiver's ticks are
    /// added to both: how long they take depends on the receiver, and not on how full the
    /// channel is.
    pub(crate) fn time_for_try(
        &self,
        tries: u8,
        hops: usize,
        delay: Duration,
        measured: Option<Duration>,
    ) -> Duration {
        match self.timeout {
            Timeout::Fixed(timeout) => timeout,
            Timeout::Path { hop_allowance } => {
                let allowance = hop_allowance.saturating_mul(hops as u32);
                let tick = self.parameters.payload_mean.unwrap_or_default();
                let ticks = tick.saturating_mul(TICKS_TO_REPLY);
                let least = allowance.saturating_add(ticks);
                let most = allowance.saturating_mul(8).saturating_add(ticks);
                let mut allowance = measured.map_or(least, |measured| measured.clamp(least, most));
                for _ in 1..tries {
                    let longer = allowance.saturating_add(allowance / 2).min(most);
                    // This is asked for at every wake-up, of try 255 too: six steps reach the most.
                    if longer == allowance {
                        break;
                    }
                    allowance = longer;
                }
                delay.saturating_add(allowance)
            }
        }
    }

    /// For how long after its first try a message is tried again at most. Tries that wait for their
    /// turn, in a constant-rate stream that is full, must not outlast what the receiver
    /// remembers.
    pub(crate) fn message_lifetime(&self) -> Duration {
        self.longest_round_trip().saturating_mul(u32::from(self.parameters.transmissions))
    }

    /// For how long a receiver remembers a message: until its last try has arrived.
    pub fn memory(&self) -> Duration {
        self.message_lifetime().saturating_add(self.longest_round_trip()).max(Duration::from_secs(1))
    }

    /// How long one try is waited for at most.
    pub fn longest_round_trip(&self) -> Duration {
        let hops = u32::from(self.parameters.max_hops) * 2;
        // The delays of a path add up: one path in 10^7 waits longer than this.
        let delay = self.parameters.mean_delay.saturating_mul(mean_delays_of_the_longest(hops));
        self.time_for_try(u8::MAX, hops as usize, delay, None)
    }
}

/// How many mean delays the sum of so many exponential delays exceeds less than once in 10^7 times.
/// The test beside this computes the sum's distribution; for every number of hops that a header can
/// have, this line lies a little above it.
const fn mean_delays_of_the_longest(hops: u32) -> u32 {
    17 + 2 * hops
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum of n exponential delays exceeds x when fewer than n events of a Poisson process fall
    /// into a time of x: exp(-x) · Σ x^k / k!, for k from 0 to n - 1.
    #[test]
    fn less_than_one_path_in_ten_million_waits_longer_and_a_tenth_less_would_be_too_short() {
        // exp(-1) by its series, and its powers: this crate has no exponential function.
        let exp = |x: f64| (1..400).rev().fold(1.0, |sum, k| 1.0 + x / f64::from(k) * sum);
        let exceeds = |n: u32, x: f64| {
            let terms = (1..n).rev().fold(1.0, |sum, k| 1.0 + x / f64::from(k) * sum);
            terms / exp(x)
        };
        for hops in 2..=motemix_sphinx::geometry::MAX_HOPS as u32 {
            let x = f64::from(mean_delays_of_the_longest(hops));
            assert!(exceeds(hops, x) < 1e-7, "{hops} hops: {}", exceeds(hops, x));
            assert!(exceeds(hops, x * 0.9) > 1e-7, "{hops} hops: {}", exceeds(hops, x * 0.9));
        }
    }

    #[test]
    fn a_message_is_remembered_for_as_long_as_its_last_try_may_need() {
        let second = Duration::from_secs(1);
        let mut config = Config { timeout: Timeout::Path { hop_allowance: second }, ..Config::thesis() };
        config.parameters.mean_delay = 100 * second;
        // Six hops: 29 mean delays, and the eightfold allowance.
        assert_eq!(config.longest_round_trip(), (2900 + 48) * second);
        assert_eq!(config.memory(), config.longest_round_trip() * 4);
    }

    #[test]
    fn the_allowance_grows_by_half_up_to_eightfold_and_the_delay_does_not() {
        let second = Duration::from_secs(1);
        let config = Config { timeout: Timeout::Path { hop_allowance: second }, ..Config::thesis() };
        assert_eq!(config.time_for_try(1, 6, 10 * second, None), 16 * second);
        assert_eq!(config.time_for_try(2, 6, 10 * second, None), 19 * second);
        assert_eq!(config.time_for_try(200, 6, 10 * second, None), 58 * second);
    }

    #[test]
    fn what_round_trips_take_counts_within_the_allowance_and_its_eightfold() {
        let second = Duration::from_secs(1);
        let config = Config { timeout: Timeout::Path { hop_allowance: second }, ..Config::thesis() };
        let time = |tries, measured| config.time_for_try(tries, 6, Duration::ZERO, Some(measured * second));
        assert_eq!(time(1, 1), 6 * second);
        assert_eq!(time(1, 20), 20 * second);
        assert_eq!(time(2, 20), 30 * second);
        assert_eq!(time(1, 1000), 48 * second);
    }

    #[test]
    fn a_try_waits_for_the_receivers_ticks_and_they_do_not_grow_with_the_tries() {
        let second = Duration::from_secs(1);
        let mut config = Config { timeout: Timeout::Path { hop_allowance: second }, ..Config::thesis() };
        config.parameters.payload_mean = Some(2 * second);
        assert_eq!(config.time_for_try(1, 6, 10 * second, None), (10 + 6 + 32) * second);
        assert_eq!(config.time_for_try(200, 6, 10 * second, None), (10 + 48 + 32) * second);
    }

    #[test]
    fn the_thesis_waits_two_minutes_for_every_try() {
        assert_eq!(
            Config::thesis().time_for_try(3, 6, Duration::from_secs(1), None),
            Duration::from_secs(120)
        );
    }
}
