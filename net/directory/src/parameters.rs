//! What all nodes of a network must agree on.

use core::time::Duration;

use motemix_crypto::uniform::below;
use rand_core::CryptoRng;

use crate::cbor::{Full, Reader, Writer};
use crate::error::{DocumentError, Field};
use crate::profile::ProfileName;
use crate::types::MAX_DURATION;

const MAX_MICROS: u64 = MAX_DURATION.as_micros() as u64;

/// The parameters of an epoch: the same for all nodes, or their packets could be told apart. There
/// will be more of them: [`Parameters::new`] makes them, and each is public to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Parameters {
    /// Fewest hops each way, at least 1. A hop is one transmission: a way of h hops has h − 1
    /// mixes.
    pub min_hops: u8,
    /// Most hops each way, at most [`ProfileName::max_hops`].
    pub max_hops: u8,
    /// Mean of the exponential delay at a mix. At most [`MAX_DURATION`], in microseconds.
    pub mean_delay: Duration,
    /// What a hop may take besides its derived delay: transmission, queueing, computation.
    /// Retransmission timers add it for every hop. At most [`MAX_DURATION`], in microseconds.
    pub hop_allowance: Duration,
    /// Tries in all for one message, at least 1.
    pub transmissions: u8,
    /// Mean time between a node's loops; `None`: no loop cover. In microseconds, above zero.
    pub loop_mean: Option<Duration>,
    /// Mean time between a node's drop cover packets; `None`: no drop cover. In microseconds, above
    /// zero.
    pub drop_mean: Option<Duration>,
    /// Mean time between the ticks on which a node sends: a packet that it turned round, a message,
    /// or filler when there is neither. `None`: all leave at once. In microseconds, above zero.
    ///
    /// A node answers fewer than one message a tick, and half of all ticks are for answers: below
    /// half the mean time between messages to the busiest receiver. Senders wait 16 ticks more
    /// for each try.
    pub payload_mean: Option<Duration>,
    /// For how long before and after its epoch a mix key is accepted. Whole seconds, not above the
    /// length of the epoch.
    pub overlap: Duration,
    /// Whether neighbours on a radio protect their frames with keys of their own. All nodes on a
    /// radio do, or none: a node whose radio cannot refuses the document.
    pub protected_links: bool,
}

/// Hops of a round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WayLengths {
    /// From the sender to the receiver.
    pub there: u8,
    /// From the receiver back to the sender.
    pub back: u8,
}

impl Parameters {
    /// Ways of `min_hops` to `max_hops` hops, one try for a message, and nothing else: no delays,
    /// cover or overlap.
    pub const fn new(min_hops: u8, max_hops: u8) -> Self {
        Self {
            min_hops,
            max_hops,
            mean_delay: Duration::ZERO,
            hop_allowance: Duration::ZERO,
            transmissions: 1,
            loop_mean: None,
            drop_mean: None,
            payload_mean: None,
            overlap: Duration::ZERO,
            protected_links: false,
        }
    }

    /// Draws the number of hops of each way, independently and uniformly from `min_hops ..=
    /// max_hops`.
    pub fn draw_way_lengths<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> WayLengths {
        let choices = u32::from(self.max_hops.saturating_sub(self.min_hops)) + 1;
        let mut way = || self.min_hops + below(rng, choices) as u8;
        WayLengths { there: way(), back: way() }
    }

    /// `epoch_len` in seconds.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        profile: ProfileName,
        epoch_len: u64,
    ) -> Result<Self, DocumentError> {
        let mut keys = reader.map()?;
        let most_hops = u64::from(profile.max_hops());
        let min_hops = keys.next(reader, Field::MinHops)?.uint(1, most_hops)?;
        let max_hops = keys.next(reader, Field::MaxHops)?.uint(min_hops, most_hops)?;
        let mut micros = |field| -> Result<Duration, DocumentError> {
            keys.next(reader, field)?.uint(0, MAX_MICROS).map(Duration::from_micros)
        };
        let mean_delay = micros(Field::MeanDelay)?;
        let hop_allowance = micros(Field::HopAllowance)?;
        let transmissions = keys.next(reader, Field::Transmissions)?.uint(1, u64::from(u8::MAX))?;
        let mut mean = |field| -> Result<Option<Duration>, DocumentError> {
            let micros = keys.next(reader, field)?.uint(0, MAX_MICROS)?;
            Ok((micros != 0).then(|| Duration::from_micros(micros)))
        };
        let parameters = Self {
            min_hops: min_hops as u8,
            max_hops: max_hops as u8,
            mean_delay,
            hop_allowance,
            transmissions: transmissions as u8,
            loop_mean: mean(Field::LoopMean)?,
            drop_mean: mean(Field::DropMean)?,
            payload_mean: mean(Field::PayloadMean)?,
            overlap: keys.next(reader, Field::Overlap)?.uint(0, epoch_len).map(Duration::from_secs)?,
            protected_links: false,
        };
        // There is one way to say that they are not: to say nothing.
        let protected_links = match keys.optional(reader, Field::Links)? {
            Some(links) => links.uint(1, 1)? == 1,
            None => false,
        };
        keys.finish(reader, Field::Parameters)?;
        Ok(Self { protected_links, ..parameters })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), Full> {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let mean = |duration: Option<Duration>| micros(duration.unwrap_or_default());
        writer.map(if self.protected_links { 10 } else { 9 })?;
        writer.pair(1, u64::from(self.min_hops))?;
        writer.pair(2, u64::from(self.max_hops))?;
        writer.pair(3, micros(self.mean_delay))?;
        writer.pair(4, micros(self.hop_allowance))?;
        writer.pair(5, u64::from(self.transmissions))?;
        writer.pair(6, mean(self.loop_mean))?;
        writer.pair(7, mean(self.drop_mean))?;
        writer.pair(8, mean(self.payload_mean))?;
        writer.pair(9, self.overlap.as_secs())?;
        if self.protected_links { writer.pair(10, 1) } else { Ok(()) }
    }

    /// The first parameter that its unit on the wire cannot express, if any.
    pub(crate) fn inexact(&self) -> Option<Field> {
        let fraction = |duration: Duration| !duration.subsec_nanos().is_multiple_of(1000);
        // Zero on the wire means off: a mean of zero must not turn cover off silently.
        let mean = |mean: Option<Duration>| mean.is_some_and(|mean| mean.is_zero() || fraction(mean));
        [
            (Field::MeanDelay, fraction(self.mean_delay)),
            (Field::HopAllowance, fraction(self.hop_allowance)),
            (Field::LoopMean, mean(self.loop_mean)),
            (Field::DropMean, mean(self.drop_mean)),
            (Field::PayloadMean, mean(self.payload_mean)),
            (Field::Overlap, self.overlap.subsec_nanos() != 0),
        ]
        .into_iter()
        .find_map(|(field, inexact)| inexact.then_some(field))
    }
}
