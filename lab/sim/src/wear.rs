//! What a run does to the flash of its boards, and how long they would last.

use crate::flash::Ledger;
use motemix_mote::limits::Limits;
use serde::Serialize;
use std::time::Duration;

const YEAR: f64 = 365.25 * 86_400.0;
/// Pages of the settings in which the store's record is written in turns.
const JOURNAL: usize = 2;

/// What was written to the flashes of a run's motes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Wear {
    /// Bytes written, on average at a mote.
    pub written_bytes: f64,
    /// Pages erased, on average at a mote.
    pub erases: f64,
    /// Years until the pages of the mote that wears them most have seen as many erases as its part
    /// survives, if all time were like the run.
    pub years: Years,
}

/// By region of the store. `None`: nothing was written.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Years {
    /// Key ratchet, sequence numbers, newest epoch.
    pub record: Option<f64>,
    /// Address, authorities, network documents.
    pub settings: Option<f64>,
    /// Replay tags.
    pub tags: Option<f64>,
    /// Received messages, each of which is written before it is acknowledged.
    pub messages: Option<f64>,
    /// Own readings, each of which is written before it is sent, and noted as acknowledged.
    pub readings: Option<f64>,
}

/// What was written to one flash.
pub(crate) struct Worn {
    written: u64,
    erases: u64,
    /// Shares of the endurance of each region.
    shares: [f64; 5],
}

impl Worn {
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn of(ledger: &Ledger, limits: &Limits, endurance: u32) -> Self {
        let flash = &limits.flash;
        let (settings, tags) = (flash.settings as usize, flash.tags as usize);
        let messages = settings + tags;
        let readings = messages + flash.messages as usize;
        let all = readings + flash.readings as usize;
        let mut worn = Self { written: 0, erases: 0, shares: [0.0; 5] };
        let regions = [0..JOURNAL, JOURNAL..settings, settings..messages, messages..readings, readings..all];
        for (share, region) in worn.shares.iter_mut().zip(regions) {
            let (erases, written) = ledger.sum(&region);
            let pages = region.len() as f64;
            // A region that is not full yet will have to be erased for what is in it.
            let cycles = (erases as f64 / pages).max(written as f64 / (pages * f64::from(flash.page)));
            *share = cycles / f64::from(endurance);
            worn.written += written;
            worn.erases += erases;
        }
        worn
    }
}

impl Wear {
    /// The mean over motes, and of the worst of them how long it would last.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub(crate) fn of(flashes: &[Worn], lasted: Duration) -> Option<Self> {
        let motes = flashes.len() as f64;
        let sum = |count: fn(&Worn) -> u64| flashes.iter().map(count).sum::<u64>() as f64;
        let years = |region: usize| {
            let worst = flashes.iter().filter_map(|worn| worn.shares.get(region)).fold(0.0, |a, b| b.max(a));
            (worst > 0.0).then(|| lasted.as_secs_f64() / worst / YEAR)
        };
        let [record, settings, tags, messages, readings] = [0, 1, 2, 3, 4].map(years);
        (!flashes.is_empty()).then(|| Self {
            written_bytes: sum(|worn| worn.written) / motes,
            erases: sum(|worn| worn.erases) / motes,
            years: Years { record, settings, tags, messages, readings },
        })
    }
}
