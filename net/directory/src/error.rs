//! Why a document is refused, and where in it.

use core::fmt;

use motemix_sphinx::NodeId;
use motemix_time::{Epoch, UnixTime};

/// Why a network document was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DocumentError {
    /// The bytes are not a document of version 1.
    Malformed {
        /// Where.
        place: Place,
        /// What.
        flaw: Flaw,
    },
    /// Too few authorities signed these bytes. No more were looked at once that was clear.
    TooFewSignatures {
        /// Authorities whose signature is valid.
        valid: u8,
        /// Authorities whose signature is not.
        invalid: u8,
        /// The threshold.
        needed: u8,
    },
    /// The document is for later.
    NotYetValid {
        /// From when on it may be used.
        from: UnixTime,
        /// The caller's time.
        now: UnixTime,
    },
    /// The document's time is over.
    Expired {
        /// The first second in which it may no longer be used.
        at: UnixTime,
        /// The caller's time.
        now: UnixTime,
    },
    /// The document is older than one that was admitted before.
    RolledBack {
        /// The document's epoch.
        epoch: Epoch,
        /// The newest epoch seen.
        newest_seen: Epoch,
    },
}

/// Where in a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The field being read.
    pub field: Field,
    /// The node, for a field of one.
    pub node: Option<NodeId>,
    /// Bytes from the beginning of the file to the item.
    pub offset: usize,
}

/// A field of the document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Field {
    File,
    Signatures,
    Payload,
    Version,
    NetworkName,
    Epoch,
    ValidAfter,
    ValidUntil,
    Profile,
    Parameters,
    MinHops,
    MaxHops,
    MeanDelay,
    HopAllowance,
    Transmissions,
    LoopMean,
    DropMean,
    PayloadMean,
    Overlap,
    /// Whether links between neighbours are protected.
    Links,
    Nodes,
    NodeName,
    NodeRole,
    MixKey,
    Addresses,
    /// The key that a node is known by.
    Identity,
    Issued,
    Capabilities,
}

/// What is wrong with a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Flaw {
    /// The bytes end inside the item.
    Truncated,
    /// Bytes follow the item that ends here.
    TrailingBytes,
    /// An item of another CBOR type belongs here.
    WrongType,
    /// A length or number is not in its shortest form, or of indefinite length (RFC 8949 §4.2.1).
    NotDeterministic,
    /// A map's key appears twice or out of order.
    KeyOrder,
    /// A field that must be there is not.
    Missing,
    /// A field with a non-negative key, or a key of another type, that version 1 does not have.
    UnknownCritical,
    /// Not the signature of a network document: `EdDSA`, key id of 8 bytes, detached payload.
    NotOurSignature,
    /// Too few or too many items or bytes.
    Length {
        /// Fewest.
        least: u32,
        /// Most.
        most: u32,
    },
    /// A number beyond its range; units as in the specification.
    Range {
        /// Smallest.
        least: u64,
        /// Greatest.
        most: u64,
    },
    /// A name is not of `[a-z0-9-]`.
    Name,
    /// A profile number without a profile.
    UnknownProfile,
    /// A mix key of small order, or not in canonical form.
    WeakKey,
    /// An address that names no single host: unspecified, multicast, broadcast or port 0.
    Address,
    /// Another node has it too.
    Duplicate,
    /// Protected links cannot tell the node from this one: their addresses make one number.
    SameNumber {
        /// The other node.
        other: NodeId,
    },
    /// There is a mix in a later layer but none in this one.
    EmptyLayer {
        /// The first layer without a mix.
        layer: u8,
    },
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the bytes end here; fetch the document again"),
            Self::TrailingBytes => f.write_str("bytes follow the end; fetch the document again"),
            Self::WrongType => f.write_str("wrong CBOR type; see the field tables of the specification"),
            Self::NotDeterministic => {
                f.write_str("not in deterministic CBOR; encode numbers in their shortest form")
            }
            Self::KeyOrder => {
                f.write_str("key twice or out of order; write each key once, in ascending order")
            }
            Self::Missing => f.write_str("missing; version 1 needs it"),
            Self::UnknownCritical => {
                f.write_str("an unknown field that may not be ignored; update this software")
            }
            Self::NotOurSignature => f.write_str(
                "not a detached EdDSA COSE_Sign1 with a key id of 8 bytes; sign with an authority's tool",
            ),
            Self::Length { least, most } => write!(f, "wrong length; use {least} to {most}"),
            Self::Range { least, most } => write!(f, "out of range; use {least} to {most}"),
            Self::Name => f.write_str("not a name; use a-z, 0-9 and '-'"),
            Self::UnknownProfile => f.write_str("unknown profile; use mote, mote5, host1k or host2k"),
            Self::WeakKey => {
                f.write_str("a point of small order or not canonical: no secret; let the node make a new key")
            }
            Self::Address => {
                f.write_str("names no single host; use a unicast address and a port other than 0")
            }
            Self::Duplicate => f.write_str("another node has the same; names and mix keys must be unique"),
            Self::SameNumber { other } => write!(
                f,
                "protected links cannot tell it from node {}: their addresses make one number; give one of \
                 them another address",
                other.get()
            ),
            Self::EmptyLayer { layer } => {
                write!(f, "layer {layer} has no mix, a later one has; number the layers from 0 without gaps")
            }
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "file",
            Self::Signatures => "signatures",
            Self::Payload => "payload",
            Self::Version => "version",
            Self::NetworkName => "network name",
            Self::Epoch => "epoch",
            Self::ValidAfter => "valid_after",
            Self::ValidUntil => "valid_until",
            Self::Profile => "profile",
            Self::Parameters => "parameters",
            Self::MinHops => "min_hops",
            Self::MaxHops => "max_hops",
            Self::MeanDelay => "mean_delay",
            Self::HopAllowance => "hop_allowance",
            Self::Transmissions => "transmissions",
            Self::LoopMean => "loop_mean",
            Self::DropMean => "drop_mean",
            Self::PayloadMean => "payload_mean",
            Self::Overlap => "overlap",
            Self::Links => "links",
            Self::Nodes => "nodes",
            Self::NodeName => "name",
            Self::NodeRole => "role",
            Self::MixKey => "mix key",
            Self::Addresses => "addresses",
            Self::Identity => "identity",
            Self::Issued => "issued",
            Self::Capabilities => "capabilities",
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = self.node {
            write!(f, "node {}, ", node.get())?;
        }
        write!(f, "{} (byte {})", self.field, self.offset)
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { place, flaw } => write!(f, "{place}: {flaw}"),
            Self::TooFewSignatures { valid, invalid, needed } => write!(
                f,
                "{valid} of {needed} signatures needed are valid, {invalid} by known authorities are not; \
                 check the authorities' keys, or fetch the document again"
            ),
            Self::NotYetValid { from, now } => {
                write!(f, "valid from {from} on, and it is {now}; check the clock, or use the epoch before")
            }
            Self::Expired { at, now } => {
                write!(
                    f,
                    "expired at {at}, and it is {now}; fetch the document of this epoch, or check the clock"
                )
            }
            Self::RolledBack { epoch, newest_seen } => {
                write!(f, "epoch {epoch} is older than {newest_seen}, seen before; fetch the newest document")
            }
        }
    }
}

impl core::error::Error for DocumentError {}
