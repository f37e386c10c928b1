//! The side that answers. Four scalar multiplications in method 3, one in each step:
//! [`Message1::ephemeral`], [`Ephemeral::agree`], [`Agreed::authenticate`] and
//! [`ReceivedMessage3::verify_peer`]. Reading message_1 and message_3 costs none.

use core::fmt;
use core::ops::Range;

use motemix_crypto::Secret;
use rand_core::CryptoRng;

use super::authentication::{INITIATOR, RESPONDER, Statement};
use super::cbor::{ARRAY, BYTES, Reader, Writer};
use super::cipher_suite::EPHEMERAL_LEN;
use super::message::{Layout, MAX_HEAD_LEN, Proof, Sealing, apply_keystream_2, emit_parts, wrap};
use super::schedule::{HASH_LEN, Label, Prk, Transcript};
use super::{
    CipherSuite, ConnectionId, CredentialId, Ead, Method, OwnCredential, PeerCredential, Refused, Role,
    Session,
};
use crate::suite::digest;

/// What a responder offers.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// How it lets others authenticate.
    pub methods: &'a [Method],
    /// The suites that it speaks, the best first: SUITES_R of an
    /// [error message](super::ErrorMessage::WrongSuite).
    pub suites: &'a [i16],
    /// The labels of the data items that its application knows.
    pub understood: &'a [u32],
}

/// message_1, parsed. Whose it is nobody knows yet.
#[derive(Clone, Copy, Debug)]
pub struct Message1<'m> {
    bytes: &'m [u8],
    method: Method,
    suite: i16,
    g_x: &'m [u8; EPHEMERAL_LEN],
    connection: ConnectionId,
    ead_1: Ead<'m>,
}

impl<'m> Message1<'m> {
    /// Reads a message and computes nothing.
    ///
    /// [`Refused::Suite`] if the selected suite is not offered, or another of the initiator's is
    /// that it likes better: answer with [`ErrorMessage::WrongSuite`](super::ErrorMessage).
    pub fn parse(bytes: &'m [u8], offer: &Offer) -> Result<Self, Refused> {
        let mut reader = Reader::new(bytes);
        let method = reader.int()?;
        let (selected, is_best) = parse_suites(&mut reader, offer.suites)?;
        let g_x = reader.string(BYTES)?;
        let connection = ConnectionId::parse(&mut reader)?;
        let ead_1 = Ead::new(reader.rest())?;
        let method = Method::of_number(method).filter(|method| offer.methods.contains(method));
        let method = method.ok_or(Refused::Method)?;
        let suite = selected.filter(|suite| is_best && offer.suites.contains(suite)).ok_or(Refused::Suite)?;
        // The keys of both suites have this length.
        let g_x = g_x.try_into().map_err(|_| Refused::Malformed)?;
        let ead_1 = ead_1.understood(offer.understood)?;
        Ok(Self { bytes, method, suite, g_x, connection, ead_1 })
    }

    /// How both authenticate.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The number of the suite that the initiator selected. It is one of those offered.
    pub const fn suite(&self) -> i16 {
        self.suite
    }

    /// How the initiator names the connection.
    pub const fn connection(&self) -> &ConnectionId {
        &self.connection
    }

    /// What the initiator's application sent along.
    pub const fn ead_1(&self) -> Ead<'m> {
        self.ead_1
    }

    /// Makes this side's ephemeral key. One multiplication; none if the initiator's key is no point
    /// of P-256. [`Refused::Suite`] if `S` is not the suite that was selected.
    pub fn ephemeral<S: CipherSuite, R: CryptoRng + ?Sized>(
        &self,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<Ephemeral<S>, Refused> {
        if self.suite != S::NUMBER {
            return Err(Refused::Suite);
        }
        S::from_coordinate(self.g_x)?;
        let ephemeral = suite.generate(rng);
        Ok(Ephemeral {
            method: self.method,
            initiator: self.connection,
            g_x: *self.g_x,
            g_y: suite.coordinate(&ephemeral)?,
            ephemeral,
            message_1: digest(&[self.bytes]),
        })
    }
}

