//! The network as a mote keeps it in memory: who it is, where the others are, and until when.

use core::fmt;
use core::hash::Hasher as _;
use core::net::{IpAddr, Ipv6Addr};

use motemix_crypto::{Curve, Secret};
use motemix_directory::{
    Authorities, AuthorityKey, Descriptor, DocumentError, Epoch, NetworkDocument, ProfileName, RatchetError,
    SignedDocument, UnixTime, VerifiedDocument,
};
use motemix_node::EpochError;
use motemix_sphinx::geometry::{Geometry, MOTE, MOTE5};
use motemix_sphinx::{NodeId, Profile};
use siphasher::sip::SipHasher13;

use crate::store::{DocumentHead, MAX_AUTHORITIES, StoreError};

/// Another node, as this one finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    address: Ipv6Addr,
    /// Names would take four times the room, and only have to be told apart.
    name: u64,
}

impl Route {
    /// Before there is a network.
    pub const NONE: Self = Self { address: Ipv6Addr::UNSPECIFIED, name: 0 };

    fn of(node: &Descriptor<'_>) -> Self {
        let address = radio_address(node).unwrap_or(Ipv6Addr::UNSPECIFIED);
        Self { address, name: digest(node.name) }
    }

    /// `None` for a node that is not on the radio.
    pub(crate) fn address(&self) -> Option<Ipv6Addr> {
        Some(self.address).filter(|address| !address.is_unspecified())
    }

    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name == digest(name)
    }
}

// Not inlined: it is needed in many places, and small boards have little flash.
#[inline(never)]
fn digest(name: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// A network document that is in force, and which of its nodes this one is. Made by
/// [`Mote::admit`](crate::Mote::admit), needed by [`Running::start`](crate::Running::start).
pub struct PlaceInNetwork<'s> {
    pub(crate) document: NetworkDocument<'s>,
    pub(crate) me: NodeId,
    /// The mix key of the document's epoch.
    pub(crate) secret: Secret<32>,
}

impl<'s> PlaceInNetwork<'s> {
    /// Finds the node whose mix key of the document's epoch this is.
    ///
    /// # Errors
    /// It is none of them.
    pub fn find<C: Curve>(document: NetworkDocument<'s>, secret: Secret<32>) -> Result<Self, Refusal> {
        let key = C::public_key(&secret);
        let me = document.nodes().find(|node| node.mix_key == key).ok_or(Refusal::NotIn)?.id;
        Ok(Self { document, me, secret })
    }

    /// What is kept in flash beside the document.
    pub(crate) fn head(&self) -> DocumentHead {
        let Self { document, .. } = self;
        let network = name_of(document);
        DocumentHead { epoch: document.epoch(), valid_after: document.valid_after(), network }
    }
}

/// The network of a document. As with nodes, names only have to be told apart.
pub(crate) fn name_of(document: &NetworkDocument<'_>) -> u64 {
    digest(document.network_name())
}

/// What is kept of a document besides the routes.
#[derive(Clone, Copy)]
pub(crate) struct Network {
    pub(crate) epoch: Epoch,
    pub(crate) valid_until: UnixTime,
    /// Until when packets that are under way may come.
    pub(crate) overlap_until: UnixTime,
    pub(crate) nodes: usize,
}

/// Whom this mote believes.
#[derive(Clone, Copy)]
pub(crate) struct Trust {
    pub(crate) threshold: u8,
    pub(crate) keys: [[u8; 32]; MAX_AUTHORITIES],
    pub(crate) count: usize,
}

type Known = heapless::Vec<AuthorityKey, MAX_AUTHORITIES>;

/// Why a mote does not start, or does not keep a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The clock is not set.
    NoClock,
    /// No authority is trusted.
    NoTrust,
    /// There is no document.
    NoDocument,
    /// The flash.
    Store(StoreError),
    /// The key of the document's epoch.
    Key(RatchetError),
    /// The node.
    Epoch(EpochError),
    /// An authority's key is none.
    BadAuthority,
    /// The document itself.
    Document(DocumentError),
    /// It is for a network of hosts.
    OtherProfile,
    /// The board has no memory for them.
    TooManyNodes {
        /// In the document.
        nodes: usize,
        /// On this board.
        room: usize,
    },
    /// This node is not in it.
    NotIn,
    /// This node has another id in it than it runs under.
    OtherId,
    /// It is of another network than the document before.
    OtherNetwork,
    /// The replay filter has less room than was used before the restart.
    ReplayFilter,
    /// The epoch is further ahead of the key than it is moved at a time.
    KeyFarBehind {
        /// The latest that can be asked for.
        most: Epoch,
    },
    /// The key was derived part of the way to the document's epoch, in memory.
    KeyMoved {
        /// Where it is now.
        to: Epoch,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoClock => f.write_str("the clock is not set; see `help` for `time`"),
            Self::NoTrust => f.write_str("no authority is trusted yet; see `help` for `trust`"),
            Self::NoDocument => f.write_str("there is no network document yet; see `help` for `document`"),
            Self::Store(error) => write!(f, "{error}"),
            Self::Key(error) => write!(f, "{error}"),
            Self::Epoch(error) => write!(f, "{error}"),
            Self::BadAuthority => f.write_str("an authority's key is none; give `trust` the right ones"),
            Self::Document(error) => write!(f, "{error}"),
            Self::OtherProfile => {
                f.write_str("the network's packets are not those of motes; it needs the profile `mote`")
            }
            Self::TooManyNodes { nodes, room } => {
                write!(f, "the network has {nodes} nodes and this board has room for {room}")
            }
            Self::NotIn => {
                f.write_str("this node's key is not in it; give the authority what `key EPOCH` prints")
            }
            Self::OtherId => f.write_str("this node has another id in it; `stop` the node first"),
            Self::OtherNetwork => f.write_str(
                "it is of another network than the document before; to change networks, `stop` and `trust` again",
            ),
            Self::ReplayFilter => f.write_str(
                "the replay filter has no room for what was admitted before; wait for the next epoch",
            ),
            Self::KeyFarBehind { most } => {
                write!(
                    f,
                    "the key is derived up to epoch {most} for now; ask for an earlier one, check the clock"
                )
            }
            Self::KeyMoved { to } => {
                write!(f, "the key was derived up to epoch {to}, which is part of the way; give this command again")
            }
        }
    }
}

