//! Signals (RFC 8323 §5): what two sides of a connection say of the connection itself.

use motemix_time::Instant;

use super::{BASE_MESSAGE_SIZE, PATIENCE, Session};
use crate::Token;
use crate::message::{Kind, Message, number_of};

pub(super) mod code {
    pub(in crate::stream) const CSM: u8 = 0xe1;
    pub(in crate::stream) const PING: u8 = 0xe2;
    pub(in crate::stream) const PONG: u8 = 0xe3;
    pub(in crate::stream) const RELEASE: u8 = 0xe4;
    pub(in crate::stream) const ABORT: u8 = 0xe5;
}

/// An option of a CSM.
const MAX_MESSAGE_SIZE: u16 = 2;
const BLOCK_WISE_TRANSFER: u16 = 4;
/// An option of a Ping and a Pong.
const CUSTODY: u16 = 2;
/// An option of an Abort.
pub(super) const BAD_CSM_OPTION: u16 = 2;

/// No response fits into less.
const LEAST_MESSAGE_SIZE: usize = 64;
/// Pongs that wait for answers. Who asks for more gets a Pong that promises nothing.
const MOST_CUSTODY: usize = 8;

/// A Pong that waits until all requests before its Ping are answered (§5.4.1).
#[derive(Debug)]
pub(super) struct Custody {
    token: Token,
    asked: u64,
}

pub(super) const fn signal_of(code: u8) -> Message {
    let mut message = Message::empty(Kind::NonConfirmable, 0);
    message.code = code;
    message
}

/// What this side takes.
pub(super) fn csm(longest: usize) -> Message {
    let mut csm = signal_of(code::CSM);
    csm.push_number(MAX_MESSAGE_SIZE, longest as u32);
    csm
}

fn pong(token: Token, custody: bool) -> Message {
    let mut pong = signal_of(code::PONG);
    pong.token = token;
    if custody {
        pong.push(CUSTODY, []);
    }
    pong
}

/// The first option that must not be passed over: a critical one, or a value that it cannot have.
/// All options that are known have even numbers, so they are elective.
fn refused(message: &Message) -> Option<u16> {
    let is_refused = |number: u16, value: &[u8]| match (message.code, number) {
        (code::CSM, MAX_MESSAGE_SIZE) => number_of(value).is_none(),
        (code::CSM, BLOCK_WISE_TRANSFER) | (code::PING | code::PONG, CUSTODY) => !value.is_empty(),
        _ => number % 2 == 1,
    };
    let mut options = message.options.iter();
    options.find_map(|(number, value)| is_refused(*number, value).then_some(*number))
}

impl Session {
    pub(super) fn take_signal(&mut self, now: Instant, message: &Message) {
        if let Some(number) = refused(message) {
            let of_csm = Some(number).filter(|_| message.code == code::CSM);
            return self.abort("a signal has an option that is not understood", of_csm);
        }
        match message.code {
            code::CSM => {
                // What is not said stays as it was (§5.3).
                let size = message.number(MAX_MESSAGE_SIZE).map(|size| size as usize);
                let takes = size.or(self.takes).unwrap_or(BASE_MESSAGE_SIZE);
                self.takes = Some(takes.max(LEAST_MESSAGE_SIZE));
            }
            code::PING if message.option(CUSTODY).is_some() && self.custody.len() < MOST_CUSTODY => {
                self.custody.push_back(Custody { token: message.token, asked: self.asked });
                self.answered();
            }
            code::PING => self.send(&pong(message.token, false)),
            // The answers to what it asked are still for it (§5.5).
            code::RELEASE => {
                self.release_until.get_or_insert(now + PATIENCE);
                self.answered();
            }
            code::ABORT => self.closed(),
            // A Pong has been heard, and signals of other codes say nothing.
            _ => {}
        }
    }

    /// Does what waited for answers.
    pub(super) fn answered(&mut self) {
        let first = self.unanswered.front().map_or(u64::MAX, |(asked, _)| *asked);
        while let Some(custody) = self.custody.pop_front_if(|custody| custody.asked < first) {
            self.send(&pong(custody.token, true));
        }
        if self.release_until.is_some() && self.unanswered.is_empty() {
            self.end();
        }
    }
}
