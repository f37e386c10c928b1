//! The side that begins. Four scalar multiplications in method 3, one in each step: [`begin`],
//! [`AwaitingMessage2::read_message_2`], [`ReceivedMessage2::verify_peer`] and
//! [`VerifiedResponder::message_3`].

use core::fmt;
use core::ops::Range;

use rand_core::CryptoRng;

use super::authentication::{INITIATOR, RESPONDER, Statement};
use super::cbor::{ARRAY, BYTES, Head, Reader, Writer};
use super::cipher_suite::EPHEMERAL_LEN;
use super::message::{Layout, MAX_HEAD_LEN, Proof, Sealing, apply_keystream_2, emit_parts, unwrap};
use super::schedule::{HASH_LEN, Label, Prk, Transcript};
use super::{
    CipherSuite, ConnectionId, CredentialId, Ead, Method, OwnCredential, PeerCredential, Refused, Role,
    Session,
};
use crate::suite::digest;

/// What message_1 says besides an ephemeral key.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// How both will authenticate.
    pub method: Method,
    /// Suites that this side prefers to the one that it selects, and that the responder is known
    /// not to speak. Empty at first.
    pub passed_over: &'a [i16],
    /// How this side names the connection.
    pub connection: ConnectionId,
    /// Data for the peer's application. Everybody can read and change it.
    pub ead_1: Ead<'a>,
}

/// Begins a handshake: message_1 in `out`. One multiplication.
///
/// [`Refused::Room`] if the message does not fit: 37 bytes with a connection identifier of one
/// byte.
pub fn begin<'o, S: CipherSuite, R: CryptoRng + ?Sized>(
    opening: &Opening,
    suite: &mut S,
    rng: &mut R,
    out: &'o mut [u8],
) -> Result<(AwaitingMessage2<S>, &'o [u8]), Refused> {
    let ephemeral = suite.generate(rng);
    let mut writer = Writer::new(out);
    writer.int(opening.method as i16)?;
    if !opening.passed_over.is_empty() {
        writer.raw(Head::of_len(ARRAY, opening.passed_over.len() + 1)?.as_slice())?;
        opening.passed_over.iter().try_for_each(|suite| writer.int(*suite))?;
    }
    writer.int(S::NUMBER)?;
    writer.string(BYTES, &suite.coordinate(&ephemeral)?)?;
    opening.connection.emit(&mut writer)?;
    writer.raw(opening.ead_1.as_bytes())?;
    let message_1 = &*writer.finish();
    let waiting = AwaitingMessage2 {
        method: opening.method,
        connection: opening.connection,
        ephemeral,
        message_1: digest(&[message_1]),
    };
    Ok((waiting, message_1))
}

/// A handshake that waits for message_2. A wrong one changes nothing: keep this value until a peer
/// was verified, and drop it then. The keys of message_3 follow from both messages before it, and
/// must not encrypt two texts.
pub struct AwaitingMessage2<S: CipherSuite> {
    method: Method,
    connection: ConnectionId,
    ephemeral: S::PrivateKey,
    /// The hash of message_1.
    message_1: [u8; HASH_LEN],
}

