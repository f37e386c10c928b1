//! `motemix-lab boards link`: emulated boards and hosts that have never met, without a network.
//!
//! ```text
//! images ─ air ─ boards, each asked who it is ─ each admits the others ─ exchanges ─ report
//!          hosts: `motemix link router`, `motemix link sensor` ─────────────┘
//! ```

mod host;
mod neighbour;
mod report;

use super::emulated::{Air, Board, check_installed, folder};
use super::programs_for;
use crate::cli::BoardsLink as Args;
use crate::failure::Failure;
use crate::firmware::{Program, Purpose};
use crate::program::{self, on_interrupt};
use crate::report::{self as output, Progress};
use host::{Router, Sensor, identity_of};
use neighbour::Neighbour;
use report::{Exchange, Summary};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The stations of the hosts: who receives, and who sends.
const HOSTS: [&str; 2] = ["router", "sensor"];
/// If no board is named, these: with the core of the paper's boards, and with a faster one.
const BOARDS: [&str; 2] = ["an385", "an386"];
const MOST_BOARDS: usize = 4;
/// For a message: each try of a datagram waits five seconds at a board, and there may be nine, of
/// the boards' own time: emulated ones share this machine's cores.
const PATIENCE: Duration = Duration::from_mins(5);
const LISTEN_EVERY: Duration = Duration::from_millis(5);

pub fn link(args: &Args) -> Result<(), Failure> {
    check_installed()?;
    program::of_nodes()?;
    let interrupted = on_interrupt()?;
    let (_folder, root) = folder(args.keep.as_deref())?;
    let models = models(args)?;
    let images = args.firmware.origin()?.images(&models)?;
    let mut progress = Progress::new(2);
    progress.at(0, "starting the boards");
    let names: Vec<_> =
        (1..).zip(&models).map(|(number, model)| format!("{}-{number}", model.board)).collect();
    let stations = names.iter().map(String::as_str).chain(HOSTS).chain(args.station.as_deref());
    let mut air = Air::start(&root.join("air"), stations, args.loss, args.pcap.as_deref())?;
    let mut boards = Vec::new();
    for ((model, image), name) in models.iter().zip(&images).zip(&names) {
        boards.push(Neighbour::meet(Board::start(model, image, name, &root, &air)?, !args.json)?);
    }
    progress.at(1, "introducing them");
    introduce(args, &root, &mut boards)?;
    progress.finish();
    let mut run = Run { args, interrupted: &interrupted, exchanges: Vec::new() };
    run.between_boards(&mut boards)?;
    let router = Router::start(args, &air.line(HOSTS[0]), &root, &boards)?;
    run.boards_to_host(&mut boards, router)?;
    if let Some(last) = boards.last_mut() {
        let sensor = Sensor::start(args, &air.line(HOSTS[1]), &root, last)?;
        run.host_to_board(last, sensor)?;
    }
    let asked = Summary::ask(&mut boards)?;
    let summary = Summary::new(args.mode, run.exchanges, asked, air.stop()?);
    summary.print(args.json)?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::failed("interrupted"));
    }
    summary.shortfall().map_or(Ok(()), |words| Err(Failure::failed(words)))
}

/// The programs of the boards that are named.
fn models(args: &Args) -> Result<Vec<Program>, Failure> {
    let known = programs_for(&[Purpose::Link])?;
    let named: Vec<_> = match &args.boards[..] {
        [] => BOARDS.to_vec(),
        named => named.iter().map(String::as_str).collect(),
    };
    if !(2..=MOST_BOARDS).contains(&named.len()) {
        return Err(Failure::broken(format!("--board: two to {MOST_BOARDS} boards can be neighbours here")));
    }
    let model = |name: &str| {
        let boards: Vec<_> = known.iter().map(|program| program.board).collect();
        known.iter().find(|program| program.board == name).copied().ok_or_else(|| {
            Failure::broken(format!("there is no board {name}; the boards are {}", boards.join(", ")))
        })
    };
    named.into_iter().map(model).collect()
}