/// The selected suite, and whether none before it is offered. A number beyond 16 bits is nobody's.
fn parse_suites(reader: &mut Reader, offered: &[i16]) -> Result<(Option<i16>, bool), Refused> {
    let number = |reader: &mut Reader| reader.int().map(|suite| i16::try_from(suite).ok());
    if reader.major() != Some(ARRAY) {
        return Ok((number(reader)?, true));
    }
    let suites = reader.expect(ARRAY)?;
    if suites < 2 {
        return Err(Refused::Malformed);
    }
    let mut is_best = true;
    for _ in 1..suites {
        is_best &= number(reader)?.is_none_or(|suite| !offered.contains(&suite));
    }
    Ok((number(reader)?, is_best))
}

/// A handshake with this side's ephemeral key.
pub struct Ephemeral<S: CipherSuite> {
    method: Method,
    initiator: ConnectionId,
    g_x: [u8; EPHEMERAL_LEN],
    g_y: [u8; EPHEMERAL_LEN],
    ephemeral: S::PrivateKey,
    /// The hash of message_1.
    message_1: [u8; HASH_LEN],
}

impl<S: CipherSuite> Ephemeral<S> {
    /// Agrees with the initiator's ephemeral key. One multiplication. [`Refused::PublicKey`] if
    /// that has small order.
    pub fn agree(self, suite: &mut S) -> Result<Agreed<S>, Refused> {
        let shared = self.shared(suite)?;
        Ok(self.agreed(&shared))
    }

    /// The secret of both ephemeral keys, for whoever has a small stack: beneath the multiplication
    /// nothing is moved. The rest is [`agreed`](Self::agreed).
    pub(crate) fn shared(&self, suite: &mut S) -> Result<Secret<32>, Refused> {
        suite.agree(&self.ephemeral, &S::from_coordinate(&self.g_x)?)
    }

    pub(crate) fn agreed(self, shared: &Secret<32>) -> Agreed<S> {
        let th_2 = Transcript::of_ephemerals(&self.g_y, &self.message_1);
        let prk_2e = Prk::of_ephemerals(shared, &th_2);
        Agreed { ephemeral: self, th_2, prk_2e }
    }
}

/// A handshake in which the ephemeral keys have agreed.
pub struct Agreed<S: CipherSuite> {
    ephemeral: Ephemeral<S>,
    th_2: Transcript,
    prk_2e: Prk,
}

impl<S: CipherSuite> Agreed<S> {
    /// How both authenticate.
    pub const fn method(&self) -> Method {
        self.ephemeral.method
    }

