//! The protocol of IoT-CryptoDiet with its open ends settled. The steps and the functions are the
//! paper's; `docs/spec/link/diet.md` says what was added and which attack asked for it.
//!
//! ```text
//! Initiator                                                 Responder
//!   ── hello: nonce ‖ pk_i ‖ ver_i ────────────────────────▶
//!   ◀───────── answer: nonce ‖ pk_r ‖ ver_r ‖ σ_r(transcript) ──
//!        two keys from x(sk · pk) and the transcript, one for each direction
//!   ── message: number ‖ CCM(m) ‖ σ_i(transcript ‖ number ‖ c) ─▶     Pending → Session
//! ```
//!
//! A responder trusts nothing before the first message: only that proves who said hello, and that
//! it was said now. So [`Pending`] opens it, and gives the [`Session`] together with the message.

use crate::functions::{KeyPair, generate_key_pair};
use crate::suite::{Aes as _, KEY_LEN, NONCE_LEN, PUBLIC_KEY_LEN, SIGNATURE_LEN, TAG_LEN, digest};
use crate::{PrivateKey, PublicKey, Refused, Signature, Suite};
use hkdf::Hkdf;
use motemix_crypto::Secret;
use rand_core::CryptoRng;
use sha2::Sha256;

const HELLO: u8 = 1;
const ANSWER: u8 = 2;
const MESSAGE: u8 = 3;

/// Bytes of a handshake's random number, so that no two handshakes have the same keys.
const FRESH_LEN: usize = 8;
/// Bytes of a message's number, R1 of the paper.
const NUMBER_LEN: usize = 8;
/// Bytes of a hello.
pub const HELLO_LEN: usize = 1 + FRESH_LEN + 2 * PUBLIC_KEY_LEN;
/// Bytes of an answer: less than twice a hello's.
pub const ANSWER_LEN: usize = HELLO_LEN + SIGNATURE_LEN;
/// Bytes that a message has besides its text.
pub const OVERHEAD: usize = 1 + NUMBER_LEN + TAG_LEN + SIGNATURE_LEN;
/// Numbers below the highest that a receiver still tells apart.
const WINDOW: u64 = 64;

/// Who a node is: its signature key, which it keeps.
#[derive(Debug)]
pub struct Identity(KeyPair);

/// Whom a node takes for a neighbour.
#[derive(Clone, Copy, Debug)]
pub enum Admission<'a> {
    /// These identities.
    Of(&'a [PublicKey]),
    /// The same as they came from somewhere else: what is no point is nobody's identity.
    OfBytes(&'a [[u8; PUBLIC_KEY_LEN]]),
    /// Whoever comes. A man in the middle comes as well: the caller has to remember the first
    /// identity at each address, and to show it to a person.
    Anybody,
}

impl Admission<'_> {
    /// Compares bytes: whether they are a point is a computation that no stranger is worth.
    fn admit(self, peer: &[u8; PUBLIC_KEY_LEN]) -> Result<(), Refused> {
        match self {
            Self::Of(known) if known.iter().all(|known| known.as_bytes() != peer) => Err(Refused::Stranger),
            Self::OfBytes(known) if !known.contains(peer) => Err(Refused::Stranger),
            Self::Of(_) | Self::OfBytes(_) | Self::Anybody => Ok(()),
        }
    }
}

/// The public half of a handshake: a hello, or an answer without its signature.
struct Offer {
    exchange: PublicKey,
    verifying: PublicKey,
}

impl Offer {
    fn emit<R: CryptoRng + ?Sized>(
        kind: u8,
        exchange: &PublicKey,
        verifying: &PublicKey,
        rng: &mut R,
    ) -> [u8; HELLO_LEN] {
        let mut bytes = [kind; HELLO_LEN];
        let (fresh, keys) = bytes[1..].split_at_mut(FRESH_LEN);
        rng.fill_bytes(fresh);
        keys[..PUBLIC_KEY_LEN].copy_from_slice(exchange.as_bytes());
        keys[PUBLIC_KEY_LEN..].copy_from_slice(verifying.as_bytes());
        bytes
    }

