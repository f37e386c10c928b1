//! What is said to a mote that runs, and what it answers.

use core::fmt::Write as _;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_link::counters::LinkDrop;
use motemix_link::stack::Stack;
use motemix_node::{DropReason, Instant, SendError};
use motemix_sphinx::{NodeId, Profile};
use rand_core::CryptoRng;

use super::Running;
use crate::command::Command;
use crate::console::{Console, Ended, LINE_LEN, or_say, say};

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone> Running<'_, P, F, R> {
    /// Does what one line of the console says; what was typed behind it may be meant for a mote
    /// that stands still. `true` if there was a line.
    #[inline(never)]
    pub(super) fn heed<C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        stack: &mut Stack<'_>,
        scratch: &mut [u8],
    ) -> bool {
        for _ in 0..=LINE_LEN {
            let Some(character) = console.read() else { return false };
            match self.mote.line.push(character) {
                None => continue,
                Some(Ended::TooLong) => say!(console, "error: the line is too long and was not read"),
                Some(Ended::Line) => {
                    let line = self.mote.line.take();
                    match Command::read(line.text()) {
                        Ok(Command::Stop) => {
                            self.stopped = true;
                            say!(console, "ok");
                        }
                        Ok(Command::Start) => say!(console, "ok"),
                        Ok(Command::Send { to, text }) => self.send_text(now, to, text, console),
                        Ok(Command::Inbox) => self.mote.inbox(console, scratch),
                        Ok(Command::Status) => self.status(console, stack),
                        Ok(Command::Key(epoch)) => self.mote.key(epoch, console),
                        Ok(Command::DocumentBegin) => self.begin_document(console),
                        Ok(Command::DocumentPiece(piece)) => self.take_piece(piece, console),
                        Ok(Command::DocumentEnd) => self.end_document(now, console),
                        Ok(Command::Help) => say!(console, "{}", crate::command::HELP),
                        Ok(_) => say!(console, "error: the node runs; `stop` it first"),
                        Err(misread) => say!(console, "error: {misread}"),
                    }
                }
            }
            break;
        }
        true
    }

    #[inline(never)]
    fn send_text<C: Console>(&mut self, now: Instant, to: &str, text: &str, console: &mut C) {
        if self.expiry.is_silent() {
            return say!(console, "error: the network document has expired; {}", self.remedy());
        }
        let mut routes = self.routes.iter().take(self.network.nodes);
        let receiver = routes.position(|route| route.is_named(to)).and_then(|id| NodeId::new(id as u16));
        let Some(receiver) = receiver else {
            return say!(console, "error: the network has no node {to}; `stop` and `network` list them");
        };
        // A number is used up even if the message is refused: it must never come twice.
        let sequence = or_say!(console, self.mote.store.next_sequence());
        let mut message = heapless::String::<128>::new();
        // One that is too long for the memory here is longer than a packet carries.
        let whole = write!(message, "{sequence} {text}")
            .map_err(|_| SendError::TooLong { most: P::GEOMETRY.data_len() });
        match whole.and_then(|()| self.node.send(now, receiver, message.as_bytes())) {
            Ok(handle) => {
                say!(console, "sent {} with sequence number {sequence}", handle.number());
                if self.said().drops() {
                    say!(console, "{}", self.said());
                }
            }
            Err(error) => say!(console, "error: {error}"),
        }
    }

    #[inline(never)]
    fn status<C: Console>(&mut self, console: &mut C, stack: &Stack<'_>) {
        let link = stack.counters();
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
        if self.said().is_news() {
            say!(console, "{}", self.said());
        }
        let fill = self.node.replay_fill().current;
        say!(console, "ok replay tags {} of {}", fill.tags, fill.capacity);
    }
}
