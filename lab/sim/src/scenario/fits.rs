//! Whether the boards hold what a scenario asks of them: a table that is too small is refused here,
//! by name, and not found out from a run that loses everything.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "lengths of tables and positive times"
)]

use super::{Epochs, Group, Motes, Scenario, Time};
use crate::authority::{document_len, parameters};
use motemix_mote::limits::Limits;
use motemix_node::{Config, FingerprintBits};
use motemix_toml::Fault;
use std::time::Duration;

/// What the channel carries, packets of three frames from neighbour to neighbour a second, however
/// many stations there are: 36 at 64 stations, 33 at 10.
const CHANNEL: f64 = 36.0;

/// Refuses the first group whose board has tables that are too small, and names all of them.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Fault> {
    let load = Load::of(scenario);
    for (name, group) in &scenario.nodes {
        Asked { scenario, name, group, limits: group.limits() }.check(&load)?;
    }
    Ok(())
}

/// A table that is too small.
struct TooSmall {
    table: &'static str,
    /// How small, and what is needed.
    why: String,
    fits: Remedy,
}

/// What would fit.
enum Remedy {
    /// So many nodes at most.
    Nodes(usize),
    Other(String),
}

/// What comes to nodes, packets a second.
struct Load {
    /// At one that forwards, as a mix.
    mix: f64,
    /// At one that receives, as a receiver.
    receiver: f64,
    /// Messages that reach a receiver.
    messages: f64,
}

impl Load {
    fn of(scenario: &Scenario) -> Self {
        let motes = &scenario.motes;
        let count = |which: fn(&Group) -> bool| f64::from(scenario.count_of(which));
        let (senders, mixes) = (count(|group| group.sends), count(|group| group.forwards).max(1.0));
        let receivers = count(|group| group.receives).max(1.0);
        let all = f64::from(scenario.count());
        let every = |mean: Option<Time>| {
            mean.and_then(Time::unless_zero).map_or(0.0, |mean| 1.0 / mean.as_secs_f64())
        };
        let hops = f64::from(motes.hops);
        let offered = senders / scenario.load.interval.0.as_secs_f64();
        let ticks = all * every(motes.payload_mean);
        // At a constant rate, a tick without a message is a loop.
        let messages = if ticks > 0.0 { offered.min(ticks) } else { offered };
        let loops = all * every(motes.loop_mean) + (ticks - messages).max(0.0);
        let drops = all * every(motes.drop_mean);
        let transmissions = (messages + loops) * 2.0 * hops + drops * hops;
        let carried = (CHANNEL / transmissions.max(f64::MIN_POSITIVE)).min(1.0);
        // A round trip has hops - 1 mixes each way; its end is its sender, who needs no place for
        // it.
        let by_mixes = (messages + loops) * 2.0 * (hops - 1.0) + drops * (hops - 1.0);
        Self {
            mix: carried * by_mixes / mixes,
            receiver: carried * (messages + loops + drops) / receivers,
            messages: carried * messages / receivers,
        }
    }
}

/// One group, and the tables of its board.
struct Asked<'s> {
    scenario: &'s Scenario,
    name: &'s str,
    group: &'s Group,
    limits: Limits,
}

