//! A board's line: radio messages and console text.

use super::AirError;
use super::console::Console;
use super::socket::{Listener, limit_send_buffer};
use super::waiting::Waiting;
use crate::Instant;
use crate::channel::{Channel, Counters, JoinError, Station};
use crate::frame::Frame;
use motemix_link::serial::{Decoder, ExtendedAddress, Item, MAX_ON_LINE, Message, Outcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// What a receiver on the line is told of every frame: the model knows no distances.
const LINK_QUALITY: u8 = 255;
const SIGNAL_DBM: i8 = -50;
/// Bytes of received frames that wait for a board, and characters of typed text; further ones are
/// dropped.
const ARRIVING: usize = 32 << 10;
/// With the fates of its frames. A board that sends without reading is read no further then.
const WAITING: usize = 64 << 10;
/// Bytes read of a board at a time. Fates of what is in it fit between the two limits above: the
/// shortest message has six bytes, its answer at most 12.
pub(super) const READ: usize = 4 << 10;

/// What went wrong on a board's line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct LineCounters {
    /// Messages that were cut off, too long, or not what their check says.
    pub damaged: u64,
    /// Messages that only a radio sends.
    pub misplaced: u64,
    /// Frames to send before the board joined.
    pub not_joined: u64,
    /// Joins that were refused: another board has the address, or the channel is full.
    pub join_refused: u64,
    /// Frames that arrived and typed text, in pieces, for which the board had no room.
    pub overrun: u64,
    /// Connections that were closed because the board had one already.
    pub second_connections: u64,
}

/// One board.
pub(super) struct Board {
    pub name: String,
    pub listener: Listener,
    pub console: Console,
    pub line: Option<Line>,
    pub line_counters: LineCounters,
    /// Counters of its stations that left.
    past: Counters,
}

/// A connection to a board.
pub(super) struct Line {
    pub stream: UnixStream,
    pub out: Waiting,
    decoder: Decoder,
    pub station: Option<(Station, ExtendedAddress)>,
}

impl Board {
    pub fn open(dir: &Path, name: &str) -> Result<Self, AirError> {
        Ok(Self {
            name: name.to_owned(),
            listener: Listener::bind(dir.join(format!("{name}.air")))?,
            console: Console::open(dir, name)?,
            line: None,
            line_counters: LineCounters::default(),
            past: Counters::default(),
        })
    }

    /// The counters of all its stations, one after the other.
    pub fn counters(&self, channel: &Channel) -> Counters {
        let mut sum = self.past;
        sum += self.station().and_then(|station| channel.counters(station)).copied().unwrap_or_default();
        sum
    }

    pub fn station(&self) -> Option<Station> {
        Some(self.line.as_ref()?.station?.0)
    }

    /// Whether the board may be read, or has so much to read itself that it has to do that first.
    pub fn is_readable(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.out.message_bytes() <= ARRIVING)
    }

    pub fn accept(&mut self, now: Instant, channel: &mut Channel) {
        while let Some(stream) = self.listener.accept() {
            // An emulator that was killed and started again must not be refused because of itself.
            if self.line.as_ref().is_some_and(Line::is_deserted) {
                self.read_to_the_end(now, channel);
            }
            if self.line.is_some() {
                self.line_counters.second_connections += 1;
                tracing::warn!(board = self.name, "a second connection was closed; one board a socket");
                continue;
            }
            limit_send_buffer(&stream);
            let (out, decoder) = (Waiting::default(), Decoder::new());
            self.line = Some(Line { stream, out, decoder, station: None });
        }
    }

    /// Takes in what the board says.
    pub fn read(&mut self, now: Instant, channel: &mut Channel, buffer: &mut [u8; READ]) {
        let Some(line) = &mut self.line else { return };
        match line.stream.read(buffer) {
            Ok(0) => self.hang_up(now, channel),
            Ok(len) => self.take_in(now, channel, buffer.get(..len).unwrap_or_default()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.hang_up(now, channel),
        }
    }

    /// What a board left on a line that it closed: no more than the socket holds.
    fn read_to_the_end(&mut self, now: Instant, channel: &mut Channel) {
        let mut buffer = [0; READ];
        while self.line.is_some() {
            self.read(now, channel, &mut buffer);
        }
    }

    fn take_in(&mut self, now: Instant, channel: &mut Channel, bytes: &[u8]) {
        let Some(line) = &mut self.line else { return };
        let damaged = line.decoder.damaged();
        let mut text = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            match line.decoder.push(byte) {
                None => {}
                Some(Item::Text(character)) => text.push(character),
                Some(Item::Message(Message::Join(address))) => {
                    if let Some((station, _)) = line.station.take() {
                        // The board began anew.
                        self.past += channel.counters(station).copied().unwrap_or_default();
                        channel.leave(now, station);
                    }
                    match channel.join(now, address) {
                        Ok(station) => line.station = Some((station, address)),
                        Err(error) => {
                            self.line_counters.join_refused += 1;
                            report_refusal(&self.name, error);
                        }
                    }
                }
                Some(Item::Message(Message::Transmit { handle, frame })) => {
                    if let Some((station, _)) = line.station {
                        channel.transmit(now, station, handle, frame);
                    } else {
                        self.line_counters.not_joined += 1;
                        line.say(&Message::Done { handle, outcome: Outcome::Refused }, WAITING);
                    }
                }
                Some(Item::Message(Message::Received { .. } | Message::Done { .. })) => {
                    self.line_counters.misplaced += 1;
                }
            }
        }
        self.line_counters.damaged += u64::from(line.decoder.damaged().wrapping_sub(damaged));
        self.console.show(&text);
    }

    pub fn received(&mut self, frame: &Frame) {
        let Some(line) = &mut self.line else { return };
        let message =
            Message::Received { link_quality: LINK_QUALITY, signal: SIGNAL_DBM, frame: frame.bytes() };
        if !line.say(&message, ARRIVING) {
            self.line_counters.overrun += 1;
        }
    }

    pub fn done(&mut self, handle: u8, outcome: Outcome) {
        if let Some(line) = &mut self.line {
            line.say(&Message::Done { handle, outcome }, WAITING);
        }
    }

    /// What somebody at the console typed.
    pub fn typed(&mut self, client: usize, buffer: &mut [u8]) {
        let Self { console, line, line_counters, .. } = self;
        console.typed(client, buffer, |character| {
            let taken = line.as_mut().is_some_and(|line| line.out.type_in(character, ARRIVING));
            if !taken {
                line_counters.overrun += 1;
            }
        });
    }

    pub fn flush(&mut self, now: Instant, channel: &mut Channel) {
        self.console.flush();
        if let Some(line) = &mut self.line
            && line.out.flush(&line.stream).is_err()
        {
            self.hang_up(now, channel);
        }
    }

    fn hang_up(&mut self, now: Instant, channel: &mut Channel) {
        if let Some((station, _)) = self.line.take().and_then(|line| line.station) {
            self.past += channel.counters(station).copied().unwrap_or_default();
            channel.leave(now, station);
        }
    }
}

impl Line {
    /// Whether the other end is closed, read to its end or not.
    fn is_deserted(&self) -> bool {
        let mut fds = [PollFd::new(&self.stream, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().contains(PollFlags::HUP)
    }

    fn say(&mut self, message: &Message<'_>, most: usize) -> bool {
        let mut bytes = Vec::with_capacity(MAX_ON_LINE);
        message.write(|byte| bytes.push(byte));
        self.out.say(bytes, most)
    }
}

fn report_refusal(board: &str, error: JoinError) {
    tracing::warn!(board, %error, "a board cannot join");
}
