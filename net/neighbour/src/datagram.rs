//! Datagrams between two hosts that share a key: all of one length, each fresh and encrypted.
//!
//! ```text
//! handshake   01 ‖ length 2 ‖ message ‖ 00 …
//! protected   02 ‖ number 4 ‖ AES-CCM(kind 1 ‖ length 2 ‖ body ‖ 00 …) ‖ tag 8
//! ```
//!
//! The caller lends memory of the link's length, and everything fills it: an observer sees neither
//! how long a text is nor whether it is one. `docs/spec/link/hosts.md` is normative.
//!
//! # Keys end
//!
//! A [`SecurityContext`] seals at most [`MAX_SEALED`] datagrams, and ends after [`MAX_FORGED`] that
//! were not its peer's. It lives in memory alone: who restarts makes another key, so no nonce is
//! used twice.

use motemix_crypto::Secret;

use crate::Refused;
use crate::edhoc::Role;
use crate::suite::{Aes as _, KEY_LEN, NONCE_LEN, SoftwareAes, TAG_LEN};

const HANDSHAKE: u8 = 1;
const PROTECTED: u8 = 2;
const TEXT: u8 = 1;
const RECEIPT: u8 = 2;
const PAYLOAD: u8 = 3;

const NUMBER_LEN: usize = 4;
const LENGTH_LEN: usize = 2;
const HEADER_LEN: usize = 1 + NUMBER_LEN;
/// Bytes of a text's name.
pub const NAME_LEN: usize = 8;
/// Bytes of a datagram that are not its text.
pub const OVERHEAD: usize = HEADER_LEN + 1 + LENGTH_LEN + NAME_LEN + TAG_LEN;
/// Bytes of a datagram that are not its payload.
pub const PAYLOAD_OVERHEAD: usize = OVERHEAD - NAME_LEN;
/// Where a payload begins in the memory that its datagram was opened into.
pub const PAYLOAD_AT: usize = 1 + LENGTH_LEN;
/// Bytes of a datagram that are not the handshake's message in it.
pub const HANDSHAKE_OVERHEAD: usize = 1 + LENGTH_LEN;

/// Datagrams that a key seals in one direction. With 2 · 80 blocks in each of both directions'
/// datagrams, CCM tells from noise with a probability of about 2⁻⁷¹ (RFC 9147, B.1, has the bound).
pub const MAX_SEALED: u32 = 1 << 20;
/// Forged datagrams after which a key ends: one is taken with a probability of 2⁻⁴⁴.
pub const MAX_FORGED: u32 = 1 << 20;
/// Numbers below the highest that are still told apart.
const WINDOW: u32 = 64;

/// What a datagram is, before anything is known of its sender.
#[derive(Clone, Copy, Debug)]
pub enum Datagram<'d> {
    /// It carries a message of a handshake.
    Handshake(&'d [u8]),
    /// It is under the key of a session.
    Protected(Protected<'d>),
}

/// A datagram under a key, unopened.
#[derive(Clone, Copy, Debug)]
pub struct Protected<'d> {
    header: &'d [u8; HEADER_LEN],
    number: u32,
    ciphertext: &'d [u8],
    tag: &'d [u8; TAG_LEN],
}

impl<'d> Datagram<'d> {
    /// [`Refused::Length`] if it is too short or its message too long, [`Refused::Kind`] if it is
    /// none of these. Whether it has the link's length is the caller's question.
    pub fn parse(datagram: &'d [u8]) -> Result<Self, Refused> {
        match datagram {
            [HANDSHAKE, rest @ ..] => {
                let (message, padding) = split_by_length(rest)?;
                if is_padding(padding) { Ok(Self::Handshake(message)) } else { Err(Refused::Kind) }
            }
            [PROTECTED, ..] => {
                let (header, rest) = datagram.split_first_chunk::<HEADER_LEN>().ok_or(Refused::Length)?;
                let (ciphertext, tag) = rest.split_last_chunk().ok_or(Refused::Length)?;
                let [_, number @ ..] = *header;
                let number = u32::from_be_bytes(number);
                Ok(Self::Protected(Protected { header, number, ciphertext, tag }))
            }
            _ => Err(Refused::Kind),
        }
    }
}

impl Protected<'_> {
    /// The number that it says it has.
    pub const fn number(&self) -> u32 {
        self.number
    }
}

/// Fills a datagram with a handshake's message: [`Refused::Length`] if it is too long.
pub fn carry(message: &[u8], datagram: &mut [u8]) -> Result<(), Refused> {
    let (kind, rest) = datagram.split_first_mut().ok_or(Refused::Length)?;
    *kind = HANDSHAKE;
    fill(&[message], rest)
}

/// How a sender names a text, in all sessions: one that arrives under two keys is told apart by it
/// from two that say the same.
pub type Name = [u8; NAME_LEN];

