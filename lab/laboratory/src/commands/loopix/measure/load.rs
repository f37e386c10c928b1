//! Loads one mix with valid packets at a rate, and counts what it forwards.
//!
//! The packets lead through the mix to a socket of this program. They are made before the clock
//! starts, each of its own secret, since a mix refuses what it has seen; the delay in them is 0.
//! The load is open: packets go in at their times, whether others have come out or not, as from
//! clients that know nothing of the mix's queue.

use crate::failure::Failure;
use anyhow::{Context, Result, bail};
use motemix_crypto::p224::{Point, Scalar};
use motemix_loopix::files::{NodeEntry, Profile};
use motemix_loopix::packet::{Format, Hop, Layer, Packet, create, forward};
use motemix_loopix::wire::command::{Command, Next, Text, node_id};
use motemix_os::rng::HostRng;
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde::Serialize;
use socket2::SockRef;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The buffer of the socket that counts, in bytes; the system may give less.
const RECEIVE_BUFFER: usize = 16 << 20;
/// Packets made with one source of randomness.
const AT_ONCE: usize = 256;
/// Silence after which no further packet is expected.
const QUIET: Duration = Duration::from_millis(500);
/// One in so many of the packets that come out is opened.
const CHECK_ONE_IN: u64 = 50;
/// Never sooner than this does the sender look at the clock again, when it is ahead.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);
/// In a second, where the kernel tells times to programs: USER_HZ, which is 100 wherever Rust's
/// Linux targets run.
const TICKS: f64 = 100.0;
const MESSAGE: &[u8] = b"load";

/// A mix, and the node behind it whose place this program takes.
pub struct Course {
    profile: Profile,
    mix: NodeEntry,
    sink: NodeEntry,
    sink_secret: Scalar,
}

/// What came of a load.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// Packets in a second, as asked.
    pub rate: f64,
    pub sent: u64,
    pub sent_per_second: f64,
    pub received: u64,
    /// While packets went in. Of a mix that keeps up this is the rate in, of another its capacity.
    pub out_per_second: f64,
    pub lost: u64,
    /// How many that came out were opened and were not what was sent.
    pub wrong: u64,
    /// Datagrams for which the mix's socket had no room.
    pub mix_drops: u64,
    /// Datagrams for which this program's socket had no room: these are not the mix's fault.
    pub sink_drops: u64,
    /// Seconds of processor time that the mix took, if its process is known.
    pub mix_cpu: Option<f64>,
    /// Packets that came out for each second of the mix's processor time.
    pub out_per_cpu_second: Option<f64>,
}

impl Course {
    pub fn new(mix: NodeEntry, sink: NodeEntry, sink_secret: Scalar, profile: Profile) -> Self {
        Self { profile, mix, sink, sink_secret }
    }

    fn format(&self) -> Format {
        if self.profile == Profile::Hardened { Format::HARDENED } else { Format::LOOPIX }
    }

    /// Makes packets.
    fn packets(&self, count: usize, stopped: &AtomicBool) -> Result<Vec<Vec<u8>>> {
        let (host, port, name) = (self.sink.host().to_owned(), self.sink.port(), self.sink.name().to_owned());
        let next = match self.profile {
            Profile::Hardened => Next::Id(node_id(self.sink.public_key())),
            _ => Next::Named { host, port, name },
        };
        let command = Command { next, delay: Duration::ZERO, drop: false }.value(Text::Bin, Text::Bin);
        let routing = forward::relay(&self.format(), command);
        let hop = |key: &Point| Hop { key: *key, routing: &routing, associated: &[] };
        let path = [hop(self.mix.public_key()), hop(self.sink.public_key())];
        let payload = forward::payload("sink".into(), MESSAGE);
        let chunk = |first: usize| -> Result<Vec<Vec<u8>>> {
            if stopped.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            let mut rng = HostRng::new().context("the system has no random numbers")?;
            let one = |_| create(&self.format(), &path, &payload, &mut rng).context("the names do not fit");
            (first..count.min(first + AT_ONCE)).map(one).collect()
        };
        let starts: Vec<_> = (0..count).step_by(AT_ONCE).collect();
        let chunks: Result<Vec<_>> = starts.into_par_iter().map(chunk).collect();
        Ok(chunks?.into_iter().flatten().collect())
    }

    /// Sends `rate` packets a second for so long.
    pub fn drive(
        &self,
        rate: f64,
        length: Duration,
        pid: Option<u32>,
        stopped: &AtomicBool,
    ) -> Result<Outcome, Failure> {
        let count = (rate * length.as_secs_f64()).round().max(1.0);
        let packets = self.packets(count as usize, stopped)?;
        let mix = address(&self.mix)?;
        let sink =
            UdpSocket::bind(address(&self.sink)?).context("cannot take the place of the mix's next node")?;
        SockRef::from(&sink).set_recv_buffer_size(RECEIVE_BUFFER).context("cannot set a buffer")?;
        sink.set_read_timeout(Some(Duration::from_millis(20))).context("cannot set a timeout")?;
        let sender = UdpSocket::bind((sink.local_addr().context("no address")?.ip(), 0));
        let sender = sender.context("cannot open a UDP socket")?;

        let received = AtomicU64::new(0);
        let is_sent = AtomicBool::new(false);
        let before = Meter::read(mix.port(), self.sink.port(), pid)?;
        let (sent, seconds, in_time, sample) = thread::scope(|scope| {
            let counting = scope.spawn(|| count_arrivals(&sink, self.format(), &received, &is_sent, stopped));
            let begin = Instant::now();
            let sent = send(&sender, mix, &packets, rate, stopped);
            let (seconds, in_time) = (begin.elapsed().as_secs_f64(), received.load(Ordering::Relaxed));
            is_sent.store(true, Ordering::Relaxed);
            let sample = counting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sent.map(|sent| (sent, seconds, in_time, sample))
        })?;
        let after = Meter::read(mix.port(), self.sink.port(), pid)?;
        let received = received.into_inner();
        let mix_cpu = after.cpu.zip(before.cpu).map(|(after, before)| after - before);
        Ok(Outcome {
            rate,
            sent,
            sent_per_second: sent as f64 / seconds,
            received,
            out_per_second: in_time as f64 / seconds,
            lost: sent.saturating_sub(received),
            wrong: sample.into_iter().filter(|datagram| !self.is_right(datagram.clone())).count() as u64,
            mix_drops: after.mix_drops.saturating_sub(before.mix_drops),
            sink_drops: after.sink_drops.saturating_sub(before.sink_drops),
            mix_cpu,
            out_per_cpu_second: mix_cpu.filter(|cpu| *cpu > 0.0).map(|cpu| received as f64 / cpu),
        })
    }

