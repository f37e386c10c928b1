//! What the handlers of requests have at hand.

use motemix_coap::{Code, Peer, Response, Source};
use motemix_object::Identity;

use crate::broker::{Batch, Counters, Memory, Refused};
use crate::policy::Policy;
use crate::{Caller, Change, Moment, State};

/// Whose requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    Device(Identity),
    Source(Source),
    Stream(u64),
}

impl Origin {
    pub(crate) fn of(caller: &Caller) -> Self {
        match (caller.device, caller.source(), caller.peer) {
            (Some(device), ..) => Self::Device(device),
            (None, None, Peer::Stream(number)) => Self::Stream(number),
            (None, Some(source), _) => Self::Source(source),
            (None, None, Peer::Datagram(address)) => Self::Source(address.into()),
        }
    }
}

/// One request's view of the broker.
#[derive(Debug)]
pub(crate) struct Context<'b> {
    pub(crate) policy: &'b Policy,
    pub(crate) memory: &'b mut Memory,
    pub(crate) batch: &'b mut Batch,
    pub(crate) counters: &'b mut Counters,
    pub(crate) caller: &'b Caller,
    pub(crate) now: Moment,
}

impl Context<'_> {
    pub(crate) fn state(&self) -> &State {
        self.memory.state()
    }

    /// Makes a change in memory, and notes it for the store.
    pub(crate) fn apply(&mut self, change: Change) {
        self.batch.apply(self.memory, change);
    }

    /// An error's response, counted.
    pub(crate) fn refuse(&mut self, why: Refused, code: Code, text: &str) -> Response {
        self.counters.count(why);
        let max_age = match code {
            Code::SERVICE_UNAVAILABLE => Some(FULL_RETRY),
            _ => None,
        };
        Response { max_age, ..Response::error(code, text) }
    }
}

/// After how many seconds it may be worth asking again, when the broker has no place left.
const FULL_RETRY: u32 = 60;