    /// Whether a stranger sent it is told before anything is computed.
    fn parse(kind: u8, bytes: &[u8; HELLO_LEN], admission: Admission) -> Result<Self, Refused> {
        let (&[found], rest) = bytes.split_first_chunk().ok_or(Refused::Length)?;
        if found != kind {
            return Err(Refused::Kind);
        }
        let (_fresh, keys) = rest.split_first_chunk::<FRESH_LEN>().ok_or(Refused::Length)?;
        let (exchange, verifying) = keys.split_first_chunk().ok_or(Refused::Length)?;
        let verifying: &[u8; PUBLIC_KEY_LEN] = verifying.try_into().map_err(|_| Refused::Length)?;
        admission.admit(verifying)?;
        Ok(Self { exchange: PublicKey::new(*exchange)?, verifying: PublicKey::new(*verifying)? })
    }
}

/// Who a hello or an answer says it is of, as its bytes stand there. Nothing of it is proved, and
/// it may be no point: it is for a person to compare.
pub fn claimed(datagram: &[u8]) -> Option<[u8; PUBLIC_KEY_LEN]> {
    let (offer, rest) = datagram.split_first_chunk::<HELLO_LEN>()?;
    let kind = match rest.len() {
        0 => HELLO,
        SIGNATURE_LEN => ANSWER,
        _ => return None,
    };
    (offer.first() == Some(&kind)).then(|| offer.last_chunk().copied())?
}

/// What both have said: everything that is signed or derived is bound to it.
struct Transcript([u8; 32]);

impl Transcript {
    fn of(hello: &[u8; HELLO_LEN], answer: &[u8; HELLO_LEN]) -> Self {
        Self(digest(&[b"motemix/1 diet transcript", hello, answer]))
    }

    fn of_answer(&self) -> [u8; 32] {
        digest(&[b"motemix/1 diet answer", &self.0])
    }

    fn of_message(&self, sender: Role, header: &[u8], [text, tag]: [&[u8]; 2]) -> [u8; 32] {
        digest(&[b"motemix/1 diet message", &[sender as u8], &self.0, header, text, tag])
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Initiator = 1,
    Responder = 2,
}

impl Role {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Initiator => b"motemix/1 diet initiator",
            Self::Responder => b"motemix/1 diet responder",
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }
}

impl Identity {
    /// A new one.
    pub fn generate<S: Suite, R: CryptoRng + ?Sized>(suite: &mut S, rng: &mut R) -> Result<Self, Refused> {
        generate_key_pair(suite, rng).map(Self)
    }

    /// One that was kept.
    pub fn new<S: Suite>(private: PrivateKey, suite: &mut S) -> Result<Self, Refused> {
        let public = suite.public_key(&private)?;
        Ok(Self(KeyPair { private, public }))
    }

    /// What others know it by.
    pub const fn public_key(&self) -> PublicKey {
        self.0.public
    }

    /// The private key, to be kept.
    pub const fn private_key(&self) -> &PrivateKey {
        &self.0.private
    }

