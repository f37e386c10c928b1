//! When a mote is there, and when it has something to do.

use super::Life;
use motemix_air::Instant;

impl Life<'_> {
    /// Whether it is away; if it is, until it is back. Its clock and its node go on; nothing comes
    /// in, and nothing goes out.
    pub(super) async fn is_away(&mut self, now: Instant) -> bool {
        let Some(until) = self.orders.absences.at(now) else { return false };
        while self.orders.source.take(now).is_some() {}
        self.antenna.listen(false);
        self.desk.sleep(Some(until)).await;
        self.antenna.listen(true);
        true
    }

    /// When it has something to do next, besides what its node and its sensor have.
    pub(super) fn next(&self, now: Instant, others: [Option<Instant>; 2]) -> Option<Instant> {
        let orders = &self.orders;
        let document = orders.documents.front().map(|handed| handed.at);
        let held_up = orders.spy.as_ref().and_then(|spy| spy.next(now));
        let own = [orders.source.next(), document, held_up, orders.absences.next(now)];
        own.into_iter().chain(others).flatten().min()
    }
}