    /// Proves this side: message_2 in `out`. One multiplication, or one signature.
    ///
    /// [`Refused::Room`] if `out` has not one byte more than the message: 45 with names of one byte
    /// in method 3. [`Refused::Length`] if its plaintext is longer than
    /// [`MAX_PLAINTEXT_LEN`](super::MAX_PLAINTEXT_LEN).
    pub fn authenticate<'o, R: CryptoRng + ?Sized>(
        self,
        connection: ConnectionId,
        own: &OwnCredential<S>,
        ead_2: Ead,
        suite: &mut S,
        rng: &mut R,
        out: &'o mut [u8],
    ) -> Result<(AwaitingMessage3<S>, &'o [u8]), Refused> {
        own.key.fits(self.ephemeral.method)?;
        let proof = self.prove(&connection, own, ead_2, suite, rng)?;
        self.seal(connection, own, ead_2, proof, out)
    }

    /// The multiplication of [`authenticate`](Self::authenticate).
    // Not inlined, nor is the next: what sealing needs on the stack must not lie beneath a
    // multiplication.
    #[inline(never)]
    pub(crate) fn prove<R: CryptoRng + ?Sized>(
        &self,
        connection: &ConnectionId,
        own: &OwnCredential<S>,
        ead_2: Ead,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(Prk, Proof), Refused> {
        let mut head = None;
        let statement = Statement {
            labels: RESPONDER,
            prk: &self.prk_2e,
            transcript: &self.th_2,
            connection: connection.pieces(&mut head)?,
            id: own.id,
            credential: own.credential,
            ead: ead_2,
        };
        statement.prove(&own.key, &self.ephemeral.g_x, suite, rng)
    }

    /// The rest of it.
    #[inline(never)]
    pub(crate) fn seal<'o>(
        &self,
        connection: ConnectionId,
        own: &OwnCredential<S>,
        ead_2: Ead,
        (prk_3e2m, proof): (Prk, Proof),
        out: &'o mut [u8],
    ) -> Result<(AwaitingMessage3<S>, &'o [u8]), Refused> {
        let Self { ephemeral, th_2, prk_2e } = self;
        let (_, content) = out.split_at_mut_checked(MAX_HEAD_LEN).ok_or(Refused::Room)?;
        let (to_g_y, content) = content.split_first_chunk_mut().ok_or(Refused::Room)?;
        *to_g_y = ephemeral.g_y;
        let mut writer = Writer::new(content);
        connection.emit(&mut writer)?;
        emit_parts(&mut writer, own.id, &proof, ead_2)?;
        let plaintext = writer.finish();
        let th_3 = th_2.and(plaintext, own.credential);
        apply_keystream_2(prk_2e, th_2, plaintext)?;
        let len = EPHEMERAL_LEN + plaintext.len();
        let waiting = AwaitingMessage3 {
            method: ephemeral.method,
            connections: [ephemeral.initiator, connection],
            ephemeral: S::duplicate(&ephemeral.ephemeral),
            th_3,
            prk_3e2m,
        };
        Ok((waiting, wrap(out, len)?))
    }
}

/// A handshake that waits for message_3. A wrong one changes nothing: keep this value until a peer
/// was verified, and drop it then. The keys of message_4 must not encrypt two texts.
pub struct AwaitingMessage3<S: CipherSuite> {
    method: Method,
    connections: [ConnectionId; 2],
    ephemeral: S::PrivateKey,
    th_3: Transcript,
    prk_3e2m: Prk,
}

impl<S: CipherSuite> AwaitingMessage3<S> {
    /// Decrypts message_3 where it lies. No multiplication.
    ///
    /// Who sent it knows who the responder is, and is known by [`ReceivedMessage3::verify_peer`]
    /// only. `understood` are the labels of the data items that this application knows.
    pub fn read_message_3<M: AsRef<[u8]> + AsMut<[u8]>>(
        &self,
        mut message: M,
        understood: &[u32],
        suite: &mut S,
    ) -> Result<ReceivedMessage3<S, M>, Refused> {
        let sealing =
            Sealing { labels: [Label::Key3, Label::Nonce3], prk: &self.prk_3e2m, transcript: &self.th_3 };
        let plaintext = sealing.open(suite, message.as_mut())?;
        let text = message.as_ref().get(plaintext.clone()).unwrap_or_default();
        let layout = Layout::parse(Reader::new(text), text.len(), self.method, understood)?;
        let waiting = Self {
            method: self.method,
            connections: self.connections,
            ephemeral: S::duplicate(&self.ephemeral),
            th_3: self.th_3,
            prk_3e2m: self.prk_3e2m.duplicate(),
        };
        Ok(ReceivedMessage3 { waiting, message, plaintext, layout })
    }

    /// How both authenticate.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The name that this side chose.
    pub const fn connection(&self) -> &ConnectionId {
        let [_, responder] = &self.connections;
        responder
    }
}

