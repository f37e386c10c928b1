//! A new context for a client that has lost its own, of what both sides were given (RFC 8613,
//! appendix B.2).
//!
//! ```text
//! client                                       server
//!   request, kid context R1              ──▶
//!                                        ◀──   4.01, kid context R2, under R2 ‖ R1
//!   request, kid context R2 ‖ R3         ──▶
//!                                        ◀──   response, under R2 ‖ R3
//! ```
//!
//! The server remembers nothing of the first exchange: R2 has random bytes and a MAC of them. The
//! keys of the MAC end with the run that succeeds, so that no second request is taken twice.

use std::hash::Hasher as _;
use std::time::Duration;

use chacha20::ChaCha12Rng;
use motemix_crypto::Secret;
use motemix_time::Instant;
use rand_core::{CryptoRng, Rng as _, SeedableRng as _};
use siphasher::sip::SipHasher24;
use subtle::ConstantTimeEq as _;

use super::context::{BadContext, Context, MAX_SECRET_LEN, Preshared};
use super::contexts::{ContextId, Contexts};
use super::edhoc::split_byte_string;
use super::exchange::Unopened;
use super::header::Header;
use super::keys::{Id, Numbered};
use super::message::{Message, number};
use super::numbers::Numbers;
use crate::{Code, Standing};

/// Bytes of R1 and R3, and of the random part of R2 and of its MAC.
const NONCE_LEN: usize = 8;
/// Bytes of R2.
const R2_LEN: usize = 2 * NONCE_LEN;
/// Bytes of a client's ID1 at most: with R2 in front it is an ID Context.
const MAX_ID1_LEN: usize = 128;
/// How long a key of the MAC in R2 is good for. After half of it the next one is made, so that an
/// R2 is good for half of it at least.
const PATIENCE: Duration = Duration::from_mins(2);
/// First requests a second that are looked at of clients that have not proven their addresses: each
/// costs two derivations of keys, of microseconds. Whoever keeps honest clients from theirs has to
/// send so many, and all of them take a small part of a second.
const UNPROVEN_A_SECOND: u32 = 1024;

/// What further contexts are derived from.
pub(super) struct Renewal {
    master_secret: Box<Secret<MAX_SECRET_LEN>>,
    secret_len: usize,
    master_salt: Box<[u8]>,
    sender: Id,
    recipient: Id,
    role: Role,
}

enum Role {
    /// Answers those who have lost their context: the key of the MAC in R2, and since when; and the
    /// one before, of which an R2 may have been given a moment before it was replaced.
    Answering([Option<(Instant, [u64; 2])>; 2]),
    /// Asks under R1, and goes on under R2 ‖ R3 whenever the server says R2. Here is where R3 comes
    /// from.
    Asking(Box<ChaCha12Rng>),
}

impl Renewal {
    /// Keeps what both sides were given; nothing if the secret is too long.
    pub(super) fn of(given: &Preshared) -> Option<Box<Self>> {
        let mut master_secret = Box::new(Secret::zero());
        master_secret.expose_mut().get_mut(..given.master_secret.len())?.copy_from_slice(given.master_secret);
        Some(Box::new(Self {
            master_secret,
            secret_len: given.master_secret.len(),
            master_salt: given.master_salt.into(),
            sender: Id::new(given.sender)?,
            recipient: Id::new(given.recipient)?,
            role: Role::Answering([None; 2]),
        }))
    }

    /// The context with this ID Context.
    fn derive(&self, now: Instant, id_context: &[u8]) -> Result<Context, BadContext> {
        let given = Preshared {
            name: "",
            master_secret: self.master_secret.expose().get(..self.secret_len).unwrap_or_default(),
            master_salt: &self.master_salt,
            id_context: Some(id_context),
            sender: self.sender.as_bytes(),
            recipient: self.recipient.as_bytes(),
        };
        Context::derive(now, &given, Numbers::volatile())
    }

    /// Whether an ID Context begins with an R2 of ours.
    fn has_r2(&self, now: Instant, id_context: &[u8]) -> bool {
        let Role::Answering(keys) = &self.role else { return false };
        let Some((r2, _)) = id_context.split_first_chunk::<R2_LEN>() else { return false };
        let (random, mac) = r2.split_at(NONCE_LEN);
        // Disclosed: whether it is ours. Whoever sent it sees what follows.
        let is_of = |key| bool::from(mac_of(key, random).ct_eq(mac));
        keys.iter().flatten().any(|(since, key)| now - *since < PATIENCE && is_of(*key))
    }
}

