//! Forwarding over loopback UDP: a process on one core and its generator on the other, or a node on
//! all cores, which gives the generator what that takes.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use motemix_host::config::Processing;
use motemix_sphinx::{Host1k, Mote, Profile};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBuf, UdpGroSegment};

use crate::load::forwarder::Format;
use crate::load::generator::drive;
use crate::load::network::TestNetwork;
use crate::load::packets::Packets;
use crate::load::process::{Cores, UnderLoad};
use crate::machine::{self, InstructionSet, Machine};
use crate::ours::HostCurve;
use crate::report::Row;
use crate::{ours, peer};

/// A rate with more loss than this is not a rate.
const MOST_LOSS: f64 = 0.01;
/// The plain loops have no replay filter, so few packets serve them, over and over.
const LOOP_PACKETS: usize = 2_000;
const PEER: &str = "sphinx-packet 0.8, plain loop";
/// Packets that may be under way at once: enough to keep a process busy while the generator rests,
/// and fewer than a node's buffers have room for.
const WINDOW: usize = 256;
/// The same for plain loops, whose buffers are the system's usual ones.
const WINDOW_OF_LOOPS: usize = 64;
/// Bytes of memory for what has come out.
const SINK: usize = 4 << 20;
/// They are slower: fewer packets take them as long.
const SLOWER: usize = 4;

/// How much load.
#[derive(Clone, Copy)]
pub struct Load {
    /// Packets of each turn.
    pub packets: usize,
    /// Turns of each side.
    pub turns: usize,
}

impl Load {
    /// About a second for each turn.
    pub const FULL: Self = Self { packets: 40_000, turns: 9 };
    /// Enough to see that everything runs.
    pub const QUICK: Self = Self { packets: 4_000, turns: 1 };
}

/// One forwarding process and what it is fed.
struct Side<'n> {
    process: UnderLoad,
    cores: Cores,
    node: SocketAddr,
    sink: UdpSocket,
    window: usize,
    /// Makes packets for a turn of that many.
    packets: Box<dyn FnMut(usize) -> Result<Packets> + 'n>,
    rates: Vec<f64>,
    /// Microseconds of the processor for each packet, of each turn.
    processor: Vec<f64>,
    resident_before: u64,
}

impl<'n> Side<'n> {
    /// A real node, fed with packets that it has not seen.
    fn node<P: Profile>(
        machine: &Machine,
        program: &Path,
        network: &'n TestNetwork,
        (cores, processing): (Cores, Processing),
    ) -> Result<Self> {
        // The mix keys of each turn are those of its epoch: a run may last into the next one.
        let mut made = 0;
        let packets = move |count: usize| {
            let data = vec![0x6d; P::GEOMETRY.data_len()];
            let packets = Packets::ours::<P>(&network.path()?, made, count, &data);
            made += count as u64;
            Ok(packets)
        };
        let (node, sink) = (network.mix()?, network.receiver()?);
        let process = network.start_mix(cores, processing, machine, program)?;
        Self::ready((process, cores), node, sink, (WINDOW, Box::new(packets)))
    }

    /// The plainest loop, fed with the same packets over and over.
    fn plain(machine: &Machine, format: Format, packets: &'n Packets) -> Result<Self> {
        let sink = UdpSocket::bind("127.0.0.1:0")?;
        let (process, node) = UnderLoad::forwarder(machine, format, sink.local_addr()?)?;
        let packets = Box::new(|count| Ok(packets.repeat(count)));
        Self::ready((process, Cores::Measured), node, sink, (WINDOW_OF_LOOPS, packets))
    }

