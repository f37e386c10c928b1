//! A client with its letters.

use std::collections::{HashMap, VecDeque};

use motemix_node::Instant;
use motemix_os::rng::HostRng;
use rand_core::Rng as _;

use super::{Station, refuse};
use crate::files::Directory;
use crate::role::{Client, ClientEvent, Cover, MessageId, SendError};
use crate::runtime::event::{Event, Refusal, Told};
use crate::runtime::letters::{Done, Letter, Letters};
use crate::runtime::probe::{Flight, Probes};
use crate::runtime::reserve::Reserve;
use crate::wire::message::Encoding;

/// A client, what its user has said, and what has arrived.
pub(in crate::runtime) struct ClientStation {
    client: Client<HostRng>,
    letters: Letters,
    /// Numbers of a hardened client's requests.
    reserve: Option<Reserve>,
    /// Safe, and not yet with the client, which holds so many at once.
    accepted: VecDeque<Letter>,
    /// Whether letters stay until they are acknowledged.
    is_acknowledged: bool,
    probes: Option<Probes>,
    /// Who waits to hear that a letter is safe.
    told: HashMap<u64, Told>,
    rng: HostRng,
}

impl ClientStation {
    /// `outbox` is what an earlier process has left.
    pub(in crate::runtime) fn new(
        client: Client<HostRng>,
        letters: Letters,
        reserve: Option<Reserve>,
        outbox: Vec<Letter>,
        is_acknowledged: bool,
        probes: Option<Probes>,
        rng: HostRng,
    ) -> Self {
        let (accepted, told) = (outbox.into(), HashMap::new());
        Self { client, letters, reserve, accepted, is_acknowledged, probes, told, rng }
    }

    /// Gives the client accepted letters, in their order and as far as it has room.
    fn hand_over(&mut self, now: Instant, report: &mut dyn FnMut(Event)) {
        while let Some(Letter { id, to, message, .. }) = self.accepted.front() {
            match self.client.send_named(now, to, message, id.0) {
                Err(SendError::Full) => return,
                Ok(_) => {}
                // The directory has changed meanwhile: nobody will ever take this letter.
                Err(_) => {
                    if let Some(number) = self.letters.forget(*id) {
                        report(Event::GaveUp { number });
                    }
                }
            }
            self.accepted.pop_front();
        }
    }

    fn take_event(&mut self, now: Instant, event: ClientEvent, report: &mut dyn FnMut(Event)) {
        match event {
            ClientEvent::Received(received) => {
                let bytes = (received.encoding == Encoding::Bytes).then_some(&received.message);
                let flight = self.probes.as_ref().and_then(|probes| probes.flight(bytes?));
                match flight {
                    // Nobody wants to have it back after a crash.
                    Some(Flight { left, took }) => {
                        self.client.confirm(now, received.token);
                        report(Event::Probe { left, took });
                    }
                    None => self.letters.keep(received),
                }
            }
            ClientEvent::Sent(id) => {
                let letters = &mut self.letters;
                let number = if self.is_acknowledged { letters.number(id) } else { letters.forget(id) };
                if let Some(number) = number {
                    report(Event::Sent { number });
                }
            }
            ClientEvent::Acknowledged(id) => {
                if let Some(number) = self.letters.forget(id) {
                    report(Event::Acknowledged { number });
                }
            }
            ClientEvent::GaveUp(id) => {
                if let Some(number) = self.letters.forget(id) {
                    report(Event::GaveUp { number });
                }
            }
            ClientEvent::CoverReceived(Cover::Loop) => report(Event::Loop),
            // Counted, and that is all there is to say.
            ClientEvent::Retried(_)
            | ClientEvent::CoverSent(_)
            | ClientEvent::CoverReceived(_)
            | ClientEvent::Pulled => {}
        }
    }

    fn take_done(&mut self, now: Instant, done: Vec<Done>, report: &mut dyn FnMut(Event)) {
        for done in done {
            match done {
                Done::Accepted(letter) => {
                    if let Some(told) = self.told.remove(&letter.number) {
                        // Whoever asked may have gone.
                        let _ = told.send(Ok(letter.number));
                    }
                    report(Event::Queued { number: letter.number, to: letter.to.clone() });
                    self.accepted.push_back(letter);
                }
                Done::Kept { token, message, encoding, is_new } => {
                    self.client.confirm(now, token);
                    if is_new {
                        report(Event::Received { message, encoding });
                    }
                }
            }
        }
    }
}

impl Station for ClientStation {
    type Role = Client<HostRng>;

    fn role(&mut self) -> &mut Self::Role {
        &mut self.client
    }

    fn set_directory(&mut self, directory: &Directory) {
        self.client.set_directory(directory);
    }

    fn settle(&mut self, now: Instant, report: &mut dyn FnMut(Event)) {
        while let Some(event) = self.client.poll_event() {
            self.take_event(now, event, report);
        }
        if let Some(reserve) = &mut self.reserve {
            reserve.cover(self.client.counter());
        }
        let done = self.letters.commit();
        self.take_done(now, done, report);
        self.hand_over(now, report);
    }

    fn finish(&mut self, now: Instant, report: &mut dyn FnMut(Event)) {
        self.settle(now, report);
        let done = self.letters.finish();
        self.take_done(now, done, report);
    }

    fn waiting(&mut self) -> u64 {
        self.letters.len() as u64
    }

    fn send(&mut self, to: &str, message: &[u8], told: Option<Told>, report: &mut dyn FnMut(Event)) {
        let refusal = match self.client.room(to) {
            None => Some(Refusal::NoSuchUser),
            Some(room) if message.len() > room => Some(Refusal::TooLong),
            Some(_) => self.letters.refusal(),
        };
        if let Some(reason) = refusal {
            refuse(to, reason, told, report);
            return;
        }
        let mut id = [0; 16];
        self.rng.fill_bytes(&mut id);
        let number = self.letters.accept(MessageId(id), to, message);
        if let Some(told) = told {
            self.told.insert(number, told);
        }
    }
}