/// What a session carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content<'c> {
    /// Something to read.
    Text {
        /// Its name.
        name: Name,
        /// What it says.
        text: &'c [u8],
    },
    /// The datagram with this number has arrived, and was read.
    Receipt(u32),
    /// A datagram of a layer above, which names and acknowledges its own.
    Payload(&'c [u8]),
}

/// A receipt that was given: whoever keeps this can give it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledged {
    /// The datagram's number.
    of: u32,
    /// The receipt's own.
    number: u32,
}

impl Acknowledged {
    /// The number of the datagram that it acknowledges.
    pub const fn of(self) -> u32 {
        self.of
    }
}

/// What two hosts share after a handshake (RFC 8613, 3, has the word): a key, and for each
/// direction the numbers that were used.
pub struct SecurityContext {
    key: Secret<KEY_LEN>,
    role: Role,
    /// The next datagram's.
    number: u32,
    window: Window,
    forged: u32,
}

impl SecurityContext {
    /// From the key that a handshake ended with, and this side's part in it. A key is for one
    /// context alone.
    pub fn new(key: Secret<KEY_LEN>, role: Role) -> Self {
        Self { key, role, number: 0, window: Window::default(), forged: 0 }
    }

    /// How many datagrams were sealed.
    pub const fn sealed(&self) -> u32 {
        self.number
    }

    /// How many datagrams were not its peer's.
    pub const fn forged(&self) -> u32 {
        self.forged
    }

    /// Whether its key has ended: nothing more is sealed or opened.
    pub const fn has_ended(&self) -> bool {
        self.number >= MAX_SEALED || self.forged >= MAX_FORGED
    }

    /// Whether another key is to be made while this one lasts: seven eighths of it are used.
    pub const fn is_nearly_over(&self) -> bool {
        self.number >= MAX_SEALED / 8 * 7 || self.forged >= MAX_FORGED / 8 * 7
    }

    /// Fills a datagram, and returns its number. Nobody may seal it again: to repeat it, send the
    /// same bytes. [`Refused::Length`] if the content is too long for it, [`Refused::Exhausted`] if
    /// the key has ended.
    pub fn seal(&mut self, content: &Content<'_>, datagram: &mut [u8]) -> Result<u32, Refused> {
        if self.has_ended() {
            return Err(Refused::Exhausted);
        }
        let number = self.number;
        self.seal_as(number, content, datagram)?;
        self.number += 1;
        Ok(number)
    }

    /// Fills a datagram with the receipt of the datagram with this number.
    ///
    /// # Errors
    /// As [`seal`](Self::seal).
    pub fn acknowledge(&mut self, of: u32, datagram: &mut [u8]) -> Result<Acknowledged, Refused> {
        let number = self.seal(&Content::Receipt(of), datagram)?;
        Ok(Acknowledged { of, number })
    }

    /// Fills a datagram of the same length with the same receipt once more, byte for byte: one
    /// nonce seals one plaintext, however often. The receipt has to be of this context.
    ///
    /// # Errors
    /// [`Refused::Length`] if it has no room.
    pub fn acknowledge_again(&self, receipt: Acknowledged, datagram: &mut [u8]) -> Result<(), Refused> {
        self.seal_as(receipt.number, &Content::Receipt(receipt.of), datagram)
    }

    /// Nobody may call this for a number twice, but with the same content.
    fn seal_as(&self, number: u32, content: &Content<'_>, datagram: &mut [u8]) -> Result<(), Refused> {
        let (header, rest) = datagram.split_first_chunk_mut::<HEADER_LEN>().ok_or(Refused::Length)?;
        let (plaintext, tag) = rest.split_last_chunk_mut::<TAG_LEN>().ok_or(Refused::Length)?;
        let (kind, rest) = plaintext.split_first_mut().ok_or(Refused::Length)?;
        match content {
            Content::Text { name, text } => {
                *kind = TEXT;
                fill(&[name, text], rest)?;
            }
            Content::Receipt(number) => {
                *kind = RECEIPT;
                fill(&[&number.to_be_bytes()], rest)?;
            }
            Content::Payload(payload) => {
                *kind = PAYLOAD;
                fill(&[payload], rest)?;
            }
        }
        let (kind, rest) = header.split_at_mut(1);
        kind.fill(PROTECTED);
        rest.copy_from_slice(&number.to_be_bytes());
        *tag = SoftwareAes.seal(&self.key, &nonce(self.role, number), header, plaintext)?;
        Ok(())
    }

