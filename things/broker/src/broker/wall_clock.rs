//! A clock on the wall that was ahead, and was set right: what was stored meanwhile says moments
//! that are still to come.

use std::sync::Arc;

use super::{Broker, DAY};
use crate::state::{Registration, Value};
use crate::{Change, Moment};

/// Seconds for which a clock that was set back is not believed: at the start of a machine without a
/// battery it may be behind until a time server answers.
const SETTLE: u64 = 300;

/// The clock was set back, or the broker began.
#[derive(Debug, Clone, Copy)]
pub(super) struct SetBack {
    since: Moment,
    /// Whether the log has what came of it: a store without room is tried again and again.
    is_told: bool,
}

impl SetBack {
    const fn at(since: Moment) -> Self {
        Self { since, is_told: false }
    }
}

impl<T> Broker<T> {
    pub(super) fn set_now(&mut self, now: Moment) {
        let is_start = self.now == Moment::from_millis(0);
        if is_start || self.now.is_ahead_of(now) {
            self.set_back = Some(SetBack::at(now));
            self.check_observers_in_time(now);
        }
        self.now = now;
    }

    /// Nobody waits longer for its next check than its topic says.
    fn check_observers_in_time(&mut self, now: Moment) {
        let state = self.memory.state();
        let checks = self.observers.topics().map(|id| {
            let check = state.topic(id).map_or(DAY, |topic| topic.observer_check);
            (id.clone(), now.plus_secs(check.into()))
        });
        for (id, check) in checks.collect::<Vec<_>>() {
            self.observers.check_by(&id, check);
        }
    }

    /// Values and registrations of the future are of the moment at which the clock was set back:
    /// they are not younger. What brokers that share the store say later is left to them, because
    /// nobody knows whose clock is right.
    pub(super) fn set_moments_right(&mut self) {
        let Some(SetBack { since, is_told }) = self.set_back else { return };
        let now = self.now;
        if now < since.plus_secs(SETTLE) {
            return;
        }
        if now > since.plus_secs(2 * SETTLE) {
            // It was set forward, so that it was behind: the moment says nothing.
            self.set_back = Some(SetBack::at(now));
            return;
        }
        let state = self.memory.state();
        let values = state.values().filter(|(_, value)| value.published.is_ahead_of(now));
        let values = values.map(|(id, value)| {
            let value = Value { published: since, ..Value::clone(value) };
            Change::Value(id.clone(), Some(Arc::new(value)))
        });
        let registered = |one: &Registration| {
            Moment::from_millis(one.expires.as_millis().saturating_sub(u64::from(one.lifetime) * 1000))
        };
        let registrations = state.registrations().filter(|(_, one)| registered(one).is_ahead_of(now));
        let registrations = registrations.map(|(id, one)| {
            let expires = since.plus_secs(one.lifetime.into());
            let registration = Registration { expires, ..Registration::clone(one) };
            Change::Registration(id.clone(), Some(Arc::new(registration)))
        });
        let changes: Vec<Change> = values.chain(registrations).collect();
        if changes.is_empty() {
            self.set_back = None;
            return;
        }
        // Whether the store takes them is seen when they are looked for again.
        if !is_told {
            let count = changes.len();
            tracing::warn!(
                count,
                "the clock was ahead when values or registrations were stored: they count from when it was set right"
            );
        }
        self.set_back = Some(SetBack { since, is_told: true });
        for change in changes {
            self.batch.apply(&mut self.memory, change);
        }
    }
}
