//! A board's own readings, as it measures, signs, keeps and sends them.

use super::desk::{Desk, Ear};
use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_air::Instant;
use motemix_mote::{Console as _, News, Readings, Running, WithReadings};
use motemix_object::{Decimal, Record};
use motemix_sphinx::{NodeId, Profile};
use rand_core::CryptoRng;

/// When a board measures, and for whom.
#[derive(Clone, Copy)]
pub(crate) struct Interval {
    pub to: NodeId,
    /// Mean time between two readings.
    pub seconds: u32,
    /// When somebody types so.
    pub from: Instant,
    /// The sensor says nothing from then on. What is in flash is still sent.
    pub until: Instant,
}

/// Nobody looks at the board's own list of devices: its receiver is not the console.
const DEVICES: usize = 0;

/// The sensor of a board whose node runs.
pub(super) struct Thermometer {
    readings: Readings,
    /// What somebody is still to type.
    asks: Option<Interval>,
    until: Instant,
}

impl Thermometer {
    /// One that nobody asks, without an interval.
    pub fn new(interval: Option<Interval>) -> Self {
        let until = interval.map_or_else(Instant::default, |interval| interval.until);
        Self { readings: Readings::new(), asks: interval, until }
    }

    /// When there is something to do.
    pub fn due(&self) -> Option<Instant> {
        [self.asks.map(|asks| asks.from), self.readings.due()].into_iter().flatten().min()
    }

    /// Does what is due. Whether a reading was signed.
    pub fn poll<P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone>(
        &mut self,
        now: Instant,
        running: &mut Running<'_, P, F, R>,
        desk: &Desk,
        scratch: &mut [u8],
    ) -> bool {
        if let Some(Interval { to, seconds, .. }) = self.asks.take_if(|asks| asks.from <= now) {
            self.hears(desk, now).notice(News::ReadingsAsked { to: Some(to), seconds });
        }
        let mut signed = false;
        let measured = || {
            signed = now < self.until;
            measure(now).filter(|_| signed).map(Into::into)
        };
        self.readings.poll(now, running, measured, &mut Ear(desk), scratch);
        desk.signed(signed);
        signed
    }

    /// The console of this board.
    pub fn hears<'d>(&mut self, desk: &'d Desk, now: Instant) -> WithReadings<'_, Ear<'d>, DEVICES> {
        self.readings.hears(Ear(desk), now)
    }
}

/// The one of the emulated boards: it rises from 18 to 24 degrees in a minute and falls again.
fn measure(now: Instant) -> Option<Record<'static>> {
    let second = (now - Instant::default()).as_secs() % 120;
    let tenths = i32::try_from(180 + second.min(120 - second)).ok()?;
    Some(Record { name: "t", unit: Some("Cel"), value: Decimal::new(tenths.into(), 1)? })
}
