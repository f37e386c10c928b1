//! Real time and sockets around the channel.
//!
//! Each station NAME has two Unix stream sockets in a folder:
//!
//! - `NAME.air`, the board's serial line ([`motemix_link::serial`]): radio messages, and console
//!   text between them. One connection at a time; the station leaves the channel when it ends.
//! - `NAME.tty`, the board's console: its text goes to all who are connected, what any of them
//!   types goes to the board. A client that reads too slowly loses text and finds a note of it; the
//!   board waits for nobody.
//!
//! Text is kept in `NAME.log` too. One thread does everything, in rounds: what is due on the
//! channel, what happened, what the sockets take, then waiting.
//!
//! Boards and processes that speak ZEP over UDP join beside them ([`crate::zep`]), and a capture
//! can be written ([`crate::capture`]).
//!
//! A board that joins again on its line begins anew. A board with an address that another one has
//! is refused, and so are its frames.

mod board;
mod console;
mod outgoing;
mod peers;
mod socket;
mod waiting;

pub use board::LineCounters;
pub use peers::ZepCounters;

use crate::Instant;
use crate::capture::Capture;
use crate::channel::{Channel, Counters, Event, Settings};
use board::{Board, READ};
use peers::Peers;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant as Clock, SystemTime, UNIX_EPOCH};

/// A station's name is part of file names.
const NAME_LEN: usize = 64;

/// What to open.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where the stations' sockets are to be; made if it does not exist and there are stations.
    pub dir: PathBuf,
    /// Letters, digits, `-`, `_` and `.`, which does not come first; each once. Those who speak ZEP
    /// are not among them.
    pub stations: Vec<String>,
    /// The channel's settings.
    pub channel: Settings,
    /// All that happens by chance on the channel follows from it and from when frames come.
    pub seed: u64,
    /// Where to write what is on the air, as [`crate::capture`] says; replaces what is there.
    pub capture: Option<PathBuf>,
    /// Where to take [`crate::zep`] datagrams. Whoever can reach it can send to all stations, and
    /// have all frames sent to any address: give it a loopback address.
    pub zep: Option<SocketAddr>,
}

/// Why the air cannot be opened, or ends.
#[derive(Debug, thiserror::Error)]
pub enum AirError {
    /// A name that is no file name, or twice the same.
    #[error("{0:?} cannot be a station: use each name once, with letters, digits, '-', '_' and '.'")]
    Name(String),
    /// Another process serves it.
    #[error("{}: somebody listens there already; end that process or choose another folder", path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// Something else has its name.
    #[error("{}: is no socket; remove it or choose another folder", path.display())]
    NoSocket {
        /// What is there.
        path: PathBuf,
    },
    /// The system refuses a socket; its path may be too long.
    #[error("{}: cannot listen ({source}); a socket's path has at most about 100 bytes", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses a file or folder.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses an address for ZEP.
    #[error(
        "{address}: cannot take ZEP datagrams ({source}); give an address of this machine and a free port"
    )]
    Zep {
        /// Which.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The system does not wait.
    #[error("cannot wait for the sockets: {0}")]
    Wait(io::Error),
}

/// What the stations did.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// In the order of the setup.
    pub stations: Vec<StationReport>,
    /// Counters of those who speak ZEP, together.
    pub zep: Option<ZepReport>,
}

/// What those did who speak ZEP.
#[derive(Clone, Debug, Serialize)]
pub struct ZepReport {
    /// On the channel.
    pub channel: Counters,
    /// In datagrams.
    pub datagrams: ZepCounters,
}

/// What one station did.
#[derive(Clone, Debug, Serialize)]
pub struct StationReport {
    /// As in the setup.
    pub name: String,
    /// On the channel, over all times that it joined.
    pub channel: Counters,
    /// On its serial line.
    pub line: LineCounters,
}

/// A channel with its sockets.
pub struct Server {
    channel: Channel,
    boards: Vec<Board>,
    peers: Option<Peers>,
    capture: Option<Capture<BufWriter<File>>>,
    origin: Clock,
    /// The same moment, since the beginning of 1970.
    origin_in_calendar: Duration,
}

/// Who can be read or written.
#[derive(Clone, Copy)]
enum Source {
    Stop,
    NewLine(usize),
    Line(usize),
    NewClient(usize),
    Client(usize, usize),
    Peers,
}

impl Server {
    /// Opens all sockets. They are removed when the server is dropped.
    ///
    /// # Errors
    /// A name is no file name, somebody listens already, or the system refuses.
    pub fn open(setup: &Setup) -> Result<Self, AirError> {
        for (index, name) in setup.stations.iter().enumerate() {
            let again = setup.stations.iter().take(index).any(|earlier| earlier == name);
            if again || !is_file_name(name) {
                return Err(AirError::Name(name.clone()));
            }
        }
        if !setup.stations.is_empty() {
            fs::create_dir_all(&setup.dir)
                .map_err(|source| AirError::File { path: setup.dir.clone(), source })?;
        }
        let boards = setup.stations.iter().map(|name| Board::open(&setup.dir, name));
        let report_air = setup.channel.report_air || setup.capture.is_some();
        Ok(Self {
            boards: boards.collect::<Result<_, _>>()?,
            peers: setup.zep.map(Peers::open).transpose()?,
            capture: setup.capture.as_deref().map(create_capture).transpose()?,
            channel: Channel::new(Settings { report_air, ..setup.channel }, setup.seed),
            origin: Clock::now(),
            origin_in_calendar: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        })
    }

    /// Where each station's line and console are.
    pub fn sockets(&self) -> impl Iterator<Item = (&str, &Path, &Path)> {
        self.boards
            .iter()
            .map(|board| (board.name.as_str(), board.listener.path(), board.console.listener.path()))
    }

