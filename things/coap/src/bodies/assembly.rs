//! Bodies whose blocks are arriving (RFC 7959 §2.5).

use std::time::Duration;

use motemix_time::Instant;

use super::places::{Limits, Places};
use super::{LIFETIME, Owner};
use crate::Peer;
use crate::block::{Assembled, Block};
use crate::operation::Operation;

/// After so long without a block a body may be given up for one of an account that has no more.
const IDLE: Duration = Duration::from_secs(10);

/// Bodies whose blocks are arriving, of everybody together.
#[derive(Debug)]
pub(super) struct Assembly {
    places: Places<(Peer, Operation), Vec<u8>>,
    most: usize,
}

impl Assembly {
    pub(super) fn new(limits: Limits) -> Self {
        Self { places: Places::new(limits, IDLE), most: limits.body }
    }

    /// Takes a block of the owner's body of this operation. A first block begins anew.
    ///
    /// A body has blocks that are certainly its owner's, or none: a block that others may have sent
    /// leaves such a body as it is, and does not begin what such a block goes on with.
    pub(super) fn take(
        &mut self,
        now: Instant,
        owner: Owner,
        operation: Operation,
        block: Block,
        payload: &[u8],
    ) -> Assembled {
        let key = (owner.who, operation);
        let before = self.places.account(&key).map(|account| Owner { account, ..owner }.is_certain());
        match (before, owner.is_certain()) {
            (Some(true), false) => return Assembled::Unproven,
            (Some(false), true) if block.number > 0 => return Assembled::Incomplete,
            _ => {}
        }
        // Whoever says that more follow sends whole blocks (§2.2).
        let is_sound = payload.len() <= block.size() && (!block.more || payload.len() == block.size());
        if block.number == 0 || !is_sound {
            self.places.remove(&key);
        }
        if !is_sound {
            return Assembled::Incomplete;
        }
        let body = self.places.get_mut(now, &key);
        let here = match &body {
            Some(body) => body.len(),
            None if block.number == 0 => 0,
            None => return Assembled::Incomplete,
        };
        if block.start() > here {
            return Assembled::Incomplete;
        }
        if block.start() < here {
            // A block that came twice in datagrams of their own. With other bytes it is of another
            // body, and nobody knows which of the two the blocks here are of.
            let again = block.start()..block.start() + payload.len();
            if block.more && body.is_some_and(|body| body.get(again) == Some(payload)) {
                return Assembled::Continue;
            }
            self.places.remove(&key);
            return Assembled::Incomplete;
        }
        if here + payload.len() > self.most {
            self.places.remove(&key);
            return Assembled::TooLong;
        }
        if !block.more {
            let mut body = self.places.remove(&key).unwrap_or_default();
            body.extend_from_slice(payload);
            return Assembled::Whole(body);
        }
        let has_room = if here == 0 {
            self.places.insert(now, key, owner.account, payload.len(), payload.to_vec())
        } else {
            self.places.grow(now, &key, payload.len()).map(|()| {
                if let Some(body) = self.places.get_mut(now, &key) {
                    body.extend_from_slice(payload);
                }
            })
        };
        match has_room {
            Ok(()) => Assembled::Continue,
            Err(_) if owner.is_certain() => Assembled::Full,
            Err(_) => Assembled::FullOfStrangers,
        }
    }

    /// Gives up what was gathered of somebody who is gone.
    pub(super) fn leave(&mut self, who: Peer) {
        self.places.retain(|(other, _), _| *other != who);
    }

    /// Gives up what nothing came for.
    pub(super) fn expire(&mut self, now: Instant) {
        self.places.retain(|_, touched| now - touched < LIFETIME);
    }
}
