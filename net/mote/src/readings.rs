//! Readings of a board's own sensor: measured at intervals, signed, in flash until they are
//! acknowledged.
//!
//! ```text
//! sensor ─ SenML ─ number (flash) ─ signature ─ queue (flash) ─ node ─ … ─ acknowledged ─ out of the queue
//! ```
//!
//! One reading is under way at a time. When the queue is full, later ones are dropped, and the
//! console says so once.

use core::time::Duration;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_crypto::Secret;
use motemix_node::{Event, Instant, MessageHandle};
use motemix_object::{
    Audience, Ed25519Key, Path, Record, Reserved, Sealer, register_short, senml_len, write_short_pack,
};
use motemix_sphinx::{HopDelay, NodeId, Profile};
use rand_core::CryptoRng;

use crate::Running;
use crate::console::{Console, KeyMaker, News, Warning, say};
use crate::mote::device::identity_of;
use crate::store::{MAX_MESSAGE_LEN, SEQUENCE_BLOCK, StoreError};

/// In place of its first reading in each block of so many numbers a mote registers: a fourth of a
/// verifier's threshold. Numbers go on in another block after a restart, so that a mote registers
/// then too.
const REGISTER_EVERY: u32 = SEQUENCE_BLOCK;

/// What a sensor said.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// Name, unit and value.
    pub record: Record<'a>,
    /// When, in seconds since 1970; none for now.
    pub time: Option<u64>,
}

impl<'a> From<Record<'a>> for Measured<'a> {
    fn from(record: Record<'a>) -> Self {
        Self { record, time: None }
    }
}

/// The readings of a node that runs.
#[derive(Default)]
pub struct Readings {
    plan: Option<Plan>,
    under_way: Option<MessageHandle>,
    /// How the one that was under way ended: whether it arrived.
    ended: Option<bool>,
    /// Readings that were dropped because the queue is full, since the last was kept.
    dropped: u32,
    /// The block of numbers for which it has registered. Nobody missed anything before the first.
    registered: u32,
}

#[derive(Clone, Copy)]
struct Plan {
    to: NodeId,
    seconds: u32,
    due: Instant,
}

impl Readings {
    /// None yet.
    pub const fn new() -> Self {
        Self { plan: None, under_way: None, ended: None, dropped: 0, registered: 0 }
    }

    /// When there is something to do.
    pub fn due(&self) -> Option<Instant> {
        let ended = self.ended.map(|_| Instant::from_micros(0));
        ended.or_else(|| self.plan.map(|plan| plan.due))
    }

    /// Does what is due: notes how the last one ended, measures, and sends. One signature at most.
    /// `scratch` holds the reading meanwhile; a packet's memory is long enough.
    #[inline(never)]
    pub fn poll<'r, P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone, C: Console>(
        &mut self,
        now: Instant,
        running: &mut Running<'_, P, F, R>,
        measure: impl FnOnce() -> Option<Measured<'r>>,
        console: &mut C,
        scratch: &mut [u8],
    ) {
        if let Some(arrived) = self.ended.take() {
            self.under_way = None;
            let removed = if arrived { running.store().remove_oldest_reading() } else { Ok(()) };
            if let Err(error) = removed {
                say!(console, "warning: a reading stays in flash: {error}");
            } else if arrived {
                self.send_oldest(now, running, scratch);
            }
        }
        let Some(plan) = self.plan.as_mut().filter(|plan| plan.due <= now) else { return };
        // A period would tell others whose readings they are, and so would any time that depends on
        // the one before: this is a Poisson process.
        let every = Duration::from_secs(plan.seconds.into());
        plan.due = now + HopDelay::from_seed(running.random_u64()).of_mean(every);
        if let Some(measured) = measure() {
            let kept = sign(now, running, &measured, &mut self.registered, scratch);
            self.tell(kept, console);
        }
        self.send_oldest(now, running, scratch);
    }

    fn tell<C: Console>(&mut self, kept: Result<(), StoreError>, console: &mut C) {
        match kept {
            Ok(()) => self.dropped = 0,
            Err(error) => {
                if self.dropped == 0 {
                    console.notice(News::Warning(Warning::ReadingsDropped(error)));
                    say!(console, "warning: readings are dropped: {error}");
                }
                self.dropped = self.dropped.saturating_add(1);
            }
        }
    }

    /// What the node has no room for stays in flash until the next one is due.
    #[inline(never)]
    fn send_oldest<P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone>(
        &mut self,
        now: Instant,
        running: &mut Running<'_, P, F, R>,
        scratch: &mut [u8],
    ) {
        let Some(plan) = self.plan.filter(|_| self.under_way.is_none()) else { return };
        if let Ok(Some(reading)) = running.store().oldest_reading(scratch) {
            self.under_way = running.send(now, plan.to, reading).ok();
        }
    }

    /// From now on, readings are for this node, one in so many seconds in the mean; for nobody ends
    /// them.
    pub fn ask(&mut self, now: Instant, to: Option<NodeId>, seconds: u32) {
        self.plan = to.map(|to| Plan { to, seconds, due: now });
    }

    /// Hears what became of a message, which may be a reading.
    pub fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Acknowledged { message, .. } if self.under_way == Some(*message) => {
                self.ended = Some(true);
            }
            Event::Discarded { message, .. } if self.under_way == Some(*message) => {
                self.ended = Some(false);
            }
            _ => {}
        }
    }

    /// Hears what happens to readings, and who asks for them.
    pub const fn hears<C, const DEVICES: usize>(
        &mut self,
        console: C,
        now: Instant,
    ) -> WithReadings<'_, C, DEVICES> {
        WithReadings { readings: Some(self), console, now }
    }
}

