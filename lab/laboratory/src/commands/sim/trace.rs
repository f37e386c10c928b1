//! `motemix-lab sim trace`.

use super::Interrupt;
use crate::cli::SimTrace as Args;
use crate::failure::Failure;
use motemix_link::serial::Outcome;
use motemix_sim::{Impossible, News, Observers, Sight, Witness, run_with};
use serde::Serialize;
use std::cell::Cell;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::ops::ControlFlow;
use std::time::Duration;

pub fn trace(args: &Args) -> Result<(), Failure> {
    let scenario = args.scenario.scenario(args.seed)?;
    if let Some(node) = args.nodes.iter().find(|node| u32::from(**node) >= scenario.count()) {
        return Err(Failure::broken(format!(
            "--node {node}: the scenario has {} nodes, from 0; choose one of them",
            scenario.count()
        )));
    }
    let interrupt = Interrupt::listen()?;
    // The reader has seen enough, or the time asked for is over.
    let enough = Cell::new(false);
    let mut writer =
        Writer { args, to: BufWriter::new(io::stdout().lock()), enough: &enough, result: Ok(()) };
    let mut progress = |now| {
        let over = enough.get() || args.to.is_some_and(|to| now > to);
        if over { ControlFlow::Break(()) } else { interrupt.flow() }
    };
    let observers =
        Observers { progress: Some(&mut progress), witness: Some(&mut writer), ..Observers::default() };
    let ended = run_with(&scenario, observers);
    match writer.finish() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            return Err(Failure::failed(format!("cannot write to stdout: {error}")));
        }
        _ => {}
    }
    match ended {
        Err(Impossible::Stopped) if !interrupt.is_raised() => Ok(()),
        ended => ended.map(drop).map_err(|error| args.scenario.no_outcome(&error)),
    }
}

/// Prints what is asked for.
struct Writer<'a> {
    args: &'a Args,
    to: BufWriter<StdoutLock<'static>>,
    enough: &'a Cell<bool>,
    result: io::Result<()>,
}

/// One line.
#[derive(Serialize)]
struct Line {
    at_us: u64,
    node: u16,
    event: &'static str,
    /// The other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collided: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tries: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl Writer<'_> {
    fn finish(mut self) -> io::Result<()> {
        self.result.and_then(|()| self.to.flush())
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        if self.args.json {
            serde_json::to_writer(&mut self.to, line)?;
            self.to.write_all(b"\n")
        } else {
            writeln!(self.to, "{}", line.readable())
        }
    }

    fn is_asked_for(&self, line: &Line) -> bool {
        let at = Duration::from_micros(line.at_us);
        let in_time = at >= self.args.from && self.args.to.is_none_or(|to| at <= to);
        let nodes = &self.args.nodes;
        let concerned = |node: &u16| *node == line.node || Some(*node) == line.peer;
        in_time && (nodes.is_empty() || nodes.iter().any(concerned))
    }
}

impl Witness for Writer<'_> {
    fn see(&mut self, at: Duration, sight: &Sight<'_>) {
        let Some(line) = Line::of(at, sight).filter(|line| self.is_asked_for(line)) else { return };
        if self.result.is_ok() {
            self.result = self.write(&line);
            self.enough.set(self.result.is_err());
        }
    }
}

impl Line {
    fn new(at: Duration, node: u16, event: &'static str) -> Self {
        Self {
            at_us: micros(at),
            node,
            event,
            peer: None,
            bytes: None,
            sequence: None,
            collided: None,
            tries: None,
            after_us: None,
            reason: None,
        }
    }

    /// None of what another line says already.
    fn of(at: Duration, sight: &Sight<'_>) -> Option<Self> {
        Some(match *sight {
            Sight::OnAir { from, to, begin, collided, frame } => Self {
                peer: to,
                bytes: Some(frame.psdu_len()),
                sequence: frame.bytes().get(2).copied(),
                collided: Some(collided),
                ..Self::new(begin, from, if is_acknowledgement(frame.bytes()) { "ack" } else { "frame" })
            },
            Sight::Arrived { to, from, frame } => Self {
                peer: Some(from),
                bytes: Some(frame.psdu_len()),
                sequence: frame.bytes().get(2).copied(),
                ..Self::new(at, to, "arrived")
            },
            Sight::Ended { outcome: Outcome::Sent, .. } => return None,
            Sight::Ended { node, outcome } => Self {
                reason: Some(match outcome {
                    Outcome::Sent | Outcome::Refused => "frame: refused by the transceiver",
                    Outcome::ChannelBusy => "frame: channel busy",
                    Outcome::NoAcknowledgement => "frame: no acknowledgement",
                }),
                ..Self::new(at, node, "failed")
            },
            Sight::Told { node, news } => match news {
                News::Key { .. } => return None,
                News::Message { to } => Self { peer: Some(to), ..Self::new(at, node, "message") },
                News::Refused { to } => Self { peer: Some(to), ..Self::new(at, node, "refused") },
                News::Packet { to } => Self { peer: Some(to), ..Self::new(at, node, "packet") },
                News::Received => Self::new(at, node, "received"),
                News::Acknowledged { after, tries } => Self {
                    after_us: Some(micros(after)),
                    tries: Some(tries),
                    ..Self::new(at, node, "acknowledged")
                },
                News::Discarded { tries } => Self { tries: Some(tries), ..Self::new(at, node, "discarded") },
                News::Dropped { reason } => Self { reason: Some(reason), ..Self::new(at, node, "dropped") },
            },
        })
    }

    /// Time, node, and a sentence without its subject.
    fn readable(&self) -> String {
        let peer = self.peer.map_or_else(|| "all".to_owned(), |peer| peer.to_string());
        let (bytes, sequence) = (self.bytes.unwrap_or_default(), self.sequence.unwrap_or_default());
        let tries = self.tries.unwrap_or_default();
        let reason = self.reason.unwrap_or_default();
        let collided = if self.collided == Some(true) { ", collided" } else { "" };
        let said = match self.event {
            "frame" => {
                format!("puts a frame for {peer} on the air: {bytes} bytes, number {sequence}{collided}")
            }
            "ack" => format!("acknowledges frame number {sequence}{collided}"),
            "arrived" => format!("has a frame of {peer}: {bytes} bytes, number {sequence}"),
            "failed" => format!("gives a frame up: {}", reason.trim_start_matches("frame: ")),
            "message" => format!("is given a message for {peer}"),
            "refused" => format!("is full and refuses a message for {peer}"),
            "packet" => format!("sends a packet to {peer}"),
            "received" => "receives a message".to_owned(),
            "acknowledged" => {
                let after = Duration::from_micros(self.after_us.unwrap_or_default());
                format!("knows that its message arrived: after {:.3} s, {tries} tries", after.as_secs_f64())
            }
            "discarded" => format!("gives a message up after {tries} tries"),
            _ => format!("drops a packet: {reason}"),
        };
        format!("{:>5}.{:06} s {:>5} {said}", self.at_us / 1_000_000, self.at_us % 1_000_000, self.node)
    }
}

fn is_acknowledgement(frame: &[u8]) -> bool {
    frame.first().is_some_and(|control| control & 7 == 2)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