    /// Whether the sink can open it.
    fn is_right(&self, mut datagram: Vec<u8>) -> bool {
        let format = self.format();
        let Ok(packet) = Packet::parse(&format, &mut datagram) else { return false };
        let Ok(packet) = packet.authenticate(&self.sink_secret, &[]) else { return false };
        let Ok(packet) = packet.admit(&mut AdmitAll) else { return false };
        let Ok(Layer::Destination(arrival)) = packet.read() else { return false };
        arrival.open().is_ok_and(|payload| payload.ends_with(MESSAGE))
    }
}

/// These packets were made here, once.
struct AdmitAll;

impl ReplayFilter for AdmitAll {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

pub fn address(entry: &NodeEntry) -> Result<SocketAddr> {
    let host = entry.host().parse();
    let host = host.with_context(|| format!("{}: a load needs an IP address", entry.host()))?;
    Ok(SocketAddr::new(host, entry.port()))
}

/// Sends each packet at its time, or as soon as this thread has the processor again.
fn send(
    socket: &UdpSocket,
    to: SocketAddr,
    packets: &[Vec<u8>],
    rate: f64,
    stopped: &AtomicBool,
) -> Result<u64> {
    let begin = Instant::now();
    for (number, packet) in packets.iter().enumerate() {
        let due = Duration::from_secs_f64(number as f64 / rate);
        while let Some(early) = due.checked_sub(begin.elapsed())
            && !early.is_zero()
        {
            thread::sleep(early.max(SHORTEST_SLEEP));
        }
        if stopped.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        socket.send_to(packet, to).context("cannot send to the mix")?;
    }
    Ok(packets.len() as u64)
}

/// Counts until everything is sent and nothing more comes; some of what came.
fn count_arrivals(
    sink: &UdpSocket,
    format: Format,
    received: &AtomicU64,
    is_sent: &AtomicBool,
    stopped: &AtomicBool,
) -> Vec<Vec<u8>> {
    let (mut buffer, mut sample) = (vec![0; format.datagram_len() + 1], Vec::new());
    let mut last = Instant::now();
    let is_stopped = || stopped.load(Ordering::Relaxed);
    while (!is_sent.load(Ordering::Relaxed) || last.elapsed() < QUIET) && !is_stopped() {
        // A timeout is no error here, and after any other nothing comes.
        let Ok((len, _)) = sink.recv_from(&mut buffer) else { continue };
        last = Instant::now();
        if received.fetch_add(1, Ordering::Relaxed).is_multiple_of(CHECK_ONE_IN) {
            sample.push(buffer[..len].to_vec());
        }
    }
    sample
}

/// What the system says about others.
struct Meter {
    mix_drops: u64,
    sink_drops: u64,
    cpu: Option<f64>,
}

impl Meter {
    fn read(mix: u16, sink: u16, pid: Option<u32>) -> Result<Self> {
        let table = fs::read_to_string("/proc/net/udp").context("cannot read /proc/net/udp")?;
        Ok(Self {
            mix_drops: drops(&table, mix),
            sink_drops: drops(&table, sink),
            cpu: pid.map(cpu_seconds).transpose()?,
        })
    }
}

/// The last column of a socket's row: datagrams for which there was no room (proc(5)).
fn drops(table: &str, port: u16) -> u64 {
    let end = format!(":{port:04X}");
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of_port = rows.filter(|row| row.get(1).is_some_and(|local| local.ends_with(&end)));
    of_port.filter_map(|row| row.last()?.parse::<u64>().ok()).sum()
}

/// Processor time that a process has taken so far: fields 14 and 15 of its row (proc(5)).
pub fn cpu_seconds(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    // The name, in parentheses, may have blanks.
    let fields: Vec<_> = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<u64>().ok());
    let ticks = ticks(11).zip(ticks(12)).with_context(|| format!("{path} is not as proc(5) says"))?;
    Ok((ticks.0 + ticks.1) as f64 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_port() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
            1: 0100007F:2710 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0 17\n\
            2: 0100007F:2711 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0 4\n";
        assert_eq!(drops(table, 10_000), 17);
        assert_eq!(drops(table, 10_001), 4);
        assert_eq!(drops(table, 10_002), 0);
    }

    #[test]
    fn a_process_has_taken_some_time() {
        assert!(cpu_seconds(std::process::id()).unwrap() >= 0.0);
        assert!(cpu_seconds(u32::MAX).is_err());
    }
}