fn mac_of(key: [u64; 2], random: &[u8]) -> [u8; NONCE_LEN] {
    let mut hasher = SipHasher24::new_with_keys(key[0], key[1]);
    hasher.write(random);
    hasher.finish().to_be_bytes()
}

/// An ID Context as it stands in the kid context of these messages: a byte string of CBOR.
pub(super) fn wrapped(id_context: &[u8]) -> Vec<u8> {
    let len = id_context.len() as u8;
    let head = if len < 24 { vec![0x40 | len] } else { vec![0x58, len] };
    [&head[..], id_context].concat()
}

/// What is in such a byte string.
pub(super) fn unwrapped(kid_context: &[u8]) -> Option<&[u8]> {
    let (whole, rest) = split_byte_string(kid_context)?;
    let head = if matches!(whole.first(), Some(0x58)) { 2 } else { 1 };
    whole.get(head..).filter(|_| rest.is_empty() && whole.len() < 256)
}

/// What becomes of a request of which no context has the names.
pub(super) enum Renewed {
    /// Nobody here can have sent it.
    No,
    /// There is a context now that it is under.
    Context,
    /// This is answered.
    Answer(Message),
    /// The client is to prove its address first (RFC 9175).
    ProveAddress,
}

impl Context {
    /// A client's context of which nothing is left but what both sides were given. Its first
    /// request makes a new one ([`Unopened::Renewed`]); nothing has to be reserved for it.
    ///
    /// # Errors
    /// What was given is unsound.
    pub fn lost<R: CryptoRng + ?Sized>(
        now: Instant,
        given: &Preshared,
        rng: &mut R,
    ) -> Result<Self, BadContext> {
        let (mut seed, mut r1) = ([0; 32], [0; NONCE_LEN]);
        rng.fill_bytes(&mut seed);
        rng.fill_bytes(&mut r1);
        let checked = Self::preshared(now, given, Numbers::volatile(), None)?;
        let mut renewal = checked.renewal.ok_or(BadContext::LongSecret)?;
        renewal.role = Role::Asking(Box::new(ChaCha12Rng::from_seed(seed)));
        let first = renewal.derive(now, &r1)?;
        Ok(Self { wraps: true, renewal: Some(renewal), ..first })
    }

    /// Whether a response's kid context is an R2: a new context takes this one's place then.
    pub(super) fn is_renewed_by(&self, kid_context: &[u8]) -> bool {
        let asks = self.renewal.as_ref().is_some_and(|renewal| matches!(renewal.role, Role::Asking(_)));
        let own = self.id_context.as_deref();
        asks && own != Some(kid_context) && own != unwrapped(kid_context)
    }
}

