//! What each command does.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_crypto::{Curve as _, Compact, Secret};
use motemix_directory::{Entry, Epoch, KeyRatchet, Role, UnixTime};
use motemix_link::stack::{PORT, link_local};
use motemix_node::{Config, DropReason, Instant, Node};
use motemix_sphinx::{MixKey, NodeId};
use rand_core::CryptoRng;

use crate::application::{Application, ClockOffset};
use crate::command::{Command, HELP, Hex, read_hex};
use crate::console::{Console, say};
use crate::network::{Network, Trust, radio_address};

/// Prints an error and ends the command.
macro_rules! or_say {
    ($console:expr, $result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => {
                say!($console, "error: {error}");
                return;
            }
        }
    };
}

impl<F: MultiwriteNorFlash, R: CryptoRng + Clone> Application<'_, F, R> {
    /// Does what the line says.
    pub(crate) fn obey<C: Console>(&mut self, now: Instant, console: &mut C) {
        // The line is done with when its command ends, and some commands need all of the application.
        let line = core::mem::replace(&mut self.line, crate::console::Line::new());
        match or_say!(console, Command::read(line.text())) {
            Command::Help => say!(console, "{HELP}"),
            Command::Key(epoch) => self.key(epoch, console),
            Command::Trust { threshold, keys, count } => {
                self.trust(Trust { threshold, keys, count }, console)
            }
            Command::Time(time) => {
                self.clock = Some(ClockOffset(time.0.saturating_sub(now.as_micros() / 1_000_000)));
                say!(console, "ok");
            }
            Command::DocumentBegin => {
                self.document = Some(0);
                say!(console, "ok");
            }
            Command::DocumentPiece(piece) => self.take_piece(piece, console),
            Command::DocumentEnd => self.take_document(now, console),
            Command::Network => self.print_network(console),
            Command::Start => self.start(now, console),
            Command::Stop => {
                self.running = false;
                say!(console, "ok");
            }
            Command::Send { to, text } => self.send(now, to, text, console),
            Command::Inbox => self.inbox(console),
            Command::Status => self.status(console),
        }
    }

    fn key<C: Console>(&mut self, epoch: Epoch, console: &mut C) {
        if self.ratchet.epoch() == Epoch(0) && epoch != Epoch(0) {
            // A key that has not been used has no epoch yet; it begins with its first.
            self.ratchet = KeyRatchet::new(epoch, Secret::new(*self.ratchet.expose_seed()));
            or_say!(console, self.store.keep_ratchet(&self.ratchet));
        }
        let key = Compact::public_key(&or_say!(console, self.ratchet.mix_secret(epoch)));
        say!(console, "address [{}]:{PORT} key {}", link_local(self.address), Hex(&key.0));
    }

    fn trust<C: Console>(&mut self, trust: Trust, console: &mut C) {
        let keys = trust.keys.get(..trust.count).unwrap_or_default();
        or_say!(console, self.store.keep_authorities(trust.threshold, keys));
        self.trust = Some(trust);
        say!(console, "ok");
    }

    fn take_piece<C: Console>(&mut self, piece: &str, console: &mut C) {
        let Some(len) = self.document else {
            return say!(console, "error: a document begins with `document begin`");
        };
        let free = self.scratch.get_mut(len..).unwrap_or_default();
        let added = read_hex(piece, free);
        self.document = added.map(|added| len + added);
        if let Some(len) = self.document {
            say!(console, "ok {len}");
        } else {
            let room = self.scratch.len();
            say!(console, "error: not hex digits in pairs, or more than {room} bytes in all; begin again");
        }
    }

    /// Checks a document before it is kept, so that a wrong one never takes the place of the right one.
    fn take_document<C: Console>(&mut self, now: Instant, console: &mut C) {
        let Some(len) = self.document.take() else {
            return say!(console, "error: a document begins with `document begin`");
        };
        let Some(time) = self.time(now, console) else { return };
        let newest = or_say!(console, self.store.newest_epoch());
        let Some(trust) = &self.trust else {
            return say!(console, "error: no authority is trusted yet; see `help` for `trust`");
        };
        let bytes = self.scratch.get(..len).unwrap_or_default();
        let document = or_say!(console, trust.admit(bytes, time, newest));
        let (epoch, nodes) = (document.epoch(), document.node_count());
        or_say!(console, self.store.keep_document(bytes));
        or_say!(console, self.store.keep_newest_epoch(epoch));
        if self.running {
            self.begin_epoch(now, time, console);
        }
        say!(console, "ok epoch {epoch}, {nodes} nodes");
    }

    fn time<C: Console>(&self, now: Instant, console: &mut C) -> Option<UnixTime> {
        if self.clock.is_none() {
            say!(console, "error: the clock is not set; see `help` for `time`");
        }
        self.clock.map(|clock| clock.at(now))
    }

    fn start<C: Console>(&mut self, now: Instant, console: &mut C) {
        let Some(time) = self.time(now, console) else { return };
        if self.network.is_none() && !self.begin_epoch(now, time, console) {
            return;
        }
        self.running = true;
        say!(console, "ok");
    }

    /// Begins the epoch of the document in flash.
    fn begin_epoch<C: Console>(&mut self, now: Instant, time: UnixTime, console: &mut C) -> bool {
        let begun = self.try_begin_epoch(now, time, console);
        begun.is_some()
    }

    fn try_begin_epoch<C: Console>(&mut self, now: Instant, time: UnixTime, console: &mut C) -> Option<()> {
        macro_rules! or_none {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(error) => {
                        say!(console, "error: {error}");
                        return None;
                    }
                }
            };
        }
        let newest = or_none!(self.store.newest_epoch());
        let Some(trust) = &self.trust else {
            say!(console, "error: no authority is trusted yet; see `help` for `trust`");
            return None;
        };
        let Some(bytes) = or_none!(self.store.document(self.scratch)) else {
            say!(console, "error: there is no network document yet; see `help` for `document`");
            return None;
        };
        let document = or_none!(trust.admit(bytes, time, newest));
        let epoch = document.epoch();
        let secret = or_none!(self.ratchet.mix_secret(epoch));
        let network = or_none!(Network::of(&document, &secret, self.routes));
        let config = Config { in_flight: usize::MAX, ..Config::of_network(document.parameters()) };
        let node = match (&mut self.node, self.storage.take()) {
            (Some(node), _) if node.id() != network.me => {
                say!(console, "error: the document gives this node another id; restart the board");
                return None;
            }
            (Some(node), _) => node,
            (node @ None, Some(storage)) => {
                node.insert(Node::new(network.me, config, self.random.clone(), storage))
            }
            (None, None) => return None,
        };
        if node.epoch() != Some(epoch) {
            or_none!(node.prepare_epoch(epoch, MixKey::new(secret)));
            let entries = document.nodes().map(|node| Entry { mix_key: node.mix_key, role: node.role });
            or_none!(node.begin_epoch(now, epoch, entries, config));
            or_none!(self.store.each_tag(epoch, |admitted| {
                // As many as a filter takes were kept.
                let _ = node.restore_tag(admitted);
            }));
            // The keys of epochs that have passed must not be found by who takes the board.
            or_none!(self.ratchet.advance_to(epoch));
            or_none!(self.store.keep_ratchet(&self.ratchet));
            or_none!(self.store.forget_tags_before(epoch));
        }
        self.network = Some(network);
        Some(())
    }

    fn print_network<C: Console>(&mut self, console: &mut C) {
        let Some(trust) = &self.trust else {
            return say!(console, "error: no authority is trusted yet; see `help` for `trust`");
        };
        let Some(bytes) = or_say!(console, self.store.document(self.scratch)) else {
            return say!(console, "error: there is no network document yet; see `help` for `document`");
        };
        let document = or_say!(console, trust.read(bytes));
        say!(
            console,
            "network {}, epoch {}, {} nodes",
            document.network_name(),
            document.epoch(),
            document.node_count()
        );
        for node in document.nodes() {
            let me = if Some(node.id) == self.node.as_ref().map(Node::id) { " (this node)" } else { "" };
            let id = node.id.get();
            match (node.role, radio_address(&node)) {
                (Role::Mix { layer }, Some(address)) => {
                    say!(console, "{id} {} mix, layer {layer}, {address}{me}", node.name)
                }
                (Role::Endpoint, Some(address)) => {
                    say!(console, "{id} {} endpoint, {address}{me}", node.name)
                }
                (_, None) => say!(console, "{id} {} not on the radio{me}", node.name),
            }
        }
    }

    fn send<C: Console>(&mut self, now: Instant, to: &str, text: &str, console: &mut C) {
        let (Some(network), true) = (self.network, self.running) else {
            return say!(console, "error: the node does not run; `start` runs it");
        };
        let mut routes = self.routes.iter().take(network.nodes);
        let receiver = routes.position(|route| route.is_named(to)).and_then(|id| NodeId::new(id as u16));
        let Some(receiver) = receiver else {
            return say!(console, "error: the network has no node {to}; `network` lists them");
        };
        let Some(node) = &mut self.node else { return };
        // A number is used up even if the message is refused: it must never come twice.
        let sequence = or_say!(console, self.store.next_sequence());
        let mut message = heapless::String::<128>::new();
        {
            use core::fmt::Write as _;
            if write!(message, "{sequence} {text}").is_err() {
                return say!(console, "error: the message is too long");
            }
        }
        match node.send(now, receiver, message.as_bytes()) {
            Ok(handle) => say!(console, "sent {} with sequence number {sequence}", handle.number()),
            Err(error) => say!(console, "error: {error}"),
        }
    }

    fn inbox<C: Console>(&mut self, console: &mut C) {
        let mut count = 0;
        while let Some((id, data)) = or_say!(console, self.store.oldest_message(self.scratch)) {
            match str::from_utf8(data) {
                Ok(text) if !text.contains(|character: char| character.is_control()) => {
                    say!(console, "{} {text}", Hex(&id.0));
                }
                _ => say!(console, "{} hex {}", Hex(&id.0), Hex(data)),
            }
            or_say!(console, self.store.remove_oldest_message());
            count += 1;
        }
        say!(console, "ok {count} messages");
    }

    fn status<C: Console>(&mut self, console: &mut C) {
        let state = if self.running { "runs" } else { "is stopped" };
        let link = self.stack.counters();
        say!(
            console,
            "the node {state}; datagrams {} in, {} out, {} unreachable",
            link.received,
            link.sent,
            link.unreachable
        );
        if let Some(node) = &self.node {
            let counters = node.counters();
            say!(
                console,
                "sent {}, acknowledged {}, retransmitted {}, discarded {}, forwarded {}, delivered {}, headers built {}",
                counters.sent,
                counters.acknowledged,
                counters.retransmitted,
                counters.discarded,
                counters.forwarded,
                counters.delivered,
                counters.headers_built
            );
            let (tags, most) = node.replay_filter_fill();
            say!(console, "replay tags {tags} of {most}");
            for &reason in DropReason::ALL {
                let dropped = counters.dropped(reason);
                if dropped > 0 {
                    say!(console, "dropped {dropped} {reason}");
                }
            }
        }
        say!(console, "ok");
    }
}
