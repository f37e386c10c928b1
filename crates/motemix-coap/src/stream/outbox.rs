//! What waits for the peer to read. Of the notifications of an observation, one: the newest.

use std::collections::{HashMap, VecDeque};

use crate::{Response, Token};

#[derive(Debug)]
enum Waiting {
    Bytes(Vec<u8>),
    /// Of the observation with this token. It is encoded when its turn has come.
    Notification(Token),
}

/// What leaves next.
pub(super) enum Next {
    Bytes(Vec<u8>),
    Notification { token: Token, response: Response, last: bool },
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Waiting>,
    len: usize,
    /// Observations, and what each has to tell.
    observations: HashMap<Token, Option<Box<(Response, bool)>>>,
}

/// What became of a notification.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notified {
    Waits,
    /// In the place of an older one.
    Coalesced,
    /// Nobody observes, or no longer.
    Strange,
}

impl Outbox {
    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        self.len += bytes.len();
        self.waiting.push_back(Waiting::Bytes(bytes));
    }

    /// Bytes of answers and signals. Notifications do not count: there is one for each observation.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn observations(&self) -> usize {
        self.observations.len()
    }

    pub(super) fn observes(&self, token: Token) -> bool {
        self.observations.contains_key(&token)
    }

    pub(super) fn observe(&mut self, token: Token) {
        self.observations.insert(token, None);
    }

    /// Whether there was one.
    pub(super) fn forget(&mut self, token: Token) -> bool {
        self.observations.remove(&token).is_some()
    }

    pub(super) fn notify(&mut self, token: Token, response: &Response, last: bool) -> Notified {
        match self.observations.get_mut(&token) {
            None => Notified::Strange,
            Some(Some(waiting)) if waiting.1 => Notified::Strange,
            Some(waiting) => {
                let coalesced = waiting.replace(Box::new((response.clone(), last))).is_some();
                if coalesced {
                    return Notified::Coalesced;
                }
                self.waiting.push_back(Waiting::Notification(token));
                Notified::Waits
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<Next> {
        loop {
            match self.waiting.pop_front()? {
                Waiting::Bytes(bytes) => {
                    self.len -= bytes.len();
                    return Some(Next::Bytes(bytes));
                }
                Waiting::Notification(token) => {
                    // Without one if the observation has ended, or began anew.
                    let told = self.observations.get_mut(&token).and_then(Option::take);
                    if let Some((response, last)) = told.map(|told| *told) {
                        if last {
                            self.observations.remove(&token);
                        }
                        return Some(Next::Notification { token, response, last });
                    }
                }
            }
        }
    }

    /// Ends all observations, and gives their tokens. What waits is dropped, if it is not to be sent.
    pub(super) fn end(&mut self, drops: bool) -> Vec<Token> {
        if drops {
            self.clear();
        }
        std::mem::take(&mut self.observations).into_keys().collect()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.len = 0;
    }
}
