//! What a run came to: one row.

use crate::adversary::Anonymity;
use crate::attack::Attacked;
use crate::board::Traits;
use crate::meter::{Handshakes, Meter};
use crate::mote::Mote;
use crate::scenario::{Content, Group, Protocol, Scenario};
use crate::wear::{Wear, Worn};
use motemix_air::channel::Counters;
use motemix_mote::limits::Limits;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a run came to.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// The scenario's.
    pub name: String,
    /// The scenario's.
    pub seed: u64,
    /// Nodes of all groups.
    pub nodes: u64,
    /// Messages that were accepted for sending.
    pub sent: u64,
    /// Messages of which their senders know that they arrived.
    pub acknowledged: u64,
    /// Tries after the first.
    pub retransmitted: u64,
    /// Messages given up.
    pub discarded: u64,
    /// In percent of the messages sent.
    pub acknowledged_percent: f64,
    /// In percent of the messages sent.
    pub retransmitted_percent: f64,
    /// In percent of the messages sent.
    pub discarded_percent: f64,
    /// Messages whose fate was open at the end.
    pub undecided: u64,
    /// Messages that a full node did not accept.
    pub refused: u64,
    /// Messages that arrived, each once.
    pub delivered: u64,
    /// Messages that arrived again.
    pub duplicates: u64,
    /// What became of readings, if those are what nodes send.
    pub readings: Option<Readings>,
    /// Seconds in which somebody sent, acknowledgements of frames included.
    pub airtime_s: f64,
    /// The same for each acknowledged message.
    pub airtime_s_per_ack: f64,
    /// Processor and radio of all nodes, millijoules for each acknowledged message.
    pub energy_mj_per_ack: f64,
    /// The same without listening, which a duty cycle would save.
    pub active_energy_mj_per_ack: f64,
    /// Seconds from accepting a message to its acknowledgement.
    pub rtt_s: Percentiles,
    /// What an observer of the whole channel does not know of a message's sender, bits; if asked
    /// for.
    pub entropy_bits: Option<f64>,
    /// What else that observer does and does not know; if asked for.
    pub anonymity: Option<Anonymity>,
    /// What became of an attack, or what can be told of motes that go and come; if there is either.
    pub attacked: Option<Attacked>,
    /// Handshakes for the keys of protected links; all zero without them.
    pub handshakes: Handshakes,
    /// Lost frames, datagrams, packets and messages of handshakes by reason.
    pub drops: BTreeMap<String, u64>,
    /// Network documents that motes had over the air from neighbours.
    pub documents: Option<Documents>,
    /// Epochs in which every mote ran; `None` for the thesis' protocols.
    pub epochs: Option<u32>,
    /// What was written to the motes' flashes; `None` for the thesis' protocols.
    pub flash: Option<Wear>,
    /// The tables of each board that ran, by its name; of a group that is not as shipped, with the
    /// group's name.
    pub limits: BTreeMap<String, Tables>,
    /// Virtual seconds.
    pub virtual_s: f64,
    /// Steps of the simulation.
    pub steps: u64,
}

/// What became of signed readings. Those that were not believed are among [`Outcome::drops`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Readings {
    /// What sensors measured.
    pub measured: u64,
    /// Readings that arrived, and that their receivers believe.
    pub believed: u64,
}

/// Network documents that came from neighbours.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Documents {
    /// How many.
    pub count: u64,
    /// How many seconds before its epoch the last one came.
    pub least_ahead_s: f64,
    /// The median of all.
    pub median_ahead_s: f64,
}

impl Documents {
    fn of(mut ahead: Vec<Duration>) -> Option<Self> {
        ahead.sort_unstable();
        let (least, median) = (ahead.first()?.as_secs_f64(), ahead.get(ahead.len() / 2)?.as_secs_f64());
        Some(Self { count: ahead.len() as u64, least_ahead_s: least, median_ahead_s: median })
    }
}

/// Percentiles of a sorted sample; zero of none.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// One in a hundred is longer.
    pub p99: f64,
}

impl Percentiles {
    fn of(mut sample: Vec<Duration>) -> Self {
        sample.sort_unstable();
        let at = |percent: usize| {
            let index = (sample.len() * percent).div_ceil(100).saturating_sub(1);
            sample.get(index).map_or(0.0, Duration::as_secs_f64)
        };
        Self { p50: at(50), p99: at(99) }
    }
}

/// The lengths of a board's tables; see `motemix_mote::Limits`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "the fields are those of Limits")]
pub struct Tables {
    /// Whether the board's program has them.
    pub as_shipped: bool,
    pub nodes: usize,
    pub document: usize,
    pub packets: usize,
    pub replay_bytes: usize,
    pub fingerprint_bits: u8,
    pub window: usize,
    pub messages: usize,
    pub returns: usize,
    pub headers: usize,
    pub loops: usize,
    pub arrivals: usize,
    pub departures: usize,
    pub frames: usize,
}

impl Tables {
    /// The tables of a board's program.
    pub fn shipped(limits: &Limits) -> Self {
        Self {
            as_shipped: true,
            nodes: limits.nodes,
            document: limits.document,
            packets: limits.packets,
            replay_bytes: limits.replay_bytes,
            fingerprint_bits: limits.fingerprint_bits,
            window: limits.window,
            messages: limits.messages,
            returns: limits.returns,
            headers: limits.headers,
            loops: limits.loops,
            arrivals: limits.arrivals,
            departures: limits.departures,
            frames: limits.frames,
        }
    }

