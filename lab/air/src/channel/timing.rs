//! The times of the 2.4 GHz band: IEEE 802.15.4-2006, 6.5 and 7.5.

use std::time::Duration;

const fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// aUnitBackoffPeriod.
pub(super) const UNIT_BACKOFF: Duration = micros(320);
/// Clear-channel assessment: 8 symbols.
pub(crate) const ASSESSMENT: Duration = micros(128);
/// aTurnaroundTime: 12 symbols.
pub(crate) const TURNAROUND: Duration = micros(192);
/// macAckWaitDuration: 54 symbols.
pub(crate) const ACKNOWLEDGEMENT_WAIT: Duration = micros(864);
/// aMaxSIFSFrameSize; longer frames are followed by the long gap.
pub(super) const SHORT_FRAME: usize = 18;
/// macMinSIFSPeriod: 12 symbols.
pub(super) const SHORT_GAP: Duration = micros(192);
/// macMinLIFSPeriod: 40 symbols.
pub(super) const LONG_GAP: Duration = micros(640);
