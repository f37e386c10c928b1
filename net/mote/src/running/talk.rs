//! What is said to a mote that runs, and what it answers.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_link::counters::LinkDrop;
use motemix_node::{DropReason, Instant, MessageHandle, SendError};
use motemix_sphinx::{NodeId, Profile};
use rand_core::CryptoRng;

use super::{LOOPS_LOST, Running};
use crate::command::Command;
use crate::console::{Console, Ended, LINE_LEN, News, say};
use crate::link::Link;
use crate::mote::talk::print_help;
use crate::store::StoreError;

/// Writes a number in decimal. What formats numbers otherwise takes a kilobyte of flash, and a
/// board without a console has no other use for it.
fn decimal(mut number: u32, out: &mut heapless::Vec<u8, 128>) {
    let mut digits = [b'0'; 10];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    // There is room for all digits of any number.
    let _ = out.extend_from_slice(&digits[first..]);
}

/// What is left to do of a line.
#[derive(PartialEq, Eq)]
enum Heard {
    Done,
    DocumentEnd,
}

/// Why a message does not leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotSent {
    /// The network document has expired.
    Expired,
    /// The network has no node of that name.
    UnknownName,
    /// No sequence number can be reserved in flash.
    Store(StoreError),
    /// The node refuses it.
    Refused(SendError),
}

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone> Running<'_, P, F, R> {
    /// Does what one line of the console says; what was typed behind it may be meant for a mote
    /// that stands still. `true` if there was a line. [`poll`](Self::poll) does it as well.
    #[inline(never)]
    pub fn attend<L: Link, C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        link: &L,
        scratch: &mut [u8],
    ) -> bool {
        for _ in 0..=LINE_LEN {
            let Some(character) = console.read() else { return false };
            match self.mote.line.push(character) {
                None => continue,
                Some(Ended::Unread(reason)) => say!(console, "error: {}", reason.words()),
                Some(Ended::Line) => {
                    if self.hear(now, console, link, scratch) == Heard::DocumentEnd {
                        self.end_document(now, console);
                    }
                }
            }
            break;
        }
        true
    }

    // Not inlined: the line must not lie on the stack beneath a check of signatures.
    #[inline(never)]
    fn hear<L: Link, C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        link: &L,
        scratch: &mut [u8],
    ) -> Heard {
        let said = self.mote.line.take();
        match Command::read(said.text()) {
            Ok(Command::Stop) => {
                self.stopped = true;
                say!(console, "ok");
            }
            Ok(Command::Start) => say!(console, "ok"),
            Ok(Command::Send { to, text }) => self.send_text(now, to, text, console),
            Ok(Command::Inbox) => self.mote.inbox(console, scratch, Some(&self.network.name)),
            Ok(Command::Authorise { name, introduction, number }) => {
                self.mote.authorise(name, introduction, number, console);
            }
            Ok(Command::Devices) => self.mote.print_devices(console),
            Ok(Command::Status) => self.status(console, link),
            Ok(Command::Key(epoch)) => self.mote.key(epoch, console),
            Ok(Command::Identity) => self.mote.print_identity(console),
            Ok(Command::Readings { to, seconds }) => self.ask_for_readings(to, seconds, console),
            Ok(Command::DocumentBegin) => self.begin_document(console),
            Ok(Command::DocumentPiece(piece)) => self.take_piece(piece, console),
            Ok(Command::DocumentEnd) => return Heard::DocumentEnd,
            Ok(Command::Help) => print_help(console),
            Ok(_) => say!(console, "error: the node runs; `stop` it first"),
            Err(misread) => say!(console, "error: {misread}"),
        }
        Heard::Done
    }

    /// The node of this name.
    pub fn named(&self, name: &str) -> Option<NodeId> {
        let mut routes = self.routes.iter().take(self.network.nodes);
        routes.position(|route| route.is_named(name)).and_then(|id| NodeId::new(id as u16))
    }

    #[inline(never)]
    fn ask_for_readings<C: Console>(&mut self, to: &str, seconds: u32, console: &mut C) {
        if console.key_maker().is_none() {
            return say!(console, "error: this mote signs no readings");
        }
        let receiver = if seconds == 0 { None } else { self.named(to) };
        if seconds > 0 && receiver.is_none() {
            return say!(console, "error: the network has no node {to}; `stop` and `network` list them");
        }
        console.notice(News::ReadingsAsked { to: receiver, seconds });
        say!(console, "ok");
    }

    #[inline(never)]
    fn send_text<C: Console>(&mut self, now: Instant, to: &str, text: &str, console: &mut C) {
        match self.send_to(now, to, text.as_bytes()) {
            Ok((handle, sequence)) => {
                say!(console, "sent {} with sequence number {sequence}", handle.number());
                if self.said().drops() {
                    say!(console, "{}", self.said());
                }
            }
            Err(NotSent::Expired) => {
                say!(console, "error: the network document has expired; {}", self.remedy());
            }
            Err(NotSent::UnknownName) => {
                say!(console, "error: the network has no node {to}; `stop` and `network` list them");
            }
            Err(NotSent::Store(error)) => say!(console, "error: {error}"),
            Err(NotSent::Refused(error)) => say!(console, "error: {error}"),
        }
    }

    /// Sends a message to the node of this name, with a sequence number that was never used before
    /// and a space in front of `data`. The message's handle, and its sequence number.
    ///
    /// # Errors
    /// See [`NotSent`].
    #[inline(never)]
    pub fn send_to(&mut self, now: Instant, to: &str, data: &[u8]) -> Result<(MessageHandle, u32), NotSent> {
        if self.expiry.is_silent() {
            return Err(NotSent::Expired);
        }
        let receiver = self.named(to).ok_or(NotSent::UnknownName)?;
        // A number is used up even if the message is refused: it must never come twice.
        let sequence = self.mote.store.next_sequence().map_err(NotSent::Store)?;
        let mut message = heapless::Vec::<u8, 128>::new();
        // One that is too long for the memory here is longer than a packet carries.
        let too_long = NotSent::Refused(SendError::TooLong { most: P::GEOMETRY.data_len() });
        decimal(sequence, &mut message);
        message
            .extend_from_slice(b" ")
            .and_then(|()| message.extend_from_slice(data))
            .map_err(|_| too_long)?;
        let handle = self.node.send(now, receiver, &message).map_err(NotSent::Refused)?;
        Ok((handle, sequence))
    }

    #[inline(never)]
    fn status<L: Link, C: Console>(&mut self, console: &mut C, link: &L) {
        let link = link.counters();
        say!(console, "the node runs");
        let (received, sent, given_up) = (link.received, link.sent, link.given_up());
        say!(console, "datagrams {received} in, {sent} out, {given_up} given up");
        for &reason in LinkDrop::ALL {
            let dropped = link.dropped(reason);
            if dropped > 0 {
                say!(console, "link dropped {reason} {dropped}");
            }
        }
        let counters = self.node.counters();
        for (name, count) in [
            ("sent", counters.sent),
            ("acknowledged", counters.acknowledged),
            ("retransmitted", counters.retransmitted),
            ("discarded", counters.discarded),
            ("forwarded", counters.forwarded),
            ("delivered", counters.delivered),
            ("headers built", counters.headers_built),
        ] {
            say!(console, "{name} {count}");
        }
        for &reason in DropReason::ALL {
            let dropped = counters.dropped(reason);
            if dropped > 0 {
                say!(console, "dropped {reason} {dropped}");
            }
        }
        if self.node.loop_alarm().sounds() {
            say!(console, "loops lost {} of {}; {LOOPS_LOST}", counters.loops_lost, counters.loops_sent);
        }
        if self.said().is_news() {
            say!(console, "{}", self.said());
        }
        if C::DEVICES > 0 {
            self.mote.print_judged(console);
        }
        let fill = self.node.replay_fill().current;
        say!(console, "ok replay tags {} of {}", fill.tags, fill.capacity);
    }
}