impl<S: CipherSuite> AwaitingMessage2<S> {
    /// Decrypts message_2 where it lies. One multiplication.
    ///
    /// Nothing in it is authentic before [`ReceivedMessage2::verify_peer`]. `understood` are the
    /// labels of the data items that this application knows.
    pub fn read_message_2<M: AsRef<[u8]> + AsMut<[u8]>>(
        &self,
        mut message: M,
        understood: &[u32],
        suite: &mut S,
    ) -> Result<ReceivedMessage2<S, M>, Refused> {
        let content = unwrap(message.as_ref())?;
        let at = content.start + EPHEMERAL_LEN..content.end;
        let (g_y, ciphertext) = message
            .as_mut()
            .get_mut(content)
            .and_then(|content| content.split_first_chunk_mut())
            .ok_or(Refused::Malformed)?;
        let g_y = *g_y;
        let shared = suite.agree(&self.ephemeral, &S::from_coordinate(&g_y)?)?;
        let th_2 = Transcript::of_ephemerals(&g_y, &self.message_1);
        let prk_2e = Prk::of_ephemerals(&shared, &th_2);
        apply_keystream_2(&prk_2e, &th_2, ciphertext)?;
        let mut reader = Reader::new(ciphertext);
        let peer_connection = ConnectionId::parse(&mut reader)?;
        let layout = Layout::parse(reader, ciphertext.len(), self.method, understood)?;
        Ok(ReceivedMessage2 {
            method: self.method,
            connections: [self.connection, peer_connection],
            ephemeral: S::duplicate(&self.ephemeral),
            g_y,
            th_2,
            prk_2e,
            message,
            plaintext: at,
            layout,
        })
    }

    /// How both authenticate.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The name that this side chose.
    pub const fn connection(&self) -> &ConnectionId {
        &self.connection
    }
}

/// message_2, decrypted. Whose it is nobody knows yet.
pub struct ReceivedMessage2<S: CipherSuite, M> {
    method: Method,
    connections: [ConnectionId; 2],
    ephemeral: S::PrivateKey,
    g_y: [u8; EPHEMERAL_LEN],
    th_2: Transcript,
    prk_2e: Prk,
    message: M,
    plaintext: Range<usize>,
    layout: Layout,
}

impl<S: CipherSuite, M: AsRef<[u8]>> ReceivedMessage2<S, M> {
    fn plaintext(&self) -> &[u8] {
        self.message.as_ref().get(self.plaintext.clone()).unwrap_or_default()
    }

    /// By what name the responder says its credential is known.
    pub fn id(&self) -> CredentialId<'_> {
        self.layout.id(self.plaintext())
    }

    /// What the responder's application sent along.
    pub fn ead_2(&self) -> Ead<'_> {
        self.layout.ead(self.plaintext())
    }

    /// How both authenticate.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// Checks that the responder has the private key to this credential, and said all of message_2
    /// in this handshake. One multiplication, or one signature check.
    ///
    /// Whether this credential may be that of a peer is the caller's decision, and its own
    /// credential is never one.
    pub fn verify_peer(
        &self,
        peer: &PeerCredential<S>,
        suite: &mut S,
    ) -> Result<VerifiedResponder<S>, Refused> {
        peer.key.fits(self.method)?;
        let [_, peer_connection] = &self.connections;
        let mut head = None;
        let statement = Statement {
            labels: RESPONDER,
            prk: &self.prk_2e,
            transcript: &self.th_2,
            connection: peer_connection.pieces(&mut head)?,
            id: self.id(),
            credential: peer.credential,
            ead: self.ead_2(),
        };
        let proof = self.layout.proof(self.plaintext());
        let prk_3e2m = statement.check(&peer.key, &self.ephemeral, proof, suite)?;
        let th_3 = self.th_2.and(self.plaintext(), peer.credential);
        Ok(VerifiedResponder {
            method: self.method,
            connections: self.connections,
            g_y: self.g_y,
            th_3,
            prk_3e2m,
            suite: core::marker::PhantomData,
        })
    }
}

/// A handshake whose responder has proved itself. What remains is to prove this side.
pub struct VerifiedResponder<S> {
    method: Method,
    connections: [ConnectionId; 2],
    g_y: [u8; EPHEMERAL_LEN],
    th_3: Transcript,
    prk_3e2m: Prk,
    suite: core::marker::PhantomData<S>,
}

