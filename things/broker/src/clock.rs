//! The clock on the wall, for what expires.

use std::time::Duration;

use motemix_broker_client::clock::LONGEST_WAIT;

use crate::Moment;

/// Now.
pub(crate) fn moment() -> Moment {
    Moment::from_millis(u64::try_from(motemix_os::clock::unix_time().as_millis()).unwrap_or(u64::MAX))
}

/// When a moment is, or before, should it be far away.
pub(crate) fn at(at: Moment) -> tokio::time::Instant {
    let left = at.as_millis().saturating_sub(moment().as_millis());
    tokio::time::Instant::now() + Duration::from_millis(left).min(LONGEST_WAIT)
}
