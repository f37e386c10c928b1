//! What a node says of itself, signed with its operator's key. `docs/spec/descriptor.md` is
//! normative for its bytes.
//!
//! ```text
//! bytes ─ SignedDescriptor::parse ─ verify ─ Descriptor ─ mix_key(epoch)
//!           shape of the envelope    every field, then
//!                                    the signature by the key in it
//! ```

use core::fmt;
use core::net::SocketAddr;

use motemix_crypto::{PublicKey, ed25519};
use motemix_time::{Epoch, UnixTime};

use crate::authority::{AuthorityKeyError, KeyId};
use crate::builder::BuildError;
use crate::cbor::{Reader, Writer};
use crate::envelope::{Envelope, MAX_HEAD_LEN, frame};
use crate::error::{DocumentError, Field, Flaw};
use crate::mix_key::is_sound;
use crate::node::{Addresses, read_name, write_addresses};
use crate::signature::{self, Label, SIGNATURE_LEN, Signer};
use crate::statement::sign_framed;
use crate::types::MAX_ADDRESSES;

/// Most epochs that a descriptor has mix keys of.
pub const MAX_EPOCHS_AHEAD: usize = 255;
/// Greatest length of a descriptor, in bytes, but for fields that version 1 does not know.
pub const MAX_DESCRIPTOR_LEN: usize =
    MAX_HEAD_LEN + 192 + 19 * MAX_ADDRESSES + (2 + 32) * MAX_EPOCHS_AHEAD + 1 + SIGNATURE_LEN;

/// The format's version.
const VERSION: u64 = 1;

/// An Ed25519 public key by which a node is known for as long as it exists, checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdentityKey([u8; 32]);

impl IdentityKey {
    /// # Errors
    /// As of [`AuthorityKey::from_bytes`](crate::AuthorityKey::from_bytes).
    pub fn from_bytes(key: &[u8; 32]) -> Result<Self, AuthorityKeyError> {
        if ed25519::is_key(key) { Ok(Self(*key)) } else { Err(AuthorityKeyError) }
    }

    /// The key's 32 bytes.
    pub const fn to_bytes(&self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for IdentityKey {
    /// In hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdentityKey({self})")
    }
}

/// A node's Ed25519 secret key. Wiped when dropped; prints as `IdentitySecret(..)`.
pub struct IdentitySecret(Signer);

impl IdentitySecret {
    /// From 32 random bytes: the private key of RFC 8032 §5.1.5.
    pub fn from_bytes(seed: &[u8; 32]) -> Self {
        Self(Signer::from_bytes(seed))
    }

    /// The public key.
    pub fn public_key(&self) -> IdentityKey {
        IdentityKey(self.0.public_key())
    }
}

impl fmt::Debug for IdentitySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentitySecret(..)")
    }
}

/// What a node can do for others; its authorities decide what it does.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Capabilities {
    /// It forwards packets.
    pub mix: bool,
    /// It keeps messages for somebody.
    pub receiver: bool,
}

impl Capabilities {
    const MIX: u64 = 1;
    const RECEIVER: u64 = 2;

    /// Those of a mix.
    pub const fn of_mix() -> Self {
        Self { mix: true, receiver: false }
    }

    /// Those of a receiver.
    pub const fn of_receiver() -> Self {
        Self { mix: false, receiver: true }
    }

    const fn bits(self) -> u64 {
        let mix = if self.mix { Self::MIX } else { 0 };
        let receiver = if self.receiver { Self::RECEIVER } else { 0 };
        mix | receiver
    }

    /// Bits of later versions mean nothing here.
    const fn of_bits(bits: u64) -> Self {
        Self { mix: bits & Self::MIX != 0, receiver: bits & Self::RECEIVER != 0 }
    }
}

