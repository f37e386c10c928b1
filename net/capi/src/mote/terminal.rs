//! The mote's own console: a line that was typed, and what the mote answers.
//!
//! A program that has its own commands has none of this text in its flash. The compiler puts the
//! text of formats into one section, which a linker keeps as a whole. So it must not be in the
//! library at all: `--cfg motemix_without_console` leaves this module out.

use motemix_mote::{Console, KeyMaker, News, StartAsked};
use motemix_node::Instant;

use super::face::call_with_keys;
use super::link::Sockets;
use super::memory::{Inner, MoteHandle};
use super::platform::Platform;
use super::readings::Lent;
use crate::entered::Entered;
use crate::limits::PACKET_LEN;
use crate::raw;
use crate::status::Status;
use crate::wiped;

/// Does what a line says that somebody typed: `len` characters without the end of the line. What
/// the mote answers, it prints; `help` lists the commands, docs/spec/mote.md specifies them. Poll
/// the mote afterwards. A library that was built with `--cfg motemix_without_console` has no such
/// call.
///
/// # Safety
/// As for all calls; `line` is null or valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_command(
    mote: *mut MoteHandle,
    now_us: u64,
    line: *const u8,
    len: usize,
) -> Status {
    call_with_keys::<{ wiped::START }>(|| {
        // SAFETY: the caller's promise.
        let (mut mote, line) = unsafe { (Entered::new(mote)?, raw::bytes(line, len)?) };
        mote.command(Instant::from_micros(now_us), line)
    })
}

impl Inner {
    /// Obeys one line.
    fn command(&mut self, now: Instant, line: &[u8]) -> Result<(), Status> {
        if self.runs {
            return self.command_running(now, line);
        }
        let Some(asked) = self.command_standing(now, line)? else { return Ok(()) };
        let started = self.begin(now, asked);
        self.answer(now, started);
        Ok(())
    }

    // Not inlined, nor are the next two: nothing of them may lie on the stack beneath a start.
    #[inline(never)]
    fn command_running(&mut self, now: Instant, line: &[u8]) -> Result<(), Status> {
        // It borrows nothing that lasts, and callbacks need a platform that no part overlaps.
        let platform = self.platform;
        let mut counters = self.link;
        let sockets = Sockets {
            platform: &platform,
            counters: &mut counters,
            neighbours: None,
            has_met: false,
            waiting: None,
        };
        let mut terminal = Terminal::new(&platform, self.readings, now, line);
        let running = self.running()?;
        running.attend(now, &mut terminal, &sockets, &mut [0; PACKET_LEN]);
        if running.is_stopped() {
            self.stop();
        }
        Ok(())
    }

    #[inline(never)]
    fn command_standing(&mut self, now: Instant, line: &[u8]) -> Result<Option<StartAsked>, Status> {
        let platform = self.platform;
        // SAFETY: the mote stands.
        let scratch = unsafe { self.document() };
        let mut terminal = Terminal::new(&platform, self.readings, now, line);
        Ok(self.standing()?.attend(now, &mut terminal, scratch))
    }

    /// Says what became of a start that was typed.
    #[inline(never)]
    fn answer(&self, now: Instant, started: Result<(), motemix_mote::Refusal>) {
        use core::fmt::Write as _;
        let mut terminal = Terminal::new(&self.platform, None, now, &[]);
        // A terminal takes everything.
        let _ = match started {
            Ok(()) => Text(&mut terminal).write_str("ok\n"),
            Err(refusal) => writeln!(Text(&mut terminal), "error: {refusal}"),
        };
    }
}

/// A line that was typed, and a callback for the answer.
struct Terminal<'c> {
    platform: &'c Platform,
    readings: Option<Lent>,
    now: Instant,
    /// What is still to be read of the line.
    line: &'c [u8],
    /// Whether the line still has to be ended.
    is_open: bool,
}

impl<'c> Terminal<'c> {
    /// One line, without its end.
    const fn new(platform: &'c Platform, readings: Option<Lent>, now: Instant, line: &'c [u8]) -> Self {
        Self { platform, readings, now, line, is_open: true }
    }
}

impl Console for Terminal<'_> {
    const EXCHANGES: bool = super::EXCHANGES;

    fn read(&mut self) -> Option<u8> {
        if let Some((first, rest)) = self.line.split_first() {
            self.line = rest;
            return Some(*first);
        }
        core::mem::take(&mut self.is_open).then_some(b'\n')
    }

    fn key_maker(&self) -> Option<KeyMaker> {
        // SAFETY: nobody else uses them while a line is obeyed.
        self.readings.map(|readings| unsafe { readings.get() }.key_maker())
    }

    fn notice(&mut self, news: News<'_>) {
        if let (News::ReadingsAsked { to, seconds }, Some(readings)) = (news, self.readings) {
            // SAFETY: the same.
            unsafe { readings.get() }.ask(self.now, to, seconds);
        }
    }

    fn write(&mut self, text: &str) {
        if let Some(print) = self.platform.print {
            // SAFETY: motemix_mote_open asks that the callback can be called for as long as the
            // mote is there; it reads as many bytes.
            unsafe { print(self.platform.context, text.as_ptr(), text.len()) }
        }
    }
}

/// A terminal, for `write!`.
struct Text<'t, 'c>(&'t mut Terminal<'c>);

impl core::fmt::Write for Text<'_, '_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.write(text);
        Ok(())
    }
}
