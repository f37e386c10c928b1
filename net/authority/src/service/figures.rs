//! What `GET /metrics` says: everything that ends or fills, and who does not answer or lied.
//!
//! Anybody may ask: there is nothing in it that `GET /status` does not say.

use motemix_host::metrics::{Format, Metrics};
use motemix_os::web::Answer;

use super::Authority;

impl Authority {
    pub(super) fn figures(&self, format: Format) -> Answer {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let admitted = match self.store.admitted() {
            Ok(admitted) => i64::from(admitted),
            Err(error) => return Answer::text(503, format!("{error}\n")),
        };
        let state = self.state.borrow();
        let mut metrics = Metrics::default();
        metrics.gauge(
            "motemix_authority_documents",
            "Epochs from the present one on that have a document, without a gap",
            count(self.lasts()),
        );
        metrics.gauge(
            "motemix_authority_documents_wanted",
            "As many as there are when nothing is wrong",
            i64::from(self.config.ahead) + 1,
        );
        metrics.gauge(
            "motemix_authority_takes_part",
            "1 if it takes part in the rounds in which documents are made, 0 if not",
            i64::from(state.idle().is_none()),
        );
        metrics.gauge("motemix_authority_nodes", "Nodes that this authority has admitted", admitted);
        metrics.gauge(
            "motemix_authority_nodes_left_out",
            "Nodes for which its last vote had no room",
            count(state.left_out.len()),
        );
        metrics.gauge(
            "motemix_authority_others",
            "The other authorities of the network",
            count(self.roster.len() - 1),
        );
        metrics.gauge(
            "motemix_authority_others_silent",
            "Other authorities that do not answer",
            count(state.silent.len()),
        );
        metrics.gauge(
            "motemix_authority_others_lied",
            "Other authorities that voted or signed twice since the start of this one",
            count(state.liars.len()),
        );
        match metrics.encode(format) {
            Ok(text) => Answer::found(format.media_type(), text),
            Err(error) => Answer::text(500, format!("{error}\n")),
        }
    }
}
