//! What came of a demonstration.

use super::figures::{ELAPSED, Figures, ROUND_TRIP};
use super::smart::SmartSummary;
use anyhow::Result;
use motemix_host::link::PAYLOAD_OVERHEAD;
use motemix_program::cli::{Demo as Args, Profile};
use motemix_program::report::{self, Table, shortfall};
use motemix_sphinx::{Geometry, HOST1K, HOST2K, MOTE, MOTE5};
use serde::Serialize;
use std::collections::BTreeMap;

/// The figures of a demonstration, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Summary {
    sent: u64,
    delivered: u64,
    acknowledged: u64,
    retransmitted: u64,
    discarded: u64,
    /// Tries that arrived after another try of the same message; each was acknowledged and not
    /// delivered again.
    duplicates: u64,
    /// Messages whose outcome was not known in the end.
    under_way: u64,
    /// Readings that their mote did not take, having too many messages under way.
    turned_away: u64,
    /// From taking a message until its acknowledgement.
    elapsed_ms: Percentiles,
    /// Round trips of the tries that were acknowledged alone.
    rtt_ms: Percentiles,
    packet_len: usize,
    /// Bytes of a datagram between two nodes: a packet and what protects it.
    datagram_len: usize,
    /// Signed readings that the receiver believes, and messages that it does not; none are signed
    /// if that was asked for.
    believed: Option<u64>,
    not_believed: Option<u64>,
    /// Why the first of them is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
    /// Bytes for the application in a packet, at most.
    payload_len: usize,
    /// Bytes of all datagrams on the wire, cover and handshakes too, for each message sent.
    wire_bytes_per_message: Option<u64>,
    loop_cover: u64,
    drop_cover: u64,
    dropped: BTreeMap<String, u64>,
    processes: usize,
    mixes: u16,
    motes: u16,
    receivers: u16,
    seconds: u64,
    loss: f64,
    /// What the broker and the application have seen, with `--smart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    smart: Option<SmartSummary>,
}

#[derive(Debug, Serialize)]
struct Percentiles {
    p50: Option<f64>,
    p99: Option<f64>,
}

impl Summary {
    pub fn new(
        args: &Args,
        processes: usize,
        figures: &Figures,
        believed: Option<(u64, Vec<String>)>,
        smart: Option<SmartSummary>,
    ) -> Self {
        let geometry = geometry(args.traffic.profile);
        let times = |kind| {
            let at = |share| figures.micros(kind, share).map(in_milliseconds);
            Percentiles { p50: at(50), p99: at(99) }
        };
        let sent = figures.get("sent");
        let overhead = if args.traffic.plain_links { 0 } else { PAYLOAD_OVERHEAD };
        let datagram_len = geometry.packet_len() + overhead;
        // Messages of handshakes have the length of the others.
        let wire = figures.get("udp_sent") * datagram_len as u64;
        Self {
            sent,
            delivered: figures.get("delivered"),
            acknowledged: figures.get("acknowledged"),
            retransmitted: figures.get("retransmitted"),
            discarded: figures.get("discarded"),
            duplicates: figures.get("duplicates"),
            under_way: figures.under_way(),
            turned_away: figures.get("readings_refused"),
            elapsed_ms: times(ELAPSED),
            rtt_ms: times(ROUND_TRIP),
            believed: believed.as_ref().map(|(believed, _)| *believed),
            not_believed: believed.as_ref().map(|(_, not)| not.len() as u64),
            why_not: believed.and_then(|(_, not)| not.into_iter().next()),
            packet_len: geometry.packet_len(),
            datagram_len,
            payload_len: geometry.data_len(),
            wire_bytes_per_message: wire.checked_div(sent),
            loop_cover: figures.get("loops_sent"),
            drop_cover: figures.get("drops_sent"),
            dropped: figures.dropped().into_iter().map(|(reason, n)| (reason.to_owned(), n)).collect(),
            processes,
            mixes: args.size.mixes,
            motes: args.size.motes,
            receivers: args.size.receivers,
            seconds: args.seconds,
            loss: args.loss,
            smart,
        }
    }

    pub fn print(&self, json: bool) -> Result<()> {
        if json {
            return report::print_json(self);
        }
        if let Some(smart) = &self.smart {
            smart.devices().print()?;
        }
        self.table().print()
    }

    /// What did not end well, in words.
    pub fn shortfall(&self) -> Option<String> {
        let forged = self.not_believed.filter(|count| *count > 0);
        let why = self.why_not.as_deref().unwrap_or_default();
        let forged =
            forged.map(|count| format!("the receiver does not believe {count} of its messages: {why}"));
        let smart = self.smart.as_ref().and_then(|smart| smart.shortfall(self.motes.into()));
        shortfall(self.discarded, self.under_way).or(forged).or(smart)
    }

    fn table(&self) -> Table {
        let mut table = Table::without_heading();
        table.figure("sent", &self.sent, "messages");
        table.figure("delivered", &self.delivered, "messages");
        table.figure("acknowledged", &self.acknowledged, "messages");
        table.figure("retransmitted", &self.retransmitted, "packets");
        table.figure("discarded", &self.discarded, "messages");
        table.figure("undecided", &self.under_way, "messages");
        table.figure("turned away, the mote being full", &self.turned_away, "messages");
        table.figure("duplicates suppressed", &self.duplicates, "packets");
        let time = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), |time| format!("{time:.1}"));
        table.figure("acknowledged after, p50", &time(self.elapsed_ms.p50), "ms");
        table.figure("acknowledged after, p99", &time(self.elapsed_ms.p99), "ms");
        if let Some(believed) = self.believed {
            table.figure("signatures checked, believed", &believed, "readings");
        }
        if let Some(not) = self.not_believed.filter(|not| *not > 0) {
            table.figure("not believed", &not, "messages");
        }
        if let Some(smart) = &self.smart {
            smart.figures(&mut table);
        }
        table.figure("packet", &self.packet_len, "bytes");
        table.figure("datagram", &self.datagram_len, "bytes");
        table.figure("payload", &self.payload_len, "bytes");
        if let Some(bytes) = self.wire_bytes_per_message {
            table.figure("on the wire per message", &bytes, "bytes");
        }
        table.figure("loop cover", &self.loop_cover, "packets");
        table.figure("drop cover", &self.drop_cover, "packets");
        for (reason, count) in &self.dropped {
            table.figure(&format!("dropped: {reason}"), count, "datagrams");
        }
        table.figure("processes", &self.processes, "");
        table
    }
}

fn in_milliseconds(microseconds: u64) -> f64 {
    std::time::Duration::from_micros(microseconds).as_secs_f64() * 1000.0
}

fn geometry(profile: Profile) -> Geometry {
    match profile {
        Profile::Mote => MOTE,
        Profile::Mote5 => MOTE5,
        Profile::Host1k => HOST1K,
        Profile::Host2k => HOST2K,
    }
}

#[cfg(test)]
mod tests {
    use super::shortfall;

    #[test]
    fn what_did_not_end_well_is_said_in_words() {
        assert_eq!(shortfall(0, 0), None);
        assert_eq!(shortfall(1, 0).unwrap(), "1 message was given up after the last try");
        let both = shortfall(3, 2).unwrap();
        assert_eq!(
            both,
            "3 messages were given up after the last try, and 2 messages are undecided: \
             their acknowledgements did not come in time"
        );
    }
}