    /// With the name that they have in an outcome.
    fn of(name: &str, group: &Group) -> (String, Self) {
        let limits = group.limits();
        let tables = Self { as_shipped: group.not_as_shipped.is_empty(), ..Self::shipped(&limits) };
        let known = if tables.as_shipped {
            limits.board.to_owned()
        } else {
            format!("{} not as shipped, nodes.{name}", limits.board)
        };
        (known, tables)
    }
}

/// What one node contributes.
pub(crate) struct Share {
    pub meter: Meter,
    pub radio: Counters,
    pub board: Traits,
    pub mote: Option<MoteShare>,
}

/// What one mote contributes besides.
pub(crate) struct MoteShare {
    pub epochs: u32,
    pub worn: Worn,
    pub readings: Readings,
}

impl Share {
    pub fn of_mote(mote: &Mote<'_>, radio: Counters, group: &Group) -> Self {
        let (tally, board) = (mote.tally(), Traits::of(group.board));
        let readings = Readings { measured: tally.measured, believed: tally.believed };
        let worn = Worn::of(&mote.ledger, &mote.limits, board.flash.endurance);
        Self {
            meter: tally.meter,
            radio,
            board,
            mote: Some(MoteShare { epochs: tally.epochs, worn, readings }),
        }
    }
}

impl Outcome {
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub(crate) fn of(
        scenario: &Scenario,
        shares: Vec<Share>,
        anonymity: Option<Anonymity>,
        lasted: Duration,
        steps: u64,
    ) -> Self {
        let mut sum = Meter::default();
        let (mut airtime, mut micro_joules, mut active) = (Duration::ZERO, 0.0, 0.0);
        let nodes = shares.len() as u64;
        let (mut epochs, mut worn, mut readings) = (None, Vec::new(), Readings::default());
        for Share { meter, radio, board, mote } in shares {
            if let Some(mote) = mote {
                epochs = Some(epochs.map_or(mote.epochs, |least: u32| least.min(mote.epochs)));
                worn.push(mote.worn);
                readings.measured += mote.readings.measured;
                readings.believed += mote.readings.believed;
            }
            sum.sent += meter.sent;
            sum.refused += meter.refused;
            sum.acknowledged += meter.acknowledged;
            sum.retransmitted += meter.retransmitted;
            sum.discarded += meter.discarded;
            sum.delivered += meter.delivered;
            sum.duplicates += meter.duplicates;
            sum.handshakes.add_all(&meter.handshakes);
            sum.round_trips.extend(meter.round_trips);
            sum.documents_ahead.extend(meter.documents_ahead);
            for (reason, count) in meter.drops {
                sum.drop(reason, count);
            }
            sum.drop("frame: channel busy", radio.channel_busy);
            sum.drop("frame: no acknowledgement", radio.no_acknowledgement);
            sum.drop("frame: receiver deaf", radio.drops.deaf);
            sum.drop("frame: collided", radio.drops.collided);
            sum.drop("frame: lost", radio.drops.lost);
            airtime += radio.airtime;
            let power = |micro_watts: u32, time: Duration| f64::from(micro_watts) * time.as_secs_f64();
            let own = power(board.computes, meter.computed) + power(board.sends, radio.airtime);
            active += own;
            micro_joules += own
                + power(board.sleeps, lasted.saturating_sub(meter.computed))
                + power(board.listens, lasted.saturating_sub(radio.airtime));
        }
        let percent = |count: u64| 100.0 * count as f64 / sum.sent.max(1) as f64;
        let per_ack = |amount: f64| amount / (sum.acknowledged.max(1)) as f64;
        Self {
            name: scenario.name.clone(),
            seed: scenario.seed,
            nodes,
            sent: sum.sent,
            acknowledged: sum.acknowledged,
            retransmitted: sum.retransmitted,
            discarded: sum.discarded,
            acknowledged_percent: percent(sum.acknowledged),
            retransmitted_percent: percent(sum.retransmitted),
            discarded_percent: percent(sum.discarded),
            undecided: sum.sent.saturating_sub(sum.acknowledged + sum.discarded),
            refused: sum.refused,
            delivered: sum.delivered,
            duplicates: sum.duplicates,
            readings: (scenario.load.content == Content::Readings).then_some(readings),
            airtime_s: airtime.as_secs_f64(),
            airtime_s_per_ack: per_ack(airtime.as_secs_f64()),
            energy_mj_per_ack: per_ack(micro_joules / 1e3),
            active_energy_mj_per_ack: per_ack(active / 1e3),
            rtt_s: Percentiles::of(sum.round_trips),
            entropy_bits: anonymity.as_ref().map(|known| known.there.entropy_bits),
            anonymity,
            attacked: None,
            handshakes: sum.handshakes,
            drops: sum.drops.into_iter().map(|(reason, count)| (reason.into_owned(), count)).collect(),
            documents: Documents::of(sum.documents_ahead),
            epochs,
            flash: Wear::of(&worn, lasted),
            limits: match scenario.protocol {
                Protocol::Motes => {
                    scenario.nodes.iter().map(|(name, group)| Tables::of(name, group)).collect()
                }
                Protocol::Thesis | Protocol::Udp => BTreeMap::new(),
            },
            virtual_s: lasted.as_secs_f64(),
            steps,
        }
    }
}
