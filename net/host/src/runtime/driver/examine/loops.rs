//! Whether own cover has paths, and whether it comes back.

use motemix_sphinx::Profile;

use super::Driver;
use crate::health::{Concern, Reason};
use crate::runtime::cover;

impl<P: Profile + 'static> Driver<'_, P> {
    /// The network changes with its document.
    pub(super) fn examine_cover(&mut self) -> Option<Reason> {
        let me = self.node.id();
        let Self { network, examination, rng, .. } = self;
        let epoch = network.epoch;
        if examination.cover.as_ref().is_none_or(|(of, _)| *of != epoch) {
            let words = cover::missing(network, me, rng);
            examination.cover = Some((epoch, words));
        }
        let (_, words) = examination.cover.as_ref()?;
        words.clone().map(|words| Reason::warning(Concern::Cover, words))
    }

    /// An operator hears what the node's own test says, with what it counted.
    pub(super) fn examine_loops(&mut self) -> Option<Reason> {
        let silent = self.shared.passed().silent_endpoints();
        // Nobody has to see to this but the endpoint's own operator. Which it is, the log does not
        // say: it has no names of other nodes.
        if silent > std::mem::replace(&mut self.examination.silent, silent) {
            tracing::info!(
                "loops by way of {silent} of the endpoints do not come back: switched off or cut off, as `motemix \
                 status` names them; the alarm for loops leaves these out"
            );
        }
        let counters = self.node.counters();
        self.node.loop_alarm().sounds().then(|| {
            let words = format!(
                "own packets do not come back as they should, {} of {} since the start: a mix drops or holds up \
                 packets, or somebody does on its links, or mixes are off; `motemix status` says through which \
                 nodes they were lost; see whether other nodes say so too",
                counters.loops_lost, counters.loops_sent
            );
            Reason::warning(Concern::Loops, words)
        })
    }
}