    /// Where ZEP datagrams are taken, with the port that the system chose.
    pub fn zep(&self) -> Option<SocketAddr> {
        self.peers.as_ref()?.local_addr()
    }

    /// What the stations did so far.
    pub fn report(&self) -> Report {
        let station = |board: &Board| StationReport {
            name: board.name.clone(),
            channel: board.counters(&self.channel),
            line: board.line_counters,
        };
        let zep = self.peers.as_ref().map(|peers| ZepReport {
            channel: peers.channel_counters(&self.channel),
            datagrams: peers.counters,
        });
        Report { stations: self.boards.iter().map(station).collect(), zep }
    }

    /// Serves until `stop` can be read or is closed.
    ///
    /// # Errors
    /// The system does not wait for sockets any more.
    pub fn run(&mut self, stop: impl AsFd) -> Result<(), AirError> {
        loop {
            let now = self.now();
            self.channel.handle_timeout(now);
            self.pass_events_on();
            if let Some(peers) = &mut self.peers {
                peers.flush(now);
            }
            for board in &mut self.boards {
                board.flush(now, &mut self.channel);
            }
            for source in self.wait(&stop)? {
                if matches!(source, Source::Stop) {
                    return Ok(());
                }
                self.serve(source);
            }
        }
    }

    fn now(&self) -> Instant {
        Instant::from_micros(u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    fn pass_events_on(&mut self) {
        while let Some(event) = self.channel.poll_event() {
            match event {
                Event::Delivered { to, from, at, frame } => {
                    let (now, at) = (self.now(), self.in_calendar(at));
                    let peers = self.peers.as_mut();
                    if peers.is_some_and(|peers| peers.deliver(now, to, from, at, &frame)) {
                        continue;
                    }
                    if let Some(board) = self.boards.iter_mut().find(|board| board.station() == Some(to)) {
                        board.received(&frame);
                    }
                }
                Event::Done { station, handle, outcome, .. } => {
                    let mut boards = self.boards.iter_mut();
                    if let Some(board) = boards.find(|board| board.station() == Some(station)) {
                        board.done(handle, outcome);
                    }
                }
                Event::OnAir { begin, collided, frame, .. } => {
                    let at = self.in_calendar(begin);
                    self.record(|capture| capture.frame(at, &frame, collided));
                }
            }
        }
        self.record(Capture::flush);
    }

    fn in_calendar(&self, at: Instant) -> Duration {
        self.origin_in_calendar + Duration::from_micros(at.as_micros())
    }

    /// A full disk ends the capture, and not the network.
    fn record(&mut self, write: impl FnOnce(&mut Capture<BufWriter<File>>) -> io::Result<()>) {
        if let Some(Err(error)) = self.capture.as_mut().map(write) {
            tracing::warn!(%error, "the capture ends here");
            self.capture = None;
        }
    }

    /// Waits until something is due or a socket has something.
    fn wait(&self, stop: &impl AsFd) -> Result<Vec<Source>, AirError> {
        let mut sources = vec![Source::Stop];
        let mut fds = vec![PollFd::new(stop, PollFlags::IN)];
        for (index, board) in self.boards.iter().enumerate() {
            sources.push(Source::NewLine(index));
            fds.push(PollFd::new(&board.listener, PollFlags::IN));
            sources.push(Source::NewClient(index));
            fds.push(PollFd::new(&board.console.listener, PollFlags::IN));
            if let Some(line) = &board.line {
                sources.push(Source::Line(index));
                fds.push(PollFd::new(&line.stream, interest(board.is_readable(), !line.out.is_empty())));
            }
            for (number, client) in board.console.clients.iter().enumerate() {
                sources.push(Source::Client(index, number));
                fds.push(PollFd::new(&client.stream, interest(true, !client.out.is_empty())));
            }
        }
        if let Some(peers) = &self.peers {
            sources.push(Source::Peers);
            fds.push(PollFd::new(peers, PollFlags::IN));
        }
        let waiting = self.peers.as_ref().and_then(Peers::poll_timeout);
        let due = self.channel.poll_timeout().into_iter().chain(waiting).min();
        let timeout = due.map(|at| timespec(at - self.now()));
        match poll(&mut fds, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(AirError::Wait(error.into())),
            Ok(_) => {}
        }
        let ready = sources.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|(source, _)| source).collect())
    }

    fn serve(&mut self, source: Source) {
        let now = self.now();
        let mut buffer = [0; READ];
        match source {
            Source::Stop => {}
            Source::NewLine(index) => self.boards[index].accept(now, &mut self.channel),
            Source::NewClient(index) => self.boards[index].console.accept(),
            Source::Line(index) => {
                let board = &mut self.boards[index];
                if board.is_readable() {
                    board.read(now, &mut self.channel, &mut buffer);
                }
                // The board's frames under way are its own; their fates are told before it is read
                // again.
                self.pass_events_on();
            }
            Source::Peers => {
                if let Some(peers) = &mut self.peers {
                    peers.read(now, &mut self.channel);
                }
            }
            Source::Client(index, client) => self.boards[index].typed(client, &mut buffer),
        }
    }
}

fn create_capture(path: &Path) -> Result<Capture<BufWriter<File>>, AirError> {
    let create = || {
        let mut capture = Capture::new(BufWriter::new(File::create(path)?))?;
        capture.flush()?;
        Ok(capture)
    };
    create().map_err(|source| AirError::File { path: path.to_owned(), source })
}

fn is_file_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=NAME_LEN).contains(&name.len()) && !name.starts_with('.') && name.chars().all(allowed)
}

fn interest(read: bool, write: bool) -> PollFlags {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, read);
    flags.set(PollFlags::OUT, write);
    flags
}

fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}
