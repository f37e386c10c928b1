//! What is said to a mote that stands still, and what it answers.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_directory::{Epoch, Role};
use motemix_node::Instant;
use motemix_object::{SealedReading, UnverifiedRegistration};
use motemix_sphinx::Profile;
use rand_core::CryptoRng;

use super::{Mote, StartAsked};
use crate::command::{Command, HELP, HELP_ON_DEVICES, HELP_ON_READINGS, Hex, TRUST, read_hex};
use crate::console::{Console, Ended, or_say, say, say_part};
use crate::network::{self, NetworkName, Refusal, address_of};
use crate::store::MAX_AUTHORITIES;

/// Readings that `inbox` checks before the node goes on: a second of signatures on a Cortex-M3.
const CHECKED_AT_A_TIME: u32 = 4;

/// What a device has signed, and nobody has checked.
enum Signed<'b> {
    Reading(SealedReading<'b>),
    /// Its bytes: taken apart, they would lie on the stack beneath a check.
    Registration(&'b [u8]),
}

impl<'b> Signed<'b> {
    fn parse(message: &'b [u8]) -> Option<Self> {
        let reading = SealedReading::parse(message).map(Self::Reading);
        reading
            .or_else(|_| UnverifiedRegistration::parse_short(message).map(|_| Self::Registration(message)))
            .ok()
    }
}

/// What is left to do of a line.
enum Heard {
    Done,
    Start,
    DocumentEnd,
}

/// The commands that this mote has.
pub(crate) fn print_help<C: Console>(console: &mut C) {
    say!(console, "{HELP}");
    if console.key_maker().is_some() {
        say!(console, "{HELP_ON_READINGS}");
    }
    if C::DEVICES > 0 {
        say!(console, "{HELP_ON_DEVICES}");
    }
}

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng> Mote<P, F, R> {
    /// Does what the console says, until it says `start`. `scratch` holds a network document while
    /// it is given: lend the same memory each time.
    pub fn attend<C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        scratch: &mut [u8],
    ) -> Option<StartAsked> {
        while let Some(character) = console.read() {
            match self.line.push(character) {
                None => {}
                Some(Ended::Unread(reason)) => say!(console, "error: {}", reason.words()),
                Some(Ended::Line) => match self.hear(now, console, scratch) {
                    Heard::Done => {}
                    Heard::Start => return Some(StartAsked(())),
                    Heard::DocumentEnd => self.take_document(now, console, scratch),
                },
            }
        }
        None
    }

    // Not inlined: the line must not lie on the stack beneath a check of signatures.
    #[inline(never)]
    fn hear<C: Console>(&mut self, now: Instant, console: &mut C, scratch: &mut [u8]) -> Heard {
        let line = self.line.take();
        match Command::read(line.text()) {
            Ok(Command::Start) if self.document.is_none() => return Heard::Start,
            Ok(Command::DocumentEnd) => return Heard::DocumentEnd,
            Ok(command) => self.obey(now, &command, console, scratch),
            Err(misread) => say!(console, "error: {misread}"),
        }
        Heard::Done
    }

    /// Does what needs no node.
    // Not inlined, nor are those below: what one command needs on the stack must not add to what
    // another needs, and small boards have little of it.
    #[inline(never)]
    fn obey<C: Console>(&mut self, now: Instant, command: &Command<'_>, console: &mut C, scratch: &mut [u8]) {
        match command {
            // They need the memory in which the document is.
            Command::Network | Command::Inbox | Command::Start if self.document.is_some() => {
                say!(console, "error: a network document is being given; end it with `document end` first");
            }
            Command::Help => print_help(console),
            Command::Key(epoch) => self.key(*epoch, console),
            Command::Trust { threshold, keys, count, joins } => {
                self.take_authorities(*threshold, keys.get(..*count).unwrap_or_default(), *joins, console);
            }
            Command::Time(time) => {
                self.set_clock(now, *time);
                say!(console, "ok");
            }
            Command::DocumentBegin => {
                self.document = Some(0);
                say!(console, "ok");
            }
            Command::DocumentPiece(piece) => self.take_piece(piece, console, scratch),
            Command::Network => self.print_network(console, scratch),
            Command::Inbox => {
                // Readings are for it.
                let network = self.kept_network::<C>(scratch);
                self.inbox(console, scratch, network.as_deref());
            }
            Command::Status => say!(console, "the node is stopped"),
            Command::Authorise { name, introduction, number } => {
                self.authorise(name, introduction, *number, console);
            }
            Command::Devices => self.print_devices(console),
            Command::Stop | Command::Start | Command::DocumentEnd => say!(console, "ok"),
            Command::Identity => self.print_identity(console),
            Command::Send { .. } | Command::Readings { .. } => {
                say!(console, "error: the node does not run; `start` runs it")
            }
        }
    }

    #[inline(never)]
    pub(crate) fn key<C: Console>(&mut self, epoch: Epoch, console: &mut C) {
        let key = or_say!(console, self.public_key(epoch));
        say!(console, "address {} key {}", self.reached_at, Hex(&key.0));
    }

    #[inline(never)]
    fn take_authorities<C: Console>(
        &mut self,
        threshold: u8,
        given: &[[u8; 32]],
        joins: bool,
        console: &mut C,
    ) {
        let before = self.trust.filter(|_| joins).map_or(0, |trust| trust.count);
        let count = before + given.len();
        if count > MAX_AUTHORITIES || usize::from(threshold) > count {
            return say!(console, "error: usage: {TRUST}");
        }
        let trusted = if joins { self.trust_also(threshold, given) } else { self.trust(threshold, given) };
        or_say!(console, trusted);
        say!(console, "ok");
    }

    fn take_piece<C: Console>(&mut self, piece: &str, console: &mut C, scratch: &mut [u8]) {
        let Some(len) = self.document else {
            return say!(console, "error: a document begins with `document begin`");
        };
        let added = read_hex(piece, scratch.get_mut(len..).unwrap_or_default());
        self.document = added.map(|added| len + added);
        if let Some(len) = self.document {
            say!(console, "ok {len}");
        } else {
            let room = scratch.len();
            say!(console, "error: not hex digits in pairs, or more than {room} bytes in all; begin again");
        }
    }

    fn take_document<C: Console>(&mut self, now: Instant, console: &mut C, scratch: &mut [u8]) {
        let Some(len) = self.document.take() else {
            return say!(console, "error: a document begins with `document begin`");
        };
        let bytes = scratch.get(..len).unwrap_or_default();
        let kept = self.keep_document(now, bytes);
        if let Err(Refusal::KeyMoved { .. }) = kept {
            self.document = Some(len);
        }
        let (epoch, nodes) = or_say!(console, kept);
        say!(console, "ok epoch {epoch}, {nodes} nodes");
    }

    #[inline(never)]
    fn print_network<C: Console>(&mut self, console: &mut C, scratch: &mut [u8]) {
        let trust = or_say!(console, self.trust.ok_or(Refusal::NoTrust));
        let bytes = or_say!(console, self.store.document(scratch));
        let bytes = or_say!(console, bytes.ok_or(Refusal::NoDocument));
        let document = or_say!(console, trust.authenticate(bytes).and_then(network::read));
        say!(console, "network {}, epoch {}", document.network_name(), document.epoch());
        for node in document.nodes() {
            let (id, name) = (node.id.get(), node.name);
            match node.role {
                Role::Mix { layer } => say!(console, "{id} {name} mix, layer {layer}"),
                Role::Endpoint => say!(console, "{id} {name} endpoint"),
            }
            match address_of(&node).map(|at| *at.ip()) {
                Some(address) if address == *self.reached_at.ip() => say!(console, "  {address}, this node"),
                Some(address) => say!(console, "  {address}"),
                None => say!(console, "  not on the radio"),
            }
        }
        say!(console, "ok {} nodes", document.node_count());
    }

    /// The network of the document in flash, for a mote that checks readings.
    #[inline(never)]
    fn kept_network<C: Console>(&mut self, scratch: &mut [u8]) -> Option<NetworkName> {
        let trust = self.trust.filter(|_| C::DEVICES > 0)?;
        let bytes = self.store.document(scratch).ok()??;
        let document = trust.authenticate(bytes).and_then(network::read).ok()?;
        document.network_name().try_into().ok()
    }

    /// Prints messages and forgets them. Readings for this network are checked: so many at a time,
    /// because nothing else is done meanwhile.
    #[inline(never)]
    pub(crate) fn inbox<C: Console>(&mut self, console: &mut C, scratch: &mut [u8], network: Option<&str>) {
        let (mut count, mut checked) = (0, 0);
        while let Some((id, data)) = or_say!(console, self.store.oldest_message(scratch)) {
            let network = network.filter(|_| C::DEVICES > 0);
            let signed = network.and_then(|name| Some((name, Signed::parse(data)?)));
            match str::from_utf8(data) {
                _ if let Some((network, signed)) = signed => {
                    if checked == CHECKED_AT_A_TIME {
                        return say!(console, "ok {count} messages; more wait, `inbox` again");
                    }
                    checked += 1;
                    say_part!(console, "{} ", Hex(&id.0));
                    or_say!(
                        console,
                        match &signed {
                            Signed::Reading(reading) => self.print_reading(reading, network, console),
                            Signed::Registration(it) => self.print_registration(it, network, console),
                        }
                    );
                }
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
}