    /// Opens a datagram into `out`, whose rest is then not to be used. Whoever does not have the
    /// key causes one run of AES-CCM.
    ///
    /// # Errors
    /// [`Refused::Ciphertext`] if it is not the peer's, [`Refused::Replayed`] if it is and came
    /// before, or is more than 63 below the highest, [`Refused::Kind`] if its content is malformed,
    /// [`Refused::Length`] if `out` is too short, [`Refused::Exhausted`] if the key has ended.
    pub fn open<'o>(
        &mut self,
        datagram: &Protected<'_>,
        out: &'o mut [u8],
    ) -> Result<(u32, Content<'o>), Refused> {
        if self.has_ended() {
            return Err(Refused::Exhausted);
        }
        let out = out.get_mut(..datagram.ciphertext.len()).ok_or(Refused::Length)?;
        out.copy_from_slice(datagram.ciphertext);
        let (number, nonce) = (datagram.number, nonce(other(self.role), datagram.number));
        let opened = SoftwareAes.open(&self.key, &nonce, datagram.header, out, datagram.tag);
        if opened.is_err() {
            self.forged += 1;
        }
        opened?;
        // Only what is the peer's moves the window, and only that is told to be a replay.
        self.window = self.window.with(number)?;
        Ok((number, Content::parse(out)?))
    }
}

impl core::fmt::Debug for SecurityContext {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SecurityContext").field("role", &self.role).finish_non_exhaustive()
    }
}

impl<'c> Content<'c> {
    fn parse(plaintext: &'c [u8]) -> Result<Self, Refused> {
        let (kind, rest) = plaintext.split_first().ok_or(Refused::Kind)?;
        let (body, padding) = split_by_length(rest).map_err(|_| Refused::Kind)?;
        if !is_padding(padding) {
            return Err(Refused::Kind);
        }
        match *kind {
            TEXT => {
                let (name, text) = body.split_first_chunk().ok_or(Refused::Kind)?;
                Ok(Self::Text { name: *name, text })
            }
            RECEIPT => {
                let number = body.try_into().map_err(|_| Refused::Kind)?;
                Ok(Self::Receipt(u32::from_be_bytes(number)))
            }
            PAYLOAD => Ok(Self::Payload(body)),
            _ => Err(Refused::Kind),
        }
    }
}

/// length ‖ pieces ‖ 00 … over all of `out`.
fn fill(pieces: &[&[u8]], out: &mut [u8]) -> Result<(), Refused> {
    let len: usize = pieces.iter().map(|piece| piece.len()).sum();
    let length = u16::try_from(len).map_err(|_| Refused::Length)?;
    let (prefix, out) = out.split_first_chunk_mut::<LENGTH_LEN>().ok_or(Refused::Length)?;
    let (mut body, padding) = out.split_at_mut_checked(len).ok_or(Refused::Length)?;
    *prefix = length.to_be_bytes();
    for piece in pieces {
        let (to, rest) = body.split_at_mut_checked(piece.len()).ok_or(Refused::Length)?;
        to.copy_from_slice(piece);
        body = rest;
    }
    padding.fill(0);
    Ok(())
}

/// What [`fill`] has put there, and the padding.
fn split_by_length(bytes: &[u8]) -> Result<(&[u8], &[u8]), Refused> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_LEN>().ok_or(Refused::Length)?;
    rest.split_at_checked(u16::from_be_bytes(*length).into()).ok_or(Refused::Length)
}

fn is_padding(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// One key serves both directions: the sender's side of the handshake keeps their nonces apart.
fn nonce(sender: Role, number: u32) -> [u8; NONCE_LEN] {
    let mut nonce = [0; NONCE_LEN];
    let (side, rest) = nonce.split_at_mut(1);
    side.fill(match sender {
        Role::Initiator => 1,
        Role::Responder => 2,
    });
    if let Some(last) = rest.last_chunk_mut() {
        *last = number.to_be_bytes();
    }
    nonce
}

const fn other(role: Role) -> Role {
    match role {
        Role::Initiator => Role::Responder,
        Role::Responder => Role::Initiator,
    }
}

/// Which numbers have come (RFC 4303, appendix A2, has the technique).
#[derive(Clone, Copy, Default)]
struct Window {
    /// One more than the highest.
    end: u32,
    /// Bit i is set if number `end - 1 - i` has come.
    bits: u64,
}

impl Window {
    /// What it is once this number has come too.
    const fn with(self, number: u32) -> Result<Self, Refused> {
        if number >= MAX_SEALED {
            return Err(Refused::Exhausted);
        }
        if number >= self.end {
            let skipped = number - self.end + 1;
            let bits = if skipped < WINDOW { self.bits << skipped } else { 0 };
            return Ok(Self { end: number + 1, bits: bits | 1 });
        }
        let back = self.end - 1 - number;
        if back >= WINDOW || self.bits >> back & 1 == 1 {
            return Err(Refused::Replayed);
        }
        Ok(Self { end: self.end, bits: self.bits | 1 << back })
    }
}