/// Tells each board the identities of its neighbours.
fn introduce(args: &Args, root: &Path, boards: &mut [Neighbour]) -> Result<(), Failure> {
    let hosts = [identity_of(root, HOSTS[0])?, identity_of(root, HOSTS[1])?];
    let mode = host::word(args.mode);
    for index in 0..boards.len() {
        let next = boards[(index + 1) % boards.len()].identity.clone();
        let before = boards[(index + boards.len() - 1) % boards.len()].identity.clone();
        let Some(board) = boards.get_mut(index) else { continue };
        for identity in hosts.iter().chain([&next, &before]) {
            board.ask(&format!("admit {identity}"))?;
        }
        board.ask(&format!("speak {mode}"))?;
    }
    Ok(())
}

struct Run<'a> {
    args: &'a Args,
    interrupted: &'a AtomicBool,
    exchanges: Vec<Exchange>,
}

impl Run<'_> {
    /// Two sensors without a router: each board sends to the next one.
    fn between_boards(&mut self, boards: &mut [Neighbour]) -> Result<(), Failure> {
        for index in 0..boards.len() {
            let next = (index + 1) % boards.len();
            let (from, to) = (index, next);
            let address = boards[to].address;
            boards[from].ask(&format!("to {address}"))?;
            let mut exchange = Exchange::new(boards[from].name(), boards[to].name());
            for text in self.texts(boards[from].name()) {
                if self.is_interrupted() {
                    break;
                }
                let begun = Instant::now();
                boards[from].ask(&format!("send {text}"))?;
                exchange.sent += 1;
                let is_heard = self.wait(|| {
                    boards[to].listen()?;
                    boards[from].listen()?;
                    Ok(boards[from].is_done() && (boards[to].has_heard(&text) || boards[from].has_failed()))
                })?;
                exchange.heard += u64::from(is_heard && boards[to].takes(&text));
                exchange.count(boards[from].outcome(), begun);
                sleep(self.args.interval);
            }
            self.exchanges.push(exchange);
        }
        Ok(())
    }

    /// Each board sends to the host that is a router.
    fn boards_to_host(&mut self, boards: &mut [Neighbour], mut router: Router) -> Result<(), Failure> {
        for board in boards {
            board.ask(&format!("to {}", router.address))?;
            let mut exchange = Exchange::new(board.name(), HOSTS[0]);
            for text in self.texts(board.name()) {
                if self.is_interrupted() {
                    break;
                }
                let begun = Instant::now();
                board.ask(&format!("send {text}"))?;
                exchange.sent += 1;
                let is_heard = self.wait(|| {
                    board.listen()?;
                    Ok(board.is_done() && (router.has_heard(&text) || board.has_failed()))
                })?;
                exchange.heard += u64::from(is_heard && router.has_heard(&text));
                exchange.count(board.outcome(), begun);
                sleep(self.args.interval);
            }
            self.exchanges.push(exchange);
        }
        Ok(())
    }

    /// The other host sends to a board.
    fn host_to_board(&mut self, board: &mut Neighbour, mut sensor: Sensor) -> Result<(), Failure> {
        let mut exchange = Exchange::new(HOSTS[1], board.name());
        for text in self.texts(HOSTS[1]) {
            if self.is_interrupted() {
                break;
            }
            let begun = Instant::now();
            sensor.say(&text)?;
            exchange.sent += 1;
            let is_heard = self.wait(|| {
                board.listen()?;
                Ok(sensor.is_done()? && board.has_heard(&text))
            })?;
            exchange.heard += u64::from(is_heard && board.takes(&text));
            exchange.count(sensor.outcome(), begun);
            sleep(self.args.interval);
        }
        self.exchanges.push(exchange);
        Ok(())
    }

    fn texts(&self, from: &str) -> Vec<String> {
        (1..=self.args.messages).map(|number| format!("reading {number} of {from}")).collect()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Whether it came true in time.
    fn wait(&self, mut is_there: impl FnMut() -> Result<bool, Failure>) -> Result<bool, Failure> {
        let until = Instant::now() + PATIENCE;
        while !self.is_interrupted() && Instant::now() < until {
            if is_there()? {
                return Ok(true);
            }
            sleep(LISTEN_EVERY);
        }
        Ok(false)
    }
}

/// A line of somebody's console, for a person.
fn show(who: &str, line: &str) -> Result<(), Failure> {
    Ok(output::print(format!("{who:<12} {}\n", output::printable(line)).as_bytes())?)
}
