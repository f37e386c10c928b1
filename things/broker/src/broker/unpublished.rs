//! Publications that were refused, for the page: whoever looks at a topic sees why nothing comes.

use std::sync::Arc;

use motemix_coap::{Method, Request, Response};

use super::Broker;
use crate::state::TopicId;
use crate::topics;

/// Publications that a topic did not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpublished {
    /// How many there were.
    pub count: u64,
    /// Why the last one was refused, as a sentence for people.
    pub why: Arc<str>,
}

impl<T> Broker<T> {
    /// `path` is what follows the collection's.
    pub(super) fn note_refused(&mut self, path: &[&str], request: &Request, response: &Response) {
        let [topics::DATA, id] = path else { return };
        let id = TopicId((*id).into());
        // Only of topics that there are, so that nobody fills this with others.
        let is_refused = request.method == Method::Put && !response.code.is_success();
        if !is_refused || self.memory.state().topic(&id).is_none() {
            return;
        }
        let why = String::from_utf8_lossy(&response.payload);
        let count = self.refused.get(&id).map_or(0, |before| before.count) + 1;
        self.refused.insert(id, Unpublished { count, why: why.into() });
    }

    /// A topic that did not take what was published to it, since this was last asked.
    pub fn poll_unpublished(&mut self) -> Option<(TopicId, Unpublished)> {
        self.refused.pop_first()
    }
}