impl<S: CipherSuite> VerifiedResponder<S> {
    /// Ends the handshake: message_3 in `out`, which is to be sent until the peer shows that it
    /// has it. One multiplication, or one signature. There is one message_3 only, for its key and
    /// nonce may be used once.
    ///
    /// [`Refused::Room`] if `out` has not two bytes more than the message: 19 with a `kid` of one
    /// byte in method 3.
    pub fn message_3<'o, R: CryptoRng + ?Sized>(
        self,
        own: &OwnCredential<S>,
        ead_3: Ead,
        suite: &mut S,
        rng: &mut R,
        out: &'o mut [u8],
    ) -> Result<(Completed, &'o [u8]), Refused> {
        own.key.fits(self.method)?;
        let proof = self.prove(own, ead_3, suite, rng)?;
        self.seal(own, ead_3, proof, suite, out)
    }

    /// The multiplication of [`message_3`](Self::message_3).
    // Not inlined, nor is the next: what sealing needs on the stack must not lie beneath a
    // multiplication.
    #[inline(never)]
    pub(crate) fn prove<R: CryptoRng + ?Sized>(
        &self,
        own: &OwnCredential<S>,
        ead_3: Ead,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(Prk, Proof), Refused> {
        let statement = Statement {
            labels: INITIATOR,
            prk: &self.prk_3e2m,
            transcript: &self.th_3,
            connection: [&[], &[]],
            id: own.id,
            credential: own.credential,
            ead: ead_3,
        };
        statement.prove(&own.key, &self.g_y, suite, rng)
    }

    /// The rest of it, once.
    #[inline(never)]
    pub(crate) fn seal<'o>(
        &self,
        own: &OwnCredential<S>,
        ead_3: Ead,
        (prk_4e3m, proof): (Prk, Proof),
        suite: &mut S,
        out: &'o mut [u8],
    ) -> Result<(Completed, &'o [u8]), Refused> {
        let (_, content) = out.split_at_mut_checked(MAX_HEAD_LEN).ok_or(Refused::Room)?;
        let mut writer = Writer::new(content);
        emit_parts(&mut writer, own.id, &proof, ead_3)?;
        let plaintext = writer.finish();
        let th_4 = self.th_3.and(plaintext, own.credential);
        let len = plaintext.len();
        let sealing =
            Sealing { labels: [Label::Key3, Label::Nonce3], prk: &self.prk_3e2m, transcript: &self.th_3 };
        let message_3 = sealing.seal(suite, out, len)?;
        let session = Session::new(Role::Initiator, self.connections, th_4, &prk_4e3m)?;
        Ok((Completed { session, th_4, prk_4e3m }, message_3))
    }
}

/// A handshake that has ended for the initiator. It does not know whether message_3 arrived, until
/// a message under the session's keys or message_4 comes.
pub struct Completed {
    session: Session,
    th_4: Transcript,
    prk_4e3m: Prk,
}

impl Completed {
    /// Decrypts message_4 in place and returns what the responder's application sent along. A wrong
    /// one changes nothing. No multiplication.
    pub fn read_message_4<'m, S: CipherSuite>(
        &self,
        message: &'m mut [u8],
        understood: &[u32],
        suite: &mut S,
    ) -> Result<Ead<'m>, Refused> {
        let sealing =
            Sealing { labels: [Label::Key4, Label::Nonce4], prk: &self.prk_4e3m, transcript: &self.th_4 };
        let plaintext = sealing.open(suite, message)?;
        Ead::new(message.get(plaintext).unwrap_or_default())?.understood(understood)
    }

    /// The session, while message_4 may still come.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The session, with or without message_4.
    pub fn into_session(self) -> Session {
        self.session
    }
}

impl<S: CipherSuite> fmt::Debug for AwaitingMessage2<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwaitingMessage2").field("method", &self.method).finish_non_exhaustive()
    }
}

impl<S: CipherSuite, M> fmt::Debug for ReceivedMessage2<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedMessage2").field("method", &self.method).finish_non_exhaustive()
    }
}

impl<S> fmt::Debug for VerifiedResponder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedResponder").field("method", &self.method).finish_non_exhaustive()
    }
}

impl fmt::Debug for Completed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completed(..)")
    }
}
