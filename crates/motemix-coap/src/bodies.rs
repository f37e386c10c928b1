//! Bodies that come and go in blocks, in one place for an endpoint and all connections beside it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use motemix_time::Instant;

use crate::block::{Assembled, Assembly, LIFETIME, Limits, Owner};
use crate::{Block, Peer, Response};

/// Bodies that come and go in blocks, with one bound for all who share them: those of an endpoint
/// are made with it, and connections are told of them.
#[derive(Debug, Clone)]
pub struct Bodies(Arc<Mutex<Both>>);

#[derive(Debug)]
struct Both {
    gathered: Assembly,
    sliced: Sliced,
}

impl Bodies {
    pub(crate) fn new(limits: Limits) -> Self {
        let sliced =
            Sliced { most: limits.bodies, most_bytes: limits.bytes, bytes: 0, bodies: HashMap::new() };
        Self(Arc::new(Mutex::new(Both { gathered: Assembly::new(limits), sliced })))
    }

    fn lock(&self) -> MutexGuard<'_, Both> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a block of the owner's body with this name. A first block begins anew.
    pub(crate) fn gather(
        &self,
        now: Instant,
        owner: Owner,
        name: u64,
        block: Block,
        payload: &[u8],
    ) -> Assembled {
        self.lock().gathered.take(now, owner, name, block, payload)
    }

    /// The response with this name of which somebody reads on.
    pub(crate) fn sliced(&self, now: Instant, who: Peer, name: u64) -> Option<Response> {
        let mut both = self.lock();
        let (touched, response) = both.sliced.bodies.get_mut(&(who, name))?;
        *touched = now;
        Some(response.clone())
    }

    /// Keeps a response, in place of the one that nobody asked for longest if there is no room.
    pub(crate) fn slice(&self, now: Instant, who: Peer, name: u64, response: &Response) {
        self.lock().sliced.put(now, (who, name), response);
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
        both.sliced.retain(|other, _| other != who);
    }
}

/// Responses of which blocks are still asked for.
#[derive(Debug)]
struct Sliced {
    most: usize,
    most_bytes: usize,
    bytes: usize,
    bodies: HashMap<(Peer, u64), (Instant, Response)>,
}

impl Sliced {
    fn put(&mut self, now: Instant, key: (Peer, u64), response: &Response) {
        self.remove(&key);
        while self.bodies.len() >= self.most || self.bytes + response.payload.len() > self.most_bytes {
            let oldest = self.bodies.iter().min_by_key(|(_, (touched, _))| *touched);
            let Some(oldest) = oldest.map(|(key, _)| *key) else { return };
            self.remove(&oldest);
        }
        self.bytes += response.payload.len();
        self.bodies.insert(key, (now, response.clone()));
    }

    fn retain(&mut self, stays: impl Fn(Peer, Instant) -> bool) {
        let bytes = &mut self.bytes;
        self.bodies.retain(|(who, _), (touched, response)| {
            let stays = stays(*who, *touched);
            *bytes -= if stays { 0 } else { response.payload.len() };
            stays
        });
    }

    fn remove(&mut self, key: &(Peer, u64)) {
        if let Some((_, response)) = self.bodies.remove(key) {
            self.bytes -= response.payload.len();
        }
    }
}
