//! What came of a demonstration.

use super::figures::Figures;
use crate::cli::{Demo as Args, Profile};
use crate::report::{self, Table};
use anyhow::Result;
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
    /// Tries that arrived after another try of the same message; each was acknowledged and not delivered again.
    duplicates: u64,
    /// Messages whose outcome was not known in the end.
    under_way: u64,
    rtt_ms: RoundTrip,
    packet_len: usize,
    /// Bytes for the application in a packet, at most.
    payload_len: usize,
    /// Bytes of all packets on the wire, cover too, for each message sent.
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
}

#[derive(Debug, Serialize)]
struct RoundTrip {
    p50: Option<f64>,
    p99: Option<f64>,
}

impl Summary {
    pub fn new(args: &Args, processes: usize, figures: &Figures) -> Self {
        let geometry = geometry(args.traffic.profile);
        let milliseconds = |share| figures.round_trip_us(share).map(in_milliseconds);
        let sent = figures.get("sent");
        let wire = figures.get("transmitted") * geometry.packet_len() as u64;
        Self {
            sent,
            delivered: figures.get("delivered"),
            acknowledged: figures.get("acknowledged"),
            retransmitted: figures.get("retransmitted"),
            discarded: figures.get("discarded"),
            duplicates: figures.get("duplicates"),
            under_way: figures.under_way(),
            rtt_ms: RoundTrip { p50: milliseconds(50), p99: milliseconds(99) },
            packet_len: geometry.packet_len(),
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
        }
    }

    pub fn print(&self, json: bool) -> Result<()> {
        if json { report::print_json(self) } else { self.table().print() }
    }

    fn table(&self) -> Table {
        let mut table = Table::without_heading();
        table.figure("sent", &self.sent, "messages");
        table.figure("delivered", &self.delivered, "messages");
        table.figure("acknowledged", &self.acknowledged, "messages");
        table.figure("retransmitted", &self.retransmitted, "packets");
        table.figure("discarded", &self.discarded, "messages");
        table.figure("duplicates suppressed", &self.duplicates, "packets");
        if self.under_way > 0 {
            table.figure("outcome unknown", &self.under_way, "messages");
        }
        let round_trip = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), |time| format!("{time:.1}"));
        table.figure("round trip p50", &round_trip(self.rtt_ms.p50), "ms");
        table.figure("round trip p99", &round_trip(self.rtt_ms.p99), "ms");
        table.figure("packet", &self.packet_len, "bytes");
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
