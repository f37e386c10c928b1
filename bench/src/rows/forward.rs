//! Forwarding over loopback UDP: a process on one core, its generator on the other.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use motemix_sphinx::{Host1k, Mote, Profile};

use crate::load::forwarder::Format;
use crate::load::generator::{Pace, drive};
use crate::load::network::TestNetwork;
use crate::load::packets::Packets;
use crate::load::process::UnderLoad;
use crate::machine::Machine;
use crate::ours::HostCurve;
use crate::report::Row;
use crate::{ours, peer};

/// A rate with more loss than this is not a rate.
const MOST_LOSS: f64 = 0.01;
/// The plain loops have no replay filter, so few packets serve them, over and over.
const LOOP_PACKETS: usize = 2_000;
const PEER: &str = "sphinx-packet 0.8, plain loop";

/// How much load.
#[derive(Clone, Copy)]
pub struct Load {
    /// Packets of each turn.
    pub packets: usize,
    /// Turns of each side.
    pub turns: usize,
}

impl Load {
    /// One to three seconds for each turn.
    pub const FULL: Self = Self { packets: 20_000, turns: 9 };
    /// Enough to see that everything runs.
    pub const QUICK: Self = Self { packets: 2_000, turns: 1 };
}

/// One forwarding process and what it is fed.
struct Side<'n> {
    process: UnderLoad,
    node: SocketAddr,
    sink: UdpSocket,
    /// Makes packets for a turn of that many.
    packets: Box<dyn FnMut(usize) -> Packets + 'n>,
    rates: Vec<f64>,
    resident_before: u64,
}

impl<'n> Side<'n> {
    /// A real node, fed with packets that it has not seen.
    fn node<P: Profile>(machine: &Machine, program: &Path, network: &'n TestNetwork) -> Result<Self> {
        let path = network.path()?;
        let mut made = 0;
        let packets = move |count: usize| {
            let data = vec![0x6d; P::GEOMETRY.data_len()];
            let packets = Packets::ours::<P>(&path, made, count, &data);
            made += count as u64;
            packets
        };
        let (node, sink) = (network.mix()?, network.receiver()?);
        let process = network.start_mix(machine, program)?;
        Self::ready(process, node, sink, Box::new(packets))
    }

    /// The plainest loop, fed with the same packets over and over.
    fn plain(machine: &Machine, format: Format, packets: &'n Packets) -> Result<Self> {
        let sink = UdpSocket::bind("127.0.0.1:0")?;
        let (process, node) = UnderLoad::forwarder(machine, format, sink.local_addr()?)?;
        Self::ready(process, node, sink, Box::new(|count| packets.repeat(count)))
    }

    /// Waits until packets come through.
    fn ready(
        mut process: UnderLoad,
        node: SocketAddr,
        sink: UdpSocket,
        mut packets: Box<dyn FnMut(usize) -> Packets + 'n>,
    ) -> Result<Self> {
        let give_up = Instant::now() + Duration::from_secs(20);
        sink.set_read_timeout(Some(Duration::from_millis(100)))?;
        loop {
            process.check()?;
            for packet in packets(1).iter() {
                sink.send_to(packet, node)?;
            }
            if sink.recv(&mut [0; 2048]).is_ok() {
                break;
            }
            if Instant::now() > give_up {
                bail!("the process under load forwards nothing");
            }
        }
        let resident_before = process.resident_kib()?;
        Ok(Self { process, node, sink, packets, rates: Vec::new(), resident_before })
    }

    fn take_turn(&mut self, count: usize) -> Result<()> {
        let packets = (self.packets)(count);
        let len = packets.packet_len();
        let outcome = drive(&self.sink, self.node, packets.iter(), len, Pace::default())?;
        self.process.check()?;
        ensure!(
            outcome.loss() < MOST_LOSS,
            "{} of {} packets were lost: no rate at this loss",
            outcome.sent - outcome.received,
            outcome.sent
        );
        self.rates.push(outcome.rate);
        Ok(())
    }
}

/// Rows, and a line about each length.
pub fn rows(machine: &Machine, load: Load, program: &Path) -> Result<(Vec<Row>, Vec<String>)> {
    let data = vec![0x6d; <Mote<HostCurve> as Profile>::GEOMETRY.data_len()];
    let plain = Packets::ours::<Mote<HostCurve>>(&ours::path(2), 0, LOOP_PACKETS, &data);
    let network = TestNetwork::make(program, "mote")?;
    let mut node = Side::node::<Mote<HostCurve>>(machine, program, &network)?;
    let mut own_loop = Side::plain(machine, Format::Motemix, &plain)?;
    let (small, small_line) =
        compare::<Mote<HostCurve>>("forward-udp", machine, load, &mut node, Some(&mut own_loop))?;
    drop((node, own_loop));

    let network = TestNetwork::make(program, "host1k")?;
    let mut node = Side::node::<Host1k<HostCurve>>(machine, program, &network)?;
    let (large, large_line) = compare::<Host1k<HostCurve>>("forward-udp-1k", machine, load, &mut node, None)?;
    Ok((small.into_iter().chain(large).collect(), vec![small_line, large_line]))
}

/// A node, and perhaps our plain loop, beside the peer's plain loop.
fn compare<P: Profile>(
    what: &'static str,
    machine: &Machine,
    load: Load,
    node: &mut Side<'_>,
    mut own_loop: Option<&mut Side<'_>>,
) -> Result<(Vec<Row>, String)> {
    let data = vec![0x6d; P::GEOMETRY.data_len()];
    let packets = Packets::theirs(&peer::Route::new(2), LOOP_PACKETS, &data)?;
    let mut theirs = Side::plain(machine, Format::SphinxPacket, &packets)?;
    for _ in 0..load.turns {
        node.take_turn(load.packets)?;
        theirs.take_turn(load.packets)?;
        if let Some(own_loop) = &mut own_loop {
            own_loop.take_turn(load.packets)?;
        }
    }
    let line = format!(
        "{what}: {} bytes of data, {} bytes ours, {} bytes theirs; the node's resident memory {} KiB before, {} KiB after",
        data.len(),
        P::GEOMETRY.packet_len(),
        packets.packet_len(),
        node.resident_before,
        node.process.resident_kib()?,
    );
    let mut rows = vec![Row::rates(what, &node.rates, PEER, &theirs.rates, "packets/s")];
    if let Some(own_loop) = own_loop {
        rows.push(Row::rates("forward-udp-loop", &own_loop.rates, PEER, &theirs.rates, "packets/s"));
    }
    Ok((rows, line))
}