/// message_3, decrypted. Whose it is nobody knows yet.
pub struct ReceivedMessage3<S: CipherSuite, M> {
    waiting: AwaitingMessage3<S>,
    message: M,
    plaintext: Range<usize>,
    layout: Layout,
}

impl<S: CipherSuite, M: AsRef<[u8]>> ReceivedMessage3<S, M> {
    fn plaintext(&self) -> &[u8] {
        self.message.as_ref().get(self.plaintext.clone()).unwrap_or_default()
    }

    /// By what name the initiator says its credential is known.
    pub fn id(&self) -> CredentialId<'_> {
        self.layout.id(self.plaintext())
    }

    /// What the initiator's application sent along.
    pub fn ead_3(&self) -> Ead<'_> {
        self.layout.ead(self.plaintext())
    }

    /// How both authenticate.
    pub const fn method(&self) -> Method {
        self.waiting.method
    }

    /// Checks that the initiator has the private key to this credential, and said all of message_3
    /// in this handshake. One multiplication, or one signature check.
    ///
    /// Whether this credential may be that of a peer is the caller's decision, and its own
    /// credential is never one.
    pub fn verify_peer(&self, peer: &PeerCredential<S>, suite: &mut S) -> Result<Completed, Refused> {
        let waiting = &self.waiting;
        peer.key.fits(waiting.method)?;
        let statement = Statement {
            labels: INITIATOR,
            prk: &waiting.prk_3e2m,
            transcript: &waiting.th_3,
            connection: [&[], &[]],
            id: self.id(),
            credential: peer.credential,
            ead: self.ead_3(),
        };
        let proof = self.layout.proof(self.plaintext());
        let prk_4e3m = statement.check(&peer.key, &waiting.ephemeral, proof, suite)?;
        let th_4 = waiting.th_3.and(self.plaintext(), peer.credential);
        let session = Session::new(Role::Responder, waiting.connections, th_4, &prk_4e3m)?;
        Ok(Completed { session, th_4, prk_4e3m })
    }
}

/// A handshake that has ended: both sides have proved themselves.
pub struct Completed {
    session: Session,
    th_4: Transcript,
    prk_4e3m: Prk,
}

impl Completed {
    /// The session, and message_4 in `out`, which tells the initiator that message_3 arrived. No
    /// multiplication. There is one message_4 only, for its key and nonce may be used once.
    ///
    /// [`Refused::Room`] if `out` has not two bytes more than the message: 9 without data.
    pub fn message_4<'o, S: CipherSuite>(
        self,
        ead_4: Ead,
        suite: &mut S,
        out: &'o mut [u8],
    ) -> Result<(Session, &'o [u8]), Refused> {
        let (_, content) = out.split_at_mut_checked(MAX_HEAD_LEN).ok_or(Refused::Room)?;
        let mut writer = Writer::new(content);
        writer.raw(ead_4.as_bytes())?;
        let len = writer.len();
        let sealing =
            Sealing { labels: [Label::Key4, Label::Nonce4], prk: &self.prk_4e3m, transcript: &self.th_4 };
        let message_4 = sealing.seal(suite, out, len)?;
        Ok((self.session, message_4))
    }

    /// The session, before it is decided on message_4.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The session, without message_4.
    pub fn into_session(self) -> Session {
        self.session
    }
}

impl<S: CipherSuite> fmt::Debug for Ephemeral<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ephemeral").field("method", &self.method).finish_non_exhaustive()
    }
}

impl<S: CipherSuite> fmt::Debug for Agreed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agreed").field("method", &self.ephemeral.method).finish_non_exhaustive()
    }
}

impl<S: CipherSuite> fmt::Debug for AwaitingMessage3<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwaitingMessage3").field("method", &self.method).finish_non_exhaustive()
    }
}

impl<S: CipherSuite, M> fmt::Debug for ReceivedMessage3<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedMessage3").field("method", &self.waiting.method).finish_non_exhaustive()
    }
}

impl fmt::Debug for Completed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completed(..)")
    }
}