impl Asked<'_> {
    fn check(&self, load: &Load) -> Result<(), Fault> {
        let found = [self.nodes(), self.document()?, self.replay(load), self.window(load), self.messages()];
        let found: Vec<_> = found.into_iter().flatten().collect();
        if found.is_empty() { Ok(()) } else { Err(self.refusal(&found)) }
    }

    fn motes(&self) -> &Motes {
        &self.scenario.motes
    }

    /// Says which tables are too small, how small, and what would fit.
    fn refusal(&self, found: &[TooSmall]) -> Fault {
        let (board, name) = (self.limits.board, self.name);
        let list =
            |of: fn(&TooSmall) -> String, between| found.iter().map(of).collect::<Vec<_>>().join(between);
        let are = if found.len() == 1 { "table" } else { "tables" };
        let is = if found.len() == 1 { "is" } else { "are" };
        let tables = list(|small| small.table.to_owned(), ", ");
        let why = match found {
            [one] => format!("it has {}", one.why),
            _ => list(|small| format!("{} has {}", small.table, small.why), "; "),
        };
        let not_shipped = match found {
            [one] => format!("not_as_shipped.{}", one.table),
            _ => "not_as_shipped".to_owned(),
        };
        // Fewer nodes for the one table are fewer for the other.
        let nodes = found.iter().filter_map(|small| match &small.fits {
            Remedy::Nodes(most) => Some(*most),
            Remedy::Other(_) => None,
        });
        let nodes = nodes.min().map(|most| format!("have {most} nodes at most"));
        let others = found.iter().filter_map(|small| match &small.fits {
            Remedy::Nodes(_) => None,
            Remedy::Other(words) => Some(words.clone()),
        });
        let fits = nodes.into_iter().chain(others).collect::<Vec<_>>().join(", ");
        Fault::new(
            format!("nodes.{name}.board"),
            format!("is {board}, whose {are} {tables} {is} too small: {why}"),
            format!("{fits}, or take a board with more; {not_shipped} simulates one that does not ship"),
        )
    }

    fn nodes(&self) -> Option<TooSmall> {
        let (count, room) = (self.scenario.count() as usize, self.limits.nodes);
        (count > room).then(|| TooSmall {
            table: "nodes",
            why: format!("{room}, and the network has {count} nodes"),
            fits: Remedy::Nodes(room),
        })
    }

    fn document(&self) -> Result<Option<TooSmall>, Fault> {
        let (count, room) = (self.scenario.count(), self.limits.document);
        let Some(len) = document_len(self.motes(), count) else {
            let remedy =
                "times are at most four hours, and motes.epoch.overlap is at most motes.epoch.length";
            return Err(Fault::new("motes", "is nothing that a network document can say", remedy));
        };
        if len <= room {
            return Ok(None);
        }
        let fits = |count: &u32| document_len(self.motes(), *count).is_some_and(|len| len <= room);
        let most = (1..count).rev().find(fits).unwrap_or(0);
        Ok(Some(TooSmall {
            table: "document",
            why: format!("{room} bytes, and the network document has {len}"),
            fits: Remedy::Nodes(most as usize),
        }))
    }

    /// The filter lasts an epoch, and as long as the key of the epoch before is accepted besides.
    fn replay(&self, load: &Load) -> Option<TooSmall> {
        let Self { group, limits, .. } = self;
        let rate =
            if group.forwards { load.mix } else { 0.0 } + if group.receives { load.receiver } else { 0.0 };
        let Epochs { length, overlap, .. } = self.motes().epoch;
        let bits = FingerprintBits::new(limits.fingerprint_bits).unwrap_or(FingerprintBits::BOARD);
        let room = bits.packets_of(limits.replay_bytes);
        let lasts = room as f64 / rate.max(f64::MIN_POSITIVE);
        // An overlap of up to an eighth of the epoch is provided for.
        let more = overlap.0.saturating_sub(length.0 / 8);
        let asked = (length.0 + more).as_secs_f64();
        if asked <= lasts {
            return None;
        }
        let longest = Duration::from_secs((lasts - more.as_secs_f64()).max(0.0) as u64);
        let bytes = limits.replay_bytes;
        Some(TooSmall {
            table: "replay_bytes",
            why: format!("{bytes} bytes, which take {room} packets an epoch, and {:.0} come", rate * asked),
            fits: Remedy::Other(format!(
                "set motes.epoch.length to {} at most",
                humantime::format_duration(longest)
            )),
        })
    }

    /// A receiver remembers a message for as long as it may come again.
    fn window(&self, load: &Load) -> Option<TooSmall> {
        let memory = Config::of_shared_channel(parameters(self.motes())).memory();
        let (room, mean) = (self.limits.window * 3 / 4, load.messages * memory.as_secs_f64());
        // They come at random: three standard deviations are more than come but once in a thousand
        // times.
        let needed = mean + 3.0 * libm::sqrt(mean);
        if !self.group.receives || needed <= room as f64 {
            return None;
        }
        let (places, seconds) = (self.limits.window, memory.as_secs_f64());
        Some(TooSmall {
            table: "window",
            why: format!(
                "{places} places for {room} messages, and up to {needed:.0} come while it remembers one, {seconds:.0} s"
            ),
            fits: Remedy::Other("send less or have fewer tries".to_owned()),
        })
    }

    /// Little's law, with the delays alone: what else a round trip takes is for the run to find
    /// out.
    fn messages(&self) -> Option<TooSmall> {
        let motes = self.motes();
        let round_trip = motes.mean_delay.0 * (2 * u32::from(motes.hops) - 1);
        let needed = round_trip.as_secs_f64() / self.scenario.load.interval.0.as_secs_f64();
        if !self.group.sends || needed <= self.limits.messages as f64 {
            return None;
        }
        let slowest = round_trip / u32::try_from(self.limits.messages.max(1)).unwrap_or(u32::MAX);
        let slowest = Duration::from_millis(u64::try_from(slowest.as_millis()).unwrap_or(u64::MAX) + 1);
        Some(TooSmall {
            table: "messages",
            why: format!("{}, and {needed:.1} are in flight on average", self.limits.messages),
            fits: Remedy::Other(format!(
                "set load.interval to {} at least",
                humantime::format_duration(slowest)
            )),
        })
    }
}