/// What is to be said of a node.
#[derive(Clone, Copy, Debug)]
pub struct NewDescriptor<'d> {
    /// The network that it wants to be in.
    pub network_name: &'d str,
    /// When this was said; whatever was said before no longer holds.
    pub issued: UnixTime,
    /// 1 to 32 bytes of `[a-z0-9-]`.
    pub name: &'d str,
    /// What it can do.
    pub capabilities: Capabilities,
    /// One or two, unicast, port not 0.
    pub addresses: &'d [SocketAddr],
    /// The epoch of the first mix key.
    pub first_epoch: Epoch,
    /// X25519 keys, one for each epoch from that on; at most [`MAX_EPOCHS_AHEAD`].
    pub mix_keys: &'d [PublicKey],
}

impl NewDescriptor<'_> {
    /// Encodes it into `out` ([`MAX_DESCRIPTOR_LEN`] bytes are enough), signs it, and reads it
    /// again, so that what an authority would refuse is refused here. Returns the file.
    ///
    /// # Errors
    /// [`BuildError::BufferTooSmall`], or [`BuildError::Refused`] with the field at fault.
    pub fn sign<'b>(&self, out: &'b mut [u8], identity: &IdentitySecret) -> Result<&'b [u8], BuildError> {
        let key = identity.public_key();
        let mut writer = Writer::new(out.get_mut(MAX_HEAD_LEN..).ok_or(BuildError::BufferTooSmall)?);
        writer.map(9)?;
        writer.pair(1, VERSION)?;
        writer.uint(2)?;
        writer.text(self.network_name)?;
        writer.uint(3)?;
        writer.bytes(&key.0)?;
        writer.pair(4, self.issued.0)?;
        writer.uint(5)?;
        writer.text(self.name)?;
        writer.pair(6, self.capabilities.bits())?;
        writer.uint(7)?;
        write_addresses(&mut writer, self.addresses)?;
        writer.pair(8, u64::from(self.first_epoch.0))?;
        writer.uint(9)?;
        writer.array(self.mix_keys.len())?;
        for mix_key in self.mix_keys {
            writer.bytes(&mix_key.0)?;
        }
        let len = writer.written();
        let start = frame(out, len)?;
        let file = sign_framed(out, start + len, Label::Descriptor, &identity.0)?;
        SignedDescriptor::parse(file)?.verify().map_err(|error| match error {
            DescriptorError::Malformed(error) => BuildError::Refused(error),
            DescriptorError::BadSignature => BuildError::BadSignature,
        })?;
        Ok(file)
    }
}

/// Bytes in the shape of a signed descriptor. Nothing of what they say is known to be true.
#[derive(Clone, Copy, Debug)]
pub struct SignedDescriptor<'a>(Envelope<'a>);

impl<'a> SignedDescriptor<'a> {
    /// Takes the envelope apart; the payload is left alone.
    ///
    /// # Errors
    /// [`DocumentError::Malformed`].
    pub fn parse(file: &'a [u8]) -> Result<Self, DocumentError> {
        Envelope::parse(file, 1).map(Self)
    }

    /// Checks every field, then the signature by the key that the descriptor names.
    ///
    /// # Errors
    /// See [`DescriptorError`].
    pub fn verify(self) -> Result<Descriptor<'a>, DescriptorError> {
        let descriptor = Descriptor::read(self.0.payload, self.0.payload_offset)?;
        let identity = &descriptor.identity;
        let signed = self.0.signatures().any(|(id, signature)| {
            id == KeyId::of(&identity.0)
                && signature::is_valid(&identity.0, &self.0.signed_parts(Label::Descriptor), signature)
        });
        if signed { Ok(descriptor) } else { Err(DescriptorError::BadSignature) }
    }

    /// Checks every field, and **no signature**: for bytes that [`verify`](Self::verify) took
    /// before.
    ///
    /// # Errors
    /// See [`DescriptorError`].
    pub fn unverified(self) -> Result<Descriptor<'a>, DescriptorError> {
        Ok(Descriptor::read(self.0.payload, self.0.payload_offset)?)
    }
}