    /// Begins a handshake: a hello, to be sent or broadcast until an answer comes. One scalar
    /// multiplication.
    pub fn hello<S: Suite, R: CryptoRng + ?Sized>(
        &self,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(Initiator, [u8; HELLO_LEN]), Refused> {
        let exchange = generate_key_pair(suite, rng)?;
        let hello = Offer::emit(HELLO, &exchange.public, &self.0.public, rng);
        Ok((Initiator { exchange, signing: self.0.private.duplicate(), hello }, hello))
    }

    /// Answers a hello. Three scalar multiplications, none for a stranger: the caller bounds how
    /// many it does in a second, and how many [`Pending`] it keeps.
    pub fn answer<S: Suite, R: CryptoRng + ?Sized>(
        &self,
        hello: &[u8],
        admission: Admission,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(Pending, [u8; ANSWER_LEN]), Refused> {
        let hello = hello.try_into().map_err(|_| Refused::Length)?;
        let peer = Offer::parse(HELLO, hello, admission)?;
        let exchange = generate_key_pair(suite, rng)?;
        let offer = Offer::emit(ANSWER, &exchange.public, &self.0.public, rng);
        let transcript = Transcript::of(hello, &offer);
        let signature = suite.sign(&self.0.private, &transcript.of_answer(), rng)?;
        let mut answer = [0; ANSWER_LEN];
        answer[..HELLO_LEN].copy_from_slice(&offer);
        answer[HELLO_LEN..].copy_from_slice(&signature.0);
        let secret = suite.agree(&exchange.private, &peer.exchange)?;
        let signing = self.0.private.duplicate();
        let session = Session::new(Role::Responder, &secret, transcript, signing, peer.verifying)?;
        Ok((Pending(session), answer))
    }
}

/// A handshake that waits for its answer.
#[derive(Debug)]
pub struct Initiator {
    exchange: KeyPair,
    signing: PrivateKey,
    hello: [u8; HELLO_LEN],
}

impl Initiator {
    /// Ends the handshake. A wrong answer changes nothing: the right one may still come. One
    /// signature check and one scalar multiplication.
    pub fn finish<S: Suite>(
        &self,
        answer: &[u8],
        admission: Admission,
        suite: &mut S,
    ) -> Result<Session, Refused> {
        let answer: &[u8; ANSWER_LEN] = answer.try_into().map_err(|_| Refused::Length)?;
        let (offer, signature) = answer.split_first_chunk().ok_or(Refused::Length)?;
        let peer = Offer::parse(ANSWER, offer, admission)?;
        let transcript = Transcript::of(&self.hello, offer);
        let signature = Signature(signature.try_into().map_err(|_| Refused::Length)?);
        suite.verify(&peer.verifying, &transcript.of_answer(), &signature)?;
        let secret = suite.agree(&self.exchange.private, &peer.exchange)?;
        Session::new(Role::Initiator, &secret, transcript, self.signing.duplicate(), peer.verifying)
    }
}

/// A responder's session that nobody has proved to share. It sends nothing.
#[derive(Debug)]
pub struct Pending(Session);

impl Pending {
    /// Who claims to have said hello.
    pub const fn claimed(&self) -> PublicKey {
        self.0.peer
    }

    /// Opens the first message, which proves the peer. A wrong one changes nothing: the right one
    /// may still come, so it is given back with the reason.
    #[expect(clippy::result_large_err, reason = "what is refused is still needed")]
    pub fn open<'d, S: Suite>(
        mut self,
        datagram: &'d mut [u8],
        suite: &mut S,
    ) -> Result<(Session, &'d mut [u8]), (Self, Refused)> {
        match self.0.open(datagram, suite) {
            Ok(message) => Ok((self.0, message)),
            Err(refused) => Err((self, refused)),
        }
    }
}

/// What two neighbours share after a handshake. It lives in RAM alone: after a restart, another
/// handshake makes other keys, so that no number is used twice with one key.
pub struct Session {
    role: Role,
    seal: Secret<KEY_LEN>,
    open: Secret<KEY_LEN>,
    transcript: Transcript,
    signing: PrivateKey,
    peer: PublicKey,
    /// The next message's.
    number: u64,
    seen: Seen,
    /// What tells the message that was opened last, as it came; zeros before the first.
    last: MessageDigest,
}

/// The beginning of a message's hash: nobody finds two messages that have it in common.
type MessageDigest = [u8; 16];

impl Session {
    fn new(
        role: Role,
        secret: &Secret<32>,
        transcript: Transcript,
        signing: PrivateKey,
        peer: PublicKey,
    ) -> Result<Self, Refused> {
        let keys = Hkdf::<Sha256>::new(Some(&transcript.0), secret.expose());
        let key = |role: Role| {
            let mut key = Secret::zero();
            keys.expand(role.label(), key.expose_mut()).map_err(|_| Refused::Length)?;
            Ok(key)
        };
        let (seal, open) = (key(role)?, key(role.other())?);
        let (seen, last) = (Seen::default(), MessageDigest::default());
        Ok(Self { role, seal, open, transcript, signing, peer, number: 0, seen, last })
    }

