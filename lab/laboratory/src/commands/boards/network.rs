//! `motemix-lab boards network`: emulated boards and hosts in one radio channel.
//!
//! ```text
//! images ─ air ─ boards, each asked for its key ─ sign the document ─ hosts ─ boards start
//!                                                                    send ─ cool down ─ report
//! ```
//!
//! The boards mix and send, one host receives, another one sends. Every board is an emulator that
//! runs the very firmware, every host a process; all their packets go as IEEE 802.15.4 frames
//! through `motemix-lab air`.

mod enrolment;
mod keys;
mod member;
mod report;
mod traffic;

use super::emulated::{Air, Board, check_installed, folder};
use super::programs_for;
use crate::cli::BoardsNetwork as Args;
use crate::commands::link_keys::LinkKeys;
use crate::failure::Failure;
use crate::firmware::Purpose;
use crate::program::{self, on_interrupt};
use crate::report::{Progress, print};
use enrolment::Enrolled;
use keys::{Memory, Opened};
use report::{Boards, Summary};
use std::sync::atomic::Ordering;
use std::time::Duration;
use traffic::Traffic;

/// Boards of each model.
const OF_EACH: usize = 2;
/// The hosts: who receives, and who sends.
const HOSTS: [&str; 2] = ["receiver", "mote"];
/// Mean time between two messages of a node, at least. Eight nodes share one channel of 250 kbit/s.
const INTERVAL: Duration = Duration::from_secs(6);
/// Six boards and a host send.
const SENDERS: f64 = 7.0;
/// Packets that a message brings a board on average: two mixes there and two back, of six.
const PACKETS: f64 = 4.0 / 6.0;
/// What the replay filter of a micro:bit takes in one epoch, with a fifth kept for retries: a part
/// at once, and the rest spread over the epoch (docs/spec/epochs.md).
const PLACES: [f64; 2] = [18.0, 128.0];
/// Until the document expires, besides the time in which messages are sent: for the boards'
/// enrolment and for what is still under way at the end.
const SLACK: Duration = Duration::from_mins(5);

/// Mean time between two messages of a node: as many as the smallest board's filter takes in its
/// epoch.
fn interval(args: &Args) -> Duration {
    let seconds = Duration::from_secs(args.seconds).as_secs_f64();
    let [at_once, spread] = PLACES;
    let packets = at_once + spread * seconds / (seconds + SLACK.as_secs_f64());
    let fitting = Duration::from_secs_f64(seconds * SENDERS * PACKETS / packets);
    args.interval.unwrap_or(INTERVAL.max(fitting))
}

pub fn network(args: &Args) -> Result<(), Failure> {
    check_installed()?;
    program::of_nodes()?;
    let interrupted = on_interrupt()?;
    let (_folder, root) = folder(args.keep.as_deref())?;
    let models = programs_for(&[Purpose::Network])?;
    let images = args.firmware.origin()?.images(&models)?;
    let mut keys = args.pcap.as_deref().map(LinkKeys::beside).transpose()?;
    let mut progress = Progress::new(3);
    progress.at(0, "starting the boards");
    let numbered = |board| (1..=OF_EACH).map(move |number| format!("{board}-{number}"));
    let names: Vec<String> = models.iter().flat_map(|model| numbered(model.board)).collect();
    let stations = names.iter().map(String::as_str).chain(HOSTS).chain(args.station.as_deref());
    let mut air = Air::start(&root.join("air"), stations, args.loss, args.pcap.as_deref())?;
    let boards = names.iter().enumerate().map(|(index, name)| {
        let model = index / OF_EACH;
        Board::start(&models[model], &images[model], name, &root, &air)
    });
    let mut boards = boards.collect::<Result<Vec<_>, _>>()?;
    progress.at(1, "enrolling the boards");
    let mut network = Enrolled::new(&root, &mut boards, HOSTS, &air, args)?;
    progress.at(2, "starting hosts and boards");
    network.start_hosts(keys.as_ref().map(LinkKeys::folder))?;
    for board in &mut boards {
        board.begin(&network.document, &network.authority)?;
    }
    progress.finish();
    let mut traffic = Traffic::new(interval(args), args.seconds);
    let measured = traffic.readings(&mut boards, &interrupted);
    let measured = measured.and_then(|()| traffic.run(&mut boards, &network, &interrupted));
    let asked = measured.and_then(|()| Ok(Boards::ask(&mut boards)?));
    network.stop_hosts();
    let on_air = air.stop();
    let (asked, on_air) = (asked?, on_air?);
    let mut said = String::new();
    if let Some(keys) = &mut keys {
        let station = |name: &String| network.stations.get(name).copied();
        let memories = asked.memory.iter().filter_map(|(name, bytes)| Some((station(name)?, bytes)));
        let boards: Vec<_> = memories.map(|(station, bytes)| Memory { station, bytes }).collect();
        let Opened { with_key, all } = keys::add_of_boards(keys, &boards)?;
        said = format!("frames between boards with a key: {with_key} of {all}\n");
        said.extend(keys.usage());
    }
    let summary = Summary::new(&traffic, asked, &network, on_air)?;
    summary.print(args.json)?;
    if args.json {
        eprint!("{said}");
    } else {
        print(said.as_bytes())?;
    }
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::failed("interrupted"));
    }
    summary.shortfall().map_or(Ok(()), |words| Err(Failure::failed(words)))
}