    /// Waits until packets come through.
    fn ready(
        (mut process, cores): (UnderLoad, Cores),
        node: SocketAddr,
        sink: UdpSocket,
        (window, mut packets): (usize, Box<dyn FnMut(usize) -> Result<Packets> + 'n>),
    ) -> Result<Self> {
        let give_up = Instant::now() + Duration::from_secs(20);
        // All of a window fits, however late the generator looks: what the sink loses is not the node's.
        setsockopt(&sink, RcvBuf, &SINK).context("asking for room at the sink")?;
        setsockopt(&sink, UdpGroSegment, &true).context("taking several datagrams as one message")?;
        sink.set_read_timeout(Some(Duration::from_millis(100)))?;
        loop {
            process.check()?;
            for packet in packets(1)?.iter() {
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
        let (rates, processor) = (Vec::new(), Vec::new());
        Ok(Self { process, cores, node, sink, window, packets, rates, processor, resident_before })
    }

    fn take_turn(&mut self, machine: &Machine, count: usize) -> Result<()> {
        match self.cores {
            Cores::Measured => machine::pin(machine.other_core())?,
            Cores::All => machine::spread(machine)?,
        }
        let packets = (self.packets)(count)?;
        let before = self.process.processor_time()?;
        let outcome = drive(&self.sink, self.node, &packets, self.window);
        // A process that has ended is why nothing came out.
        self.process.check()?;
        let outcome = outcome?;
        ensure!(
            outcome.loss() < MOST_LOSS,
            "{} of {} packets were lost: no rate at this loss",
            outcome.sent - outcome.received,
            outcome.sent
        );
        let took = self.process.processor_time()?.saturating_sub(before);
        self.rates.push(outcome.rate);
        self.processor.push(took.as_secs_f64() * 1e6 / outcome.received as f64);
        Ok(())
    }

    /// Microseconds of the processor for a packet, in the best turn.
    fn processor(&self) -> f64 {
        self.processor.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// One thread, packets in batches or one by one.
fn one_thread(batches: bool) -> (Cores, Processing) {
    let mut processing = Processing::default();
    processing.threads = Some(1);
    if !batches {
        processing.batch_time = Duration::ZERO;
    }
    (Cores::Measured, processing)
}

/// Rows, and lines about them.
pub fn rows(machine: &Machine, load: Load, program: &Path) -> Result<(Vec<Row>, Vec<String>)> {
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (of_profile, line) in [
        compare::<Mote<HostCurve>>("mote", &MOTE, machine, load, program)?,
        compare::<Host1k<HostCurve>>("host1k", &HOST1K, machine, load, program)?,
    ] {
        rows.extend(of_profile);
        lines.extend(line);
    }
    Ok((rows, lines))
}

/// What the rows of a profile are called.
struct Names {
    batches: &'static str,
    /// The goals of the smaller packet.
    has_goals: bool,
    beside_peer: &'static str,
    plain: Option<&'static str>,
    all_cores: &'static str,
}

const MOTE: Names = Names {
    batches: "forward-udp",
    has_goals: true,
    beside_peer: "forward-udp-peer",
    plain: Some("forward-udp-loop"),
    all_cores: "forward-udp-2core",
};

const HOST1K: Names = Names {
    batches: "forward-udp-1k",
    has_goals: false,
    beside_peer: "forward-udp-1k-peer",
    plain: None,
    all_cores: "forward-udp-1k-2core",
};

/// A node beside itself without batches, beside plain loops, and on all cores beside itself on one.
fn compare<P: Profile>(
    profile: &str,
    names: &Names,
    machine: &Machine,
    load: Load,
    program: &Path,
) -> Result<(Vec<Row>, Vec<String>)> {
    let data = vec![0x6d; P::GEOMETRY.data_len()];
    let networks = [
        TestNetwork::make(program, profile)?,
        TestNetwork::make(program, profile)?,
        TestNetwork::make(program, profile)?,
    ];
    let mut node = Side::node::<P>(machine, program, &networks[0], one_thread(true))?;
    let mut singles = Side::node::<P>(machine, program, &networks[1], one_thread(false))?;
    let all_cores = (Cores::All, Processing::default());
    let mut spread = Side::node::<P>(machine, program, &networks[2], all_cores)?;
    let packets = Packets::theirs(&peer::Route::new(2), LOOP_PACKETS, &data)?;
    let mut theirs = Side::plain(machine, Format::SphinxPacket, &packets)?;
    let plain = Packets::ours::<Mote<HostCurve>>(&ours::path(2), 0, LOOP_PACKETS, &[0x6d; 103]);
    let mut own_loop = names.plain.map(|_| Side::plain(machine, Format::Motemix, &plain)).transpose()?;
    for _ in 0..load.turns {
        node.take_turn(machine, load.packets)?;
        singles.take_turn(machine, load.packets)?;
        if machine.cores() > 1 {
            spread.take_turn(machine, load.packets)?;
        }
        theirs.take_turn(machine, load.packets / SLOWER)?;
        if let Some(own_loop) = &mut own_loop {
            own_loop.take_turn(machine, load.packets / SLOWER)?;
        }
    }
    machine::pin(machine.measured_core())?;
    let what = names.batches;
    let mut lines = vec![format!(
        "{what}: {} bytes of data, {} bytes ours, {} bytes theirs; the node's resident memory {} KiB before, {} KiB after",
        data.len(),
        P::GEOMETRY.packet_len(),
        packets.packet_len(),
        node.resident_before,
        node.process.resident_kib()?,
    )];
    lines.push(format!(
        "{what}: a packet takes {:.2} µs of the processor, {:.2} µs one by one and {:.2} µs in the peer's loop: \
         {:.2} and {:.2} times as many for each second of it",
        node.processor(),
        singles.processor(),
        theirs.processor(),
        singles.processor() / node.processor(),
        theirs.processor() / node.processor(),
    ));
    let goal = |row: Row, goal| if names.has_goals { row.at_least(goal) } else { row };
    let beside = |what, ours: &Side<'_>, peer, theirs: &Side<'_>| {
        Row::rates(what, &ours.rates, peer, &theirs.rates, "packets/s")
    };
    let set = InstructionSet::of_machine();
    let mut rows = vec![
        goal(beside(what, &node, "the node, one by one", &singles), set.choose([3.0, 1.6, 0.9])),
        goal(beside(names.beside_peer, &node, PEER, &theirs), set.choose([6.0, 3.5, 1.8])),
    ];
    if let (Some(what), Some(own_loop)) = (names.plain, &own_loop) {
        rows.push(beside(what, own_loop, PEER, &theirs));
    }
    if machine.cores() > 1 {
        rows.push(goal(beside(names.all_cores, &spread, "the node on one core", &node), 1.8));
        let cores = machine.cores() as f64;
        lines.push(format!(
            "{}: by the clock, with the generator on the node's {cores} cores; a packet takes {:.2} µs of the processor, \
             {:.2} µs on one core: {:.2} times as many a second if the node had {cores} cores to itself",
            names.all_cores,
            spread.processor(),
            node.processor(),
            cores * node.processor() / spread.processor(),
        ));
    }
    Ok((rows, lines))
}
