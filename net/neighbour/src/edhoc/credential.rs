//! Whose key it is: a credential, the name by which messages refer to it, and the key itself.
//!
//! The handshake covers all bytes of both credentials and trusts none of them: the caller says
//! which credential it knows under a name, and which key is in it.

use super::cbor::{BYTES, Head, MAP, Reader};
use super::{Ccs, CipherSuite, Method, Refused};

/// COSE header parameters in `ID_CRED` (RFC 9052, 3.1; RFC 9528, 9.6), each a map of one entry.
const KID_HEAD: [u8; 2] = [0xa1, 4];
const KCCS_HEAD: [u8; 2] = [0xa1, 14];

/// How a message refers to a credential (`ID_CRED_R`, `ID_CRED_I`; RFC 9528, 3.5.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CredentialId<'a> {
    /// By a short name. One byte long, and the encoding of an integer from −24 to 23, it takes one
    /// byte of the message: bytes 00 to 17 and 20 to 37.
    Kid(&'a [u8]),
    /// By a CWT Claims Set, which is the credential.
    Ccs(&'a [u8]),
    /// By any other COSE header map, encoded: for instance the digest of a certificate.
    Header(&'a [u8]),
}

/// `ID_CRED` as a header map: what stands before the bytes, and the bytes.
pub(super) struct HeaderMap<'a> {
    label: &'static [u8],
    head: Option<Head>,
    bytes: &'a [u8],
}

impl HeaderMap<'_> {
    pub(super) fn pieces(&self) -> [&[u8]; 3] {
        [self.label, self.head.as_ref().map_or(&[], Head::as_slice), self.bytes]
    }
}

impl<'a> CredentialId<'a> {
    /// The header map of an encoded `ID_CRED`. The name of a map with a kid or a Claims Set alone
    /// is [`Kid`](Self::Kid) or [`Ccs`](Self::Ccs).
    pub fn from_header(map: &'a [u8]) -> Result<Self, Refused> {
        let mut reader = Reader::new(map);
        if reader.major() != Some(MAP) || reader.item()?.len() != map.len() {
            return Err(Refused::Malformed);
        }
        if let Some(kid) = map.strip_prefix(&KID_HEAD) {
            return Reader::new(kid).string(BYTES).map(Self::Kid);
        }
        match map.strip_prefix(&KCCS_HEAD) {
            Some(ccs) => Ok(Self::Ccs(ccs)),
            None => Ok(Self::Header(map)),
        }
    }

    pub(super) fn header_map(self) -> Result<HeaderMap<'a>, Refused> {
        Ok(match self {
            Self::Kid(kid) => {
                HeaderMap { label: &KID_HEAD, head: Some(Head::of_len(BYTES, kid.len())?), bytes: kid }
            }
            Self::Ccs(ccs) => HeaderMap { label: &KCCS_HEAD, head: None, bytes: ccs },
            Self::Header(map) => HeaderMap { label: &[], head: None, bytes: map },
        })
    }
}

/// A credential's bytes (`CRED_R`, `CRED_I`; RFC 9528, 3.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Credential<'a> {
    head: Option<u16>,
    bytes: &'a [u8],
}

impl<'a> Credential<'a> {
    /// A CWT Claims Set, or another credential that is one item of CBOR by itself.
    /// [`Refused::Credential`] if it is not.
    pub fn ccs(bytes: &'a [u8]) -> Result<Self, Refused> {
        match Reader::new(bytes).item() {
            Ok(item) if item.len() == bytes.len() => Ok(Self { head: None, bytes }),
            _ => Err(Refused::Credential),
        }
    }

    /// An X.509 certificate, or another credential that is bytes and no CBOR. Nothing here looks
    /// into it. [`Refused::Length`] above 65,535 bytes.
    pub fn certificate(bytes: &'a [u8]) -> Result<Self, Refused> {
        let len = bytes.len().try_into().map_err(|_| Refused::Length)?;
        Ok(Self { head: Some(len), bytes })
    }

    /// What stands before the bytes where they are covered, and the bytes.
    pub(super) fn head(self) -> Option<Head> {
        self.head.map(|len| Head::new(BYTES, len))
    }

    /// The bytes that the constructor got.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }
}

/// What a side authenticates itself with.
pub enum OwnKey<'a, S: CipherSuite> {
    /// The private key for method 3.
    Static(&'a S::PrivateKey),
    /// The private key for method 0.
    Signing(&'a S::SigningKey),
}

/// What a side checks its peer with.
pub enum PeerKey<S: CipherSuite> {
    /// The public key for method 3.
    Static(S::PublicKey),
    /// The public key for method 0.
    Verifying(S::VerifyingKey),
}

impl<S: CipherSuite> OwnKey<'_, S> {
    pub(super) const fn fits(&self, method: Method) -> Result<(), Refused> {
        match (self, method) {
            (Self::Static(_), Method::StaticKeys) | (Self::Signing(_), Method::Signatures) => Ok(()),
            _ => Err(Refused::Key),
        }
    }
}

impl<S: CipherSuite> PeerKey<S> {
    pub(super) const fn fits(&self, method: Method) -> Result<(), Refused> {
        match (self, method) {
            (Self::Static(_), Method::StaticKeys) | (Self::Verifying(_), Method::Signatures) => Ok(()),
            _ => Err(Refused::Key),
        }
    }
}

/// A side's own credential.
pub struct OwnCredential<'a, S: CipherSuite> {
    /// How its message refers to it.
    pub id: CredentialId<'a>,
    /// Its bytes, which hold the public key.
    pub credential: Credential<'a>,
    /// The private key to it.
    pub key: OwnKey<'a, S>,
}

/// The credential that a side knows its peer by.
pub struct PeerCredential<'a, S: CipherSuite> {
    /// Its bytes.
    pub credential: Credential<'a>,
    /// The public key in it.
    pub key: PeerKey<S>,
}

impl<'a, S: CipherSuite> PeerCredential<'a, S> {
    /// A CWT Claims Set and the key in it, as the method needs it. The bytes may come from the
    /// message itself ([`CredentialId::Ccs`]): whether the key is one that the caller trusts is
    /// then the caller's question.
    pub fn from_ccs(bytes: &'a [u8], method: Method) -> Result<Self, Refused> {
        let key = Ccs::parse(bytes)?.key;
        let key = match method {
            Method::StaticKeys => PeerKey::Static(S::public_key(&key)?),
            Method::Signatures => PeerKey::Verifying(S::verifying_key(&key)?),
        };
        Ok(Self { credential: Credential::ccs(bytes)?, key })
    }
}
