//! Forwarding over loopback UDP: a process on one core, its generator on the other.

use std::net::UdpSocket;

use anyhow::{Result, ensure};
use motemix_sphinx::Mote;

use crate::load::forwarder::{Format, data_len};
use crate::load::generator::{Outcome, Pace, drive};
use crate::load::packets::Packets;
use crate::load::process::UnderLoad;
use crate::machine::Machine;
use crate::ours::HostCurve;
use crate::report::Row;
use crate::{ours, peer};

/// A rate with more loss than this is not a rate.
const MOST_LOSS: f64 = 0.01;

/// How much load.
#[derive(Clone, Copy)]
pub struct Load {
    /// Packets of each turn.
    pub packets: usize,
    /// Turns of each side.
    pub turns: usize,
}

impl Load {
    /// About two seconds for each turn.
    pub const FULL: Self = Self { packets: 20_000, turns: 5 };
    /// Enough to see that everything runs.
    pub const QUICK: Self = Self { packets: 1_500, turns: 1 };
}

/// One forwarding process and what it is fed.
struct Side {
    process: UnderLoad,
    node: std::net::SocketAddr,
    sink: UdpSocket,
    packets: Packets,
    outcomes: Vec<Outcome>,
}

impl Side {
    fn start(machine: &Machine, format: Format, packets: Packets) -> Result<Self> {
        let sink = UdpSocket::bind("127.0.0.1:0")?;
        let (process, node) = UnderLoad::forwarder(machine, format, sink.local_addr()?)?;
        Ok(Self { process, node, sink, packets, outcomes: Vec::new() })
    }

    fn take_turn(&mut self) -> Result<()> {
        let len = self.packets.packet_len();
        let outcome = drive(&self.sink, self.node, self.packets.iter(), len, Pace::default())?;
        ensure!(
            outcome.loss() < MOST_LOSS,
            "{} of {} packets were lost: no rate at this loss",
            outcome.sent - outcome.received,
            outcome.sent
        );
        self.outcomes.push(outcome);
        Ok(())
    }

    /// The turn in the middle.
    fn rate(&self) -> f64 {
        let mut rates: Vec<_> = self.outcomes.iter().map(|outcome| outcome.rate).collect();
        rates.sort_unstable_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// The same loop for both formats: what the packet alone makes of the rate. Also a line on lengths.
pub fn loop_row(machine: &Machine, load: Load) -> Result<(Row, String)> {
    let data = vec![0x6d; data_len()];
    let packets = Packets::ours::<Mote<HostCurve>>(&ours::path(2), 0, load.packets, &data);
    let mut ours = Side::start(machine, Format::Motemix, packets)?;
    let packets = Packets::theirs(&peer::Route::new(2), load.packets, &data)?;
    let mut theirs = Side::start(machine, Format::SphinxPacket, packets)?;
    for _ in 0..load.turns {
        ours.take_turn()?;
        theirs.take_turn()?;
    }
    let row = Row::more("forward-udp-loop", ours.rate(), peer::NAME, theirs.rate(), "packets/s");
    let line = format!(
        "Packets of the forwarding loops: {} bytes of data, {} bytes ours, {} bytes theirs; resident {} and {} KiB",
        data.len(),
        ours.packets.packet_len(),
        theirs.packets.packet_len(),
        ours.process.resident_kib()?,
        theirs.process.resident_kib()?,
    );
    Ok((row, line))
}