    /// The peer's identity.
    pub const fn peer(&self) -> PublicKey {
        self.peer
    }

    /// Puts a message into `out`, of which it returns what it used: [`OVERHEAD`] bytes more than
    /// the text. One signature.
    pub fn seal<'o, S: Suite, R: CryptoRng + ?Sized>(
        &mut self,
        message: &[u8],
        out: &'o mut [u8],
        suite: &mut S,
        rng: &mut R,
    ) -> Result<&'o mut [u8], Refused> {
        let out = out.get_mut(..OVERHEAD + message.len()).ok_or(Refused::Length)?;
        let Fields { header, text, tag, signature } = Fields::of(out)?;
        let number = self.number;
        self.number = number.checked_add(1).ok_or(Refused::Exhausted)?;
        header[0] = MESSAGE;
        header[1..].copy_from_slice(&number.to_be_bytes());
        text.copy_from_slice(message);
        *tag = suite.aes().seal(&self.seal, &nonce(number), header, text)?;
        let signed = self.transcript.of_message(self.role, header, [text, tag]);
        *signature = suite.sign(&self.signing, &signed, rng)?.0;
        Ok(out)
    }

    /// Opens a message in place. Whoever does not have the session's key causes one run of AES-CCM
    /// and two hashes; a message that was seen, or is further back than 64 messages, one hash.
    /// [`Refused::Repeated`] is for the last one and the same bytes: whoever changes what was
    /// heard learns of no receipt.
    pub fn open<'d, S: Suite>(
        &mut self,
        datagram: &'d mut [u8],
        suite: &mut S,
    ) -> Result<&'d mut [u8], Refused> {
        let came = digest(&[datagram]).first_chunk().copied().unwrap_or_default();
        let Fields { header, text, tag, signature } = Fields::of(datagram)?;
        let (&mut [kind], number) = header.split_first_chunk_mut().ok_or(Refused::Length)?;
        if kind != MESSAGE {
            return Err(Refused::Kind);
        }
        let number = u64::from_be_bytes((&*number).try_into().map_err(|_| Refused::Length)?);
        let fresh = match self.seen.fresh(number) {
            Err(Refused::Replayed) if came == self.last => return Err(Refused::Repeated),
            fresh => fresh?,
        };
        let signed = self.transcript.of_message(self.role.other(), header, [text, tag]);
        suite.aes().open(&self.open, &nonce(number), header, text, tag)?;
        suite.verify(&self.peer, &signed, &Signature(*signature))?;
        (self.seen, self.last) = (fresh, came);
        Ok(text)
    }
}

impl core::fmt::Debug for Session {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Session").field("role", &self.role).field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// Where the parts of a message are.
struct Fields<'a> {
    header: &'a mut [u8; 1 + NUMBER_LEN],
    text: &'a mut [u8],
    tag: &'a mut [u8; TAG_LEN],
    signature: &'a mut [u8; SIGNATURE_LEN],
}

impl<'a> Fields<'a> {
    fn of(message: &'a mut [u8]) -> Result<Self, Refused> {
        let (header, rest) = message.split_first_chunk_mut().ok_or(Refused::Length)?;
        let (rest, signature) = rest.split_last_chunk_mut().ok_or(Refused::Length)?;
        let (text, tag) = rest.split_last_chunk_mut().ok_or(Refused::Length)?;
        Ok(Self { header, text, tag, signature })
    }
}

fn nonce(number: u64) -> [u8; NONCE_LEN] {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - NUMBER_LEN..].copy_from_slice(&number.to_be_bytes());
    nonce
}

/// Which numbers have come: the highest, and of those below it a bit each.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// One more than the highest.
    end: u64,
    /// Bit i is set if number `end - 1 - i` has come.
    bits: u64,
}

impl Seen {
    /// What it is once this number has come. [`Refused::Replayed`] if it has come, or nobody knows.
    const fn fresh(self, number: u64) -> Result<Self, Refused> {
        if number == u64::MAX {
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