impl core::error::Error for Refusal {}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<RatchetError> for Refusal {
    fn from(error: RatchetError) -> Self {
        Self::Key(error)
    }
}

impl From<EpochError> for Refusal {
    fn from(error: EpochError) -> Self {
        Self::Epoch(error)
    }
}

impl From<DocumentError> for Refusal {
    fn from(error: DocumentError) -> Self {
        Self::Document(error)
    }
}

impl Trust {
    /// Checks a document for use now.
    pub(crate) fn admit<'a, P: Profile>(
        &self,
        bytes: &'a [u8],
        now: UnixTime,
        newest: Option<Epoch>,
    ) -> Result<NetworkDocument<'a>, Refusal> {
        let document = self.verify(bytes)?.admit(now, newest)?;
        if Some(document.profile()) != profile_name::<P>() {
            return Err(Refusal::OtherProfile);
        }
        Ok(document)
    }

    /// Checks a document of `oldest` or a later epoch for use in its time, which may be to come.
    pub(crate) fn admit_ahead<'a, P: Profile>(
        &self,
        bytes: &'a [u8],
        now: UnixTime,
        oldest: Epoch,
    ) -> Result<NetworkDocument<'a>, Refusal> {
        let document = self.verify(bytes)?;
        let then = now.max(document.valid_after());
        let document = document.admit(then, Some(oldest))?;
        if Some(document.profile()) != profile_name::<P>() {
            return Err(Refusal::OtherProfile);
        }
        Ok(document)
    }

    /// Checks a document for reading, whatever the time is.
    pub(crate) fn read<'a>(&self, bytes: &'a [u8]) -> Result<NetworkDocument<'a>, Refusal> {
        let document = self.verify(bytes)?;
        let then = document.valid_after();
        Ok(document.admit(then, None)?)
    }

    /// Whether these are keys, each once.
    #[inline(never)]
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        self.authorities(&self.known()?).map(|_| ())
    }

    fn verify<'a>(&self, bytes: &'a [u8]) -> Result<VerifiedDocument<'a>, Refusal> {
        let known = self.known()?;
        Ok(SignedDocument::parse(bytes)?.verify(&self.authorities(&known)?)?)
    }

    #[inline(never)]
    fn known(&self) -> Result<Known, Refusal> {
        let mut known = Known::new();
        for key in self.keys.iter().take(self.count) {
            // There is room for as many as are kept.
            let _ = known.push(AuthorityKey::from_bytes(key).map_err(|_| Refusal::BadAuthority)?);
        }
        Ok(known)
    }

    #[inline(never)]
    fn authorities<'k>(&self, known: &'k Known) -> Result<Authorities<'k>, Refusal> {
        Authorities::new(known, self.threshold).map_err(|_| Refusal::BadAuthority)
    }
}

impl Network {
    /// Before there is one.
    pub(crate) const NONE: Self =
        Self { epoch: Epoch(0), valid_until: UnixTime(0), overlap_until: UnixTime(0), nodes: 0 };

    /// Writes where all nodes are into `routes`, by their ids.
    pub(crate) fn of(document: &NetworkDocument<'_>, routes: &mut [Route]) -> Result<Self, Refusal> {
        let (nodes, room) = (document.node_count(), routes.len());
        if nodes > room {
            return Err(Refusal::TooManyNodes { nodes, room });
        }
        for (route, node) in routes.iter_mut().zip(document.nodes()) {
            *route = Route::of(&node);
        }
        let (epoch, valid_until) = (document.epoch(), document.valid_until());
        // Documents count whole seconds, and so do clocks.
        let overlap = document.parameters().overlap.as_secs() + 1;
        let overlap_until = UnixTime(valid_until.0.saturating_add(overlap));
        Ok(Self { epoch, valid_until, overlap_until, nodes })
    }
}

/// What documents call a profile for motes.
fn profile_name<P: Profile>() -> Option<ProfileName> {
    let names = [(MOTE, ProfileName::Mote), (MOTE5, ProfileName::Mote5)];
    let is_meant = |geometry: &Geometry| geometry.packet_len() == P::GEOMETRY.packet_len();
    names.into_iter().find(|(geometry, _)| is_meant(geometry)).map(|(_, name)| name)
}

/// Where a node is on the radio: its first link-local address.
pub(crate) fn radio_address(node: &Descriptor<'_>) -> Option<Ipv6Addr> {
    node.addresses.iter().find_map(|address| match address.ip() {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => Some(ip),
        _ => None,
    })
}