/// What a node says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor<'a> {
    /// The network that it wants to be in.
    pub network_name: &'a str,
    /// By which key it is known.
    pub identity: IdentityKey,
    /// When this was said.
    pub issued: UnixTime,
    /// Its name.
    pub name: &'a str,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Where it listens for datagrams.
    pub addresses: Addresses<'a>,
    first_epoch: Epoch,
    /// The encoded keys, checked.
    mix_keys: &'a [u8],
}

/// Bytes of a key with the head of its byte string.
const ENCODED_KEY_LEN: usize = 2 + 32;

impl<'a> Descriptor<'a> {
    /// The X25519 key of an epoch, if it has one.
    pub fn mix_key(&self, epoch: Epoch) -> Option<PublicKey> {
        let ahead = epoch.0.checked_sub(self.first_epoch.0)?;
        let encoded = self.mix_keys.chunks_exact(ENCODED_KEY_LEN).nth(ahead as usize)?;
        encoded.last_chunk().map(|key| PublicKey(*key))
    }

    /// The first epoch that it has a key of, and the first one after it that it has none of.
    pub const fn epochs(&self) -> (Epoch, Epoch) {
        let count = self.mix_keys.len() / ENCODED_KEY_LEN;
        (self.first_epoch, Epoch(self.first_epoch.0.saturating_add(count as u32)))
    }

    fn read(payload: &'a [u8], offset: usize) -> Result<Self, DocumentError> {
        let reader = &mut Reader::new(payload, offset, Field::Payload);
        let mut keys = reader.map()?;
        keys.next(reader, Field::Version)?.uint(VERSION, VERSION)?;
        let network_name = read_name(keys.next(reader, Field::NetworkName)?)?;
        let identity = keys.next(reader, Field::Identity)?.bytes(32, 32)?.first_chunk();
        let identity = identity.and_then(|key| IdentityKey::from_bytes(key).ok());
        let identity = identity.ok_or_else(|| reader.refuse(Flaw::WeakKey))?;
        let issued = keys.next(reader, Field::Issued)?.uint(0, u64::MAX)?;
        let name = read_name(keys.next(reader, Field::NodeName)?)?;
        let capabilities = keys.next(reader, Field::Capabilities)?.uint(0, u64::MAX)?;
        let addresses = Addresses::read(keys.next(reader, Field::Addresses)?)?;
        let first_epoch = keys.next(reader, Field::Epoch)?.uint(0, u64::from(u32::MAX))?;
        let count = keys.next(reader, Field::MixKey)?.array(1, MAX_EPOCHS_AHEAD as u32)?;
        if first_epoch + count as u64 > u64::from(u32::MAX) {
            let most = u64::from(u32::MAX) - count as u64;
            return Err(reader.at(Field::Epoch).refuse(Flaw::Range { least: 0, most }));
        }
        let start = reader.rest();
        for _ in 0..count {
            let key = reader.at(Field::MixKey).bytes(32, 32)?;
            if !key.first_chunk().is_some_and(is_sound) {
                return Err(reader.refuse(Flaw::WeakKey));
            }
        }
        let (mix_keys, _) = start.split_at(start.len() - reader.rest().len());
        keys.finish(reader, Field::Payload)?;
        reader.finish(Field::Payload)?;
        Ok(Self {
            network_name,
            identity,
            issued: UnixTime(issued),
            name,
            capabilities: Capabilities::of_bits(capabilities),
            addresses,
            first_epoch: Epoch(first_epoch as u32),
            mix_keys,
        })
    }
}

/// Why a descriptor was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DescriptorError {
    /// The bytes are not a descriptor of version 1.
    Malformed(DocumentError),
    /// It was not signed with the key that it names, or it was changed.
    BadSignature,
}

impl From<DocumentError> for DescriptorError {
    fn from(error: DocumentError) -> Self {
        Self::Malformed(error)
    }
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::BadSignature => {
                f.write_str("not signed by the node that it names, or changed; ask its operator again")
            }
        }
    }
}

impl core::error::Error for DescriptorError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            Self::BadSignature => None,
        }
    }
}