impl Contexts {
    /// Looks whether a request may be of a client that has lost its context, and answers it.
    pub(super) fn renew<R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        standing: Standing,
        outer: &Message,
        rng: &mut R,
    ) -> Renewed {
        let header =
            outer.single(number::OSCORE).filter(|_| !outer.payload.is_empty()).and_then(Header::parse);
        let Some(Header { partial_iv: Some(sent), kid_context: Some(kid_context), kid: Some(kid) }) = header
        else {
            return Renewed::No;
        };
        if self.find(&Header { partial_iv: None, kid_context: Some(kid_context), kid: Some(kid) }).is_some() {
            return Renewed::No;
        }
        let Some(kid) = Id::new(kid) else { return Renewed::No };
        let id_context = unwrapped(kid_context).unwrap_or(kid_context);
        let Some(id) = self.only_given(kid) else { return Renewed::No };
        if now - self.renewals.0 >= Duration::from_secs(1) {
            self.renewals = (now, 0);
        }
        let is_unproven = standing == Standing::Unproven;
        if is_unproven && self.renewals.1 >= UNPROVEN_A_SECOND {
            return Renewed::ProveAddress;
        }
        self.renewals.1 += u32::from(is_unproven);
        let Some(renewal) = self.contexts.get_mut(&id).and_then(|context| context.renewal.as_mut()) else {
            return Renewed::No;
        };
        let request = Numbered { by: kid, number: sent };
        let is_second = renewal.has_r2(now, id_context);
        if !is_second && id_context.len() > MAX_ID1_LEN {
            return Renewed::No;
        }
        let opened = renewal
            .derive(now, id_context)
            .ok()
            .filter(|context| context.keys.open(&request, &request, &outer.payload).is_ok());
        let Some(context) = opened else {
            self.counters.count(&Unopened::Altered);
            return Renewed::Answer(Unopened::Altered.answer());
        };
        if is_second {
            self.replace_lost(id, context);
            self.counters.renewed += 1;
            return Renewed::Context;
        }
        answer(now, renewal, id_context, &request, rng).map_or(Renewed::No, Renewed::Answer)
    }

    /// A context, or the one that has taken its place.
    pub(super) fn current(&self, id: ContextId) -> Option<ContextId> {
        let replaced = || self.contexts.iter().find(|(_, context)| context.given == Some(id));
        self.get(id).map(|_| id).or_else(|| replaced().map(|(id, _)| *id))
    }

    /// The only context with this name that both sides were given, or that was made of one.
    fn only_given(&self, kid: Id) -> Option<ContextId> {
        let named = self.by_name.range((kid, None)..).take_while(|((found, _), _)| *found == kid);
        let mut given = named.map(|(_, id)| *id).filter(|id| {
            self.get(*id)
                .and_then(|context| context.renewal.as_ref())
                .is_some_and(|renewal| matches!(renewal.role, Role::Answering(_)))
        });
        given.next().filter(|_| given.next().is_none())
    }

    /// A new context takes the place of the one that was lost. What was to be answered under that
    /// one is answered no more.
    fn replace_lost(&mut self, lost: ContextId, context: Context) -> ContextId {
        let before = self.contexts.get_mut(&lost);
        let mut renewal = before.and_then(|before| before.renewal.take());
        if let Some(Role::Answering(keys)) = renewal.as_mut().map(|renewal| &mut renewal.role) {
            // No R2 serves twice.
            *keys = [None; 2];
        }
        let given = self.given(lost);
        self.remove(lost);
        self.take_up(Context { renewal, given: Some(given), wraps: true, ..context })
    }

    /// The response to a request of ours is under R2 ‖ ID1: a context of R2 ‖ R3 takes the place of
    /// the one that was lost, and the request is sent again under it.
    pub(super) fn renewed(
        &mut self,
        now: Instant,
        id: ContextId,
        kid_context: &[u8],
        request: &Numbered,
        outer: &Message,
    ) -> Option<ContextId> {
        let context = self.contexts.get_mut(&id)?;
        let renewal = context.renewal.as_mut()?;
        let r2 = unwrapped(kid_context).filter(|r2| r2.len() <= MAX_ID1_LEN)?;
        let second = renewal.derive(now, &[r2, context.id_context.as_deref()?].concat()).ok()?;
        second.keys.open(request, request, &outer.payload).ok()?;
        let Role::Asking(rng) = &mut renewal.role else { return None };
        let mut r3 = [0; NONCE_LEN];
        rng.fill_bytes(&mut r3);
        let third = renewal.derive(now, &[r2, &r3[..]].concat()).ok()?;
        Some(self.replace_lost(id, third))
    }
}

/// 4.01 under R2 ‖ ID1. R2 is new each time, and so are the keys: the nonce is the request's.
fn answer<R: CryptoRng + ?Sized>(
    now: Instant,
    renewal: &mut Renewal,
    id1: &[u8],
    request: &Numbered,
    rng: &mut R,
) -> Option<Message> {
    let Role::Answering([newest, before]) = &mut renewal.role else { return None };
    if newest.is_none_or(|(since, _)| now - since >= PATIENCE / 2) {
        *before = newest.replace((now, [rng.next_u64(), rng.next_u64()]));
    }
    let (_, key) = (*newest)?;
    let mut r2 = [0; R2_LEN];
    rng.fill_bytes(&mut r2[..NONCE_LEN]);
    let mac = mac_of(key, &r2[..NONCE_LEN]);
    r2[NONCE_LEN..].copy_from_slice(&mac);
    let second = renewal.derive(now, &[&r2[..], id1].concat()).ok()?;
    let inner = Message::new(Code::UNAUTHORIZED.byte());
    let mut outer = Message::new(Code::CHANGED.byte());
    let kid_context = wrapped(&r2);
    outer.add(number::OSCORE, Header { kid_context: Some(&kid_context), ..Header::default() }.to_bytes());
    outer.payload = second.keys.seal(request, request, inner.to_bytes())?;
    Some(outer)
}