// The parts follow one another, and none lies on the stack beneath another.
#[inline(never)]
fn sign<P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone>(
    now: Instant,
    running: &mut Running<'_, P, F, R>,
    measured: &Measured<'_>,
    registered: &mut u32,
    scratch: &mut [u8],
) -> Result<(), StoreError> {
    // In flash as used before the reading is.
    let number = running.store().next_sequence()?;
    let block = number / REGISTER_EVERY;
    if core::mem::replace(registered, block) != block {
        let (seed, next) = (running.device_seed()?, u64::from(number).saturating_add(1));
        let len = registration(running.network_name(), seed, next, scratch)?;
        return running.store().keep_reading(scratch.get(..len).unwrap_or_default());
    }
    let number = Reserved::promised(number.into());
    // Its front has room for a reading, and behind that for the SenML.
    let room = P::GEOMETRY.data_len().min(MAX_MESSAGE_LEN);
    let too_long = StoreError::TooLong { most: room };
    let (reading, senml) = scratch.split_at_mut_checked(room).ok_or(too_long)?;
    let time = measured.time.or_else(|| running.unix_time(now));
    let len = write_short_pack(time, &measured.record, senml_len(room), senml).ok_or(too_long)?;
    let (seed, senml) = (running.device_seed()?, senml.get(..len).unwrap_or_default());
    let len = seal(running.network_name(), seed, number, senml, reading)?;
    running.store().keep_reading(reading.get(..len).unwrap_or_default())
}

/// Which number comes next, in place of a reading: a verifier that was away, or has lost this
/// device's numbers, believes it again from then on.
#[inline(never)]
fn registration(network: &str, seed: Secret<32>, next: u64, out: &mut [u8]) -> Result<usize, StoreError> {
    let too_long = StoreError::TooLong { most: out.len() };
    let mut key = Ed25519Key::new(seed);
    let audience = Audience::new(network).unwrap_or_default();
    let identity = identity_of(&key);
    register_short(&mut key, &identity, next, audience, out).map_err(|_| too_long)
}

#[inline(never)]
fn seal(
    network: &str,
    seed: Secret<32>,
    number: Reserved,
    senml: &[u8],
    out: &mut [u8],
) -> Result<usize, StoreError> {
    let too_long = StoreError::TooLong { most: out.len() };
    let mut key = Ed25519Key::new(seed);
    // For whom they are: whoever believes them asks for its network's.
    let (identity, audience) = (identity_of(&key), Audience::new(network).unwrap_or_default());
    let mut sealer = Sealer { signer: &mut key, identity, path: Path::Anonymous, audience };
    sealer.seal(number, senml, out).map_err(|_| too_long)
}

/// A console of a mote that signs readings, and checks those of so many devices.
pub struct WithReadings<'r, C, const DEVICES: usize> {
    /// None while the node does not run.
    readings: Option<&'r mut Readings>,
    console: C,
    now: Instant,
}

impl<C, const DEVICES: usize> WithReadings<'_, C, DEVICES> {
    /// That of a mote that stands still.
    pub const fn standing(console: C) -> Self {
        Self { readings: None, console, now: Instant::from_micros(0) }
    }
}

impl<C: Console, const DEVICES: usize> Console for WithReadings<'_, C, DEVICES> {
    const SAYS: bool = C::SAYS;
    const DEVICES: usize = DEVICES;
    const EXCHANGES: bool = C::EXCHANGES;

    fn read(&mut self) -> Option<u8> {
        self.console.read()
    }

    fn write(&mut self, text: &str) {
        self.console.write(text);
    }

    fn key_maker(&self) -> Option<KeyMaker> {
        Some(Ed25519Key::new)
    }

    fn notice(&mut self, news: News<'_>) {
        if let Some(readings) = &mut self.readings {
            match &news {
                News::Event(event) => readings.hear(event),
                News::ReadingsAsked { to, seconds } => readings.ask(self.now, *to, *seconds),
                _ => {}
            }
        }
        self.console.notice(news);
    }
}
