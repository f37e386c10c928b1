//! Bodies that come and go in blocks, in one place for an endpoint and all connections beside it.

mod assembly;
mod places;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use motemix_time::Instant;

use crate::block::Assembled;
use crate::operation::Operation;
use crate::{Account, Block, Peer, Response, Standing};
use assembly::Assembly;
use places::{Full, Places};
pub(crate) use places::{Limits, Usage};

/// How long a body is kept that nobody goes on with: EXCHANGE_LIFETIME (RFC 7959 §2.4, RFC 7252
/// §4.8.2).
const LIFETIME: Duration = Duration::from_secs(247);

/// Whose body it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) who: Peer,
    /// As whose it counts.
    pub(crate) account: Account,
}

impl Owner {
    /// Whether nobody else can have sent it in this one's name.
    fn is_certain(self) -> bool {
        self.account.standing == Standing::Certain
    }
}

/// Bodies that come and go in blocks, with one bound for all who share them: those of an endpoint
/// are made with it, and connections are told of them.
///
/// There are places for those that come, and as many for those that go. An address, or the first
/// half of one of IPv6, has a share of each: beyond it, its own oldest body makes room. One that
/// arrives under an address that is not proven makes room only after a pause, because others can
/// write that address. When all places are taken, the oldest body of whoever has most makes room.
///
/// What is certainly its owner's is never mixed with what others may have sent in its name: a body
/// that arrives has blocks of one kind alone, and a response that is kept is kept once of each.
#[derive(Debug, Clone)]
pub struct Bodies(Arc<Mutex<Both>>);

#[derive(Debug)]
struct Both {
    gathered: Assembly,
    sliced: Places<Slice, Response>,
}

/// A response's operation, and whether it is certainly its owner's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Slice {
    who: Peer,
    operation: Operation,
    is_certain: bool,
}

impl Bodies {
    pub(crate) fn new(limits: Limits) -> Self {
        let sliced = Places::new(limits, Duration::ZERO);
        Self(Arc::new(Mutex::new(Both { gathered: Assembly::new(limits), sliced })))
    }

    fn lock(&self) -> MutexGuard<'_, Both> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a block of the owner's body of this operation. A first block begins anew, unless it
    /// may be forged and what is here may not.
    pub(crate) fn gather(
        &self,
        now: Instant,
        owner: Owner,
        operation: Operation,
        block: Block,
        payload: &[u8],
    ) -> Assembled {
        self.lock().gathered.take(now, owner, operation, block, payload)
    }

    /// The response of this operation of which somebody reads on.
    ///
    /// A client may show its Echo value in the first request alone, and one that certainly asks may
    /// go on with what was kept before it was asked to show one.
    pub(crate) fn sliced(&self, now: Instant, owner: Owner, operation: Operation) -> Option<Response> {
        let (who, is_certain) = (owner.who, owner.is_certain());
        let sliced = &mut self.lock().sliced;
        let found = [is_certain, !is_certain].into_iter().find_map(|is_certain| {
            let exact = Slice { who, operation, is_certain };
            let is_asked = |kept: &Slice| {
                kept.who == who && kept.is_certain == is_certain && operation.may_be(kept.operation)
            };
            sliced.get_mut(now, &exact).map(|_| exact).or_else(|| sliced.newest(is_asked))
        })?;
        sliced.get_mut(now, &found).cloned()
    }

    /// Keeps a response while its blocks are asked for, if there is room.
    pub(crate) fn slice(&self, now: Instant, owner: Owner, operation: Operation, response: &Response) {
        let bytes = response.payload.len();
        let slice = Slice { who: owner.who, operation, is_certain: owner.is_certain() };
        let mut both = self.lock();
        // Without a place the application makes the response anew.
        let (Ok(()) | Err(Full)) = both.sliced.insert(now, slice, owner.account, bytes, response.clone());
    }

    /// Gives up what nobody goes on with.
    pub(crate) fn expire(&self, now: Instant) {
        let mut both = self.lock();
        both.gathered.expire(now);
        both.sliced.retain(|_, touched| now - touched < LIFETIME);
    }

    /// Gives up what there is of somebody who is gone.
    pub(crate) fn leave(&self, who: Peer) {
        let mut both = self.lock();
        both.gathered.leave(who);
        both.sliced.retain(|slice, _| slice.who != who);
    }
}
