//! How a side proves who it is, and how its peer checks that (RFC 9528, 5.3.2 and 5.4.2). Both
//! messages do it in one way: a static key's secret goes into the next pseudorandom key, a MAC
//! covers what was said, and in method 0 a signature covers the MAC.

use motemix_crypto::Secret;
use rand_core::CryptoRng;
use subtle::ConstantTimeEq;

use super::cbor::{BYTES, Head};
use super::message::{MAC_LEN, Proof};
use super::schedule::{HASH_HEAD, HASH_LEN, Label, Prk, Transcript};
use super::{CipherSuite, Credential, CredentialId, Ead, OwnKey, PeerKey, Refused};
use crate::suite::SIGNATURE_LEN;

/// The first two items of a `Sig_structure` (RFC 9052, 4.4).
const SIGNATURE1: [u8; 12] = *b"\x84\x6aSignature1";

/// Which of the two messages proves: the labels of its salt and of its MAC.
#[derive(Clone, Copy)]
pub(super) struct Labels {
    salt: Label,
    mac: Label,
}

/// message_2 proves the responder.
pub(super) const RESPONDER: Labels = Labels { salt: Label::Salt3e2m, mac: Label::Mac2 };
/// message_3 proves the initiator.
pub(super) const INITIATOR: Labels = Labels { salt: Label::Salt4e3m, mac: Label::Mac3 };

/// What a proof covers, and the key before it.
pub(super) struct Statement<'a> {
    pub(super) labels: Labels,
    /// PRK_2e or PRK_3e2m.
    pub(super) prk: &'a Prk,
    /// TH_2 or TH_3.
    pub(super) transcript: &'a Transcript,
    /// C_R as encoded; nothing in message_3.
    pub(super) connection: [&'a [u8]; 2],
    pub(super) id: CredentialId<'a>,
    pub(super) credential: Credential<'a>,
    pub(super) ead: Ead<'a>,
}

impl Statement<'_> {
    /// The next pseudorandom key and the proof. One multiplication or one signature.
    pub(super) fn prove<S: CipherSuite, R: CryptoRng + ?Sized>(
        &self,
        own: &OwnKey<S>,
        peer_ephemeral: &[u8; 32],
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(Prk, Proof), Refused> {
        let mut proof = Proof { bytes: [0; SIGNATURE_LEN], len: MAC_LEN };
        match own {
            OwnKey::Static(private) => {
                let shared = suite.agree(private, &S::from_coordinate(peer_ephemeral)?)?;
                let prk = self.prk.and_static(self.labels.salt, self.transcript, &shared)?;
                let mac: Secret<MAC_LEN> = self.mac(&prk)?;
                proof.bytes.get_mut(..MAC_LEN).ok_or(Refused::Length)?.copy_from_slice(mac.expose());
                Ok((prk, proof))
            }
            OwnKey::Signing(key) => {
                let mac = self.mac(self.prk)?;
                proof.bytes = self.with_signed(&mac, |signed| suite.sign(key, signed, rng))?;
                proof.len = SIGNATURE_LEN;
                Ok((self.prk.duplicate(), proof))
            }
        }
    }

    /// The next pseudorandom key, if the proof is right. One multiplication or one signature
    /// check.
    pub(super) fn check<S: CipherSuite>(
        &self,
        peer: &PeerKey<S>,
        own_ephemeral: &S::PrivateKey,
        proof: &[u8],
        suite: &mut S,
    ) -> Result<Prk, Refused> {
        match peer {
            PeerKey::Static(public) => {
                let proof: &[u8; MAC_LEN] = proof.try_into().map_err(|_| Refused::Malformed)?;
                let shared = suite.agree(own_ephemeral, public)?;
                let prk = self.prk.and_static(self.labels.salt, self.transcript, &shared)?;
                let mac: Secret<MAC_LEN> = self.mac(&prk)?;
                // Disclosed: whether the MAC is right. Whoever sent it sees what follows.
                if bool::from(mac.ct_eq(&Secret::new(*proof))) { Ok(prk) } else { Err(Refused::Mac) }
            }
            PeerKey::Verifying(key) => {
                let signature = proof.try_into().map_err(|_| Refused::Malformed)?;
                let mac = self.mac(self.prk)?;
                self.with_signed(&mac, |signed| suite.verify(key, signed, signature))?;
                Ok(self.prk.duplicate())
            }
        }
    }

    pub(super) fn mac<const N: usize>(&self, prk: &Prk) -> Result<Secret<N>, Refused> {
        let id = self.id.header_map()?;
        let [label, id_head, id] = id.pieces();
        let [c_head, c] = self.connection;
        let head = self.credential.head();
        let credential = [head.as_ref().map_or(&[][..], Head::as_slice), self.credential.as_bytes()];
        prk.derive(
            self.labels.mac,
            &[
                c_head,
                c,
                label,
                id_head,
                id,
                &HASH_HEAD,
                &self.transcript.0,
                credential[0],
                credential[1],
                self.ead.as_bytes(),
            ],
        )
    }

    /// Hands over the pieces that a signature covers: `["Signature1", ID_CRED, (TH, CRED, EAD),
    /// MAC]`, the second and third wrapped in byte strings.
    pub(super) fn with_signed<T>(
        &self,
        mac: &Secret<HASH_LEN>,
        then: impl FnOnce(&[&[u8]]) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let id = self.id.header_map()?;
        let [label, id_head, id] = id.pieces();
        let protected = Head::of_len(BYTES, label.len() + id_head.len() + id.len())?;
        let head = self.credential.head();
        let head = head.as_ref().map_or(&[][..], Head::as_slice);
        let credential = self.credential.as_bytes();
        let ead = self.ead.as_bytes();
        let external = HASH_HEAD.len() + HASH_LEN + head.len() + credential.len() + ead.len();
        let external = Head::of_len(BYTES, external)?;
        then(&[
            &SIGNATURE1,
            protected.as_slice(),
            label,
            id_head,
            id,
            external.as_slice(),
            &HASH_HEAD,
            &self.transcript.0,
            head,
            credential,
            ead,
            &HASH_HEAD,
            mac.expose(),
        ])
    }
}
