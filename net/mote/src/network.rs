//! The network as a mote keeps it in memory: who it is, where the others are, and until when.

use core::fmt;
use core::net::{Ipv6Addr, SocketAddrV6};

use motemix_crypto::hash::blake2s_128;
use motemix_crypto::{Curve, Secret};
use motemix_directory::{
    AuthenticDocument, Authorities, AuthorityKey, DocumentError, DocumentNode, Epoch, MAX_NAME_LEN,
    NetworkDocument, ProfileName, RatchetError, SignedDocument, UnixTime,
};
use motemix_node::EpochError;
use motemix_sphinx::geometry::{Geometry, MOTE, MOTE5};
use motemix_sphinx::{NodeId, Profile};

use crate::store::{DocumentHead, MAX_AUTHORITIES, StoreError};

/// What names are hashed with.
const NAME: &[u8] = b"motemix/1 name";
/// What link-local addresses begin with.
const LINK_LOCAL: [u8; 8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];

/// Another node, as this one finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    // In bytes, so that nothing has to be aligned: a small board has one for each node.
    address: [u8; 16],
    port: [u8; 2],
    /// Names would take four times the room, and only have to be told apart.
    name: [u8; 8],
}

impl Route {
    /// Before there is a network.
    pub const NONE: Self = Self { address: [0; 16], port: [0; 2], name: [0; 8] };

    fn of(node: &DocumentNode<'_>) -> Self {
        let (address, port) = address_of(node).map_or(([0; 16], 0), |at| (at.ip().octets(), at.port()));
        Self { address, port: port.to_le_bytes(), name: digest(node.name).to_le_bytes() }
    }

    /// `None` for a node without an IPv6 address.
    pub fn address(&self) -> Option<SocketAddrV6> {
        let address = Ipv6Addr::from(self.address);
        let at = SocketAddrV6::new(address, u16::from_le_bytes(self.port), 0, 0);
        (!address.is_unspecified()).then_some(at)
    }

    /// Whether its address is the link-local one with this interface identifier.
    pub(crate) fn is_at(&self, interface: u64) -> bool {
        self.address.starts_with(&LINK_LOCAL) && self.address.ends_with(&interface.to_be_bytes())
    }

    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name == digest(name).to_le_bytes()
    }
}

// Not inlined: it is needed in many places, and small boards have little flash. It is the hash that
// they have anyway.
#[inline(never)]
fn digest(name: &str) -> u64 {
    let hash = blake2s_128(NAME, name.as_bytes());
    u64::from_le_bytes(*hash.expose().first_chunk().unwrap_or(&[0; 8]))
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

    /// The network's name.
    pub fn network_name(&self) -> &'s str {
        self.document.network_name()
    }

    /// Whether neighbours protect what passes between them.
    pub fn protects_links(&self) -> bool {
        self.document.parameters().protected_links
    }

    /// # Errors
    /// [`Refusal::UnprotectedLink`]: neighbours protect what passes between them, which the
    /// caller's link cannot.
    pub fn needs_plain_links(&self) -> Result<(), Refusal> {
        if self.protects_links() { Err(Refusal::UnprotectedLink) } else { Ok(()) }
    }

    /// Where others send to; `None` if the document has no IPv6 address for this node.
    pub fn address(&self) -> Option<SocketAddrV6> {
        let me = self.me;
        self.document.nodes().find(|node| node.id == me).and_then(|node| address_of(&node))
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

/// A name that a document has.
pub(crate) type NetworkName = heapless::String<MAX_NAME_LEN>;

/// What is kept of a document besides the routes.
#[derive(Clone)]
pub(crate) struct Network {
    /// For whom its readings are.
    pub(crate) name: NetworkName,
    pub(crate) epoch: Epoch,
    pub(crate) valid_until: UnixTime,
    /// Until when packets that are under way may come.
    pub(crate) overlap_until: UnixTime,
    pub(crate) nodes: usize,
    /// Whether neighbours protect their frames.
    pub(crate) protected_links: bool,
}

/// Whom this mote believes.
#[derive(Clone, Copy)]
pub(crate) struct Trust {
    pub(crate) threshold: u8,
    pub(crate) keys: [[u8; 32]; MAX_AUTHORITIES],
    pub(crate) count: usize,
}

/// When a document has to count.
#[derive(Clone, Copy)]
pub(crate) enum InForce {
    /// At the time that it is.
    Now,
    /// Then, or in a time to come.
    NowOrLater,
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
    /// Its nodes protect their links and those of the document before did not, or the other way
    /// round.
    OtherLinks,
    /// Its nodes protect their links, and this node's link cannot.
    UnprotectedLink,
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
            Self::OtherLinks => f.write_str(
                "it protects links and the document before did not, or the other way round; `stop`, then `start` again",
            ),
            Self::UnprotectedLink => f.write_str(
                "its nodes protect their links, and this program has no room for keys; build it with room for them",
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
    /// Checks who signed a document.
    // Not inlined: on a small board nothing may lie on the stack beneath a check of signatures that
    // need not.
    #[inline(never)]
    pub(crate) fn authenticate<'a>(&self, bytes: &'a [u8]) -> Result<AuthenticDocument<'a>, Refusal> {
        let known = self.known()?;
        Ok(SignedDocument::parse(bytes)?.authenticate(&self.authorities(&known)?)?)
    }

    /// Whether these are keys, each once.
    #[inline(never)]
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        self.authorities(&self.known()?).map(|_| ())
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

/// Checks an authentic document for use.
#[inline(never)]
pub(crate) fn admit<P: Profile>(
    document: AuthenticDocument<'_>,
    now: UnixTime,
    newest: Option<Epoch>,
    in_force: InForce,
) -> Result<NetworkDocument<'_>, Refusal> {
    let document = document.read()?;
    let then = match in_force {
        InForce::Now => now,
        InForce::NowOrLater => now.max(document.valid_after()),
    };
    let document = document.admit(then, newest)?;
    if Some(document.profile()) != profile_name::<P>() {
        return Err(Refusal::OtherProfile);
    }
    Ok(document)
}

/// Reads an authentic document, whatever the time is.
pub(crate) fn read(document: AuthenticDocument<'_>) -> Result<NetworkDocument<'_>, Refusal> {
    let document = document.read()?;
    let then = document.valid_after();
    Ok(document.admit(then, None)?)
}

impl Network {
    /// Before there is one.
    pub(crate) const NONE: Self = Self {
        name: NetworkName::new(),
        epoch: Epoch(0),
        valid_until: UnixTime(0),
        overlap_until: UnixTime(0),
        nodes: 0,
        protected_links: false,
    };

    /// Writes where all nodes are into `routes`, by their ids. Behind them stay those of the
    /// document before that this one does not name, as far as there is room: packets that they
    /// have are under way.
    pub(crate) fn followed_by(
        &self,
        document: &NetworkDocument<'_>,
        routes: &mut [Route],
    ) -> Result<Self, Refusal> {
        let (nodes, room) = (document.id_count(), routes.len());
        if nodes > room {
            return Err(Refusal::TooManyNodes { nodes, room });
        }
        routes.iter_mut().skip(self.nodes).for_each(|route| *route = Route::NONE);
        let end = part(routes, document.nodes().filter_map(|node| address_of(&node)));
        routes.iter_mut().take(end.max(nodes)).for_each(|route| *route = Route::NONE);
        for node in document.nodes() {
            if let Some(route) = routes.get_mut(usize::from(node.id.get())) {
                *route = Route::of(&node);
            }
        }
        let (epoch, valid_until) = (document.epoch(), document.valid_until());
        // Documents count whole seconds, and so do clocks.
        let overlap = document.parameters().overlap.as_secs() + 1;
        let overlap_until = UnixTime(valid_until.0.saturating_add(overlap));
        let protected_links = document.parameters().protected_links;
        let name = NetworkName::try_from(document.network_name()).unwrap_or_default();
        Ok(Self { name, epoch, valid_until, overlap_until, nodes, protected_links })
    }
}

/// What documents call a profile for motes.
fn profile_name<P: Profile>() -> Option<ProfileName> {
    let names = [(MOTE, ProfileName::Mote), (MOTE5, ProfileName::Mote5)];
    let is_meant = |geometry: &Geometry| geometry.packet_len() == P::GEOMETRY.packet_len();
    names.into_iter().find(|(geometry, _)| is_meant(geometry)).map(|(_, name)| name)
}

/// Brings the routes to other addresses than `named` to the end, and returns where they begin.
fn part(routes: &mut [Route], named: impl Iterator<Item = SocketAddrV6>) -> usize {
    // Nodes seldom change their order from document to document, and then each is found where the
    // search begins: a thousand of them take a thousand looks, and not a million.
    let mut found = 0;
    for address in named {
        if let Some(after) = routes.iter().skip(found).position(|route| route.address() == Some(address)) {
            routes.swap(found, found + after);
            found += 1;
        }
    }
    let (mut at, mut end) = (found, routes.len());
    while at < end {
        if routes.get(at).is_some_and(|route| route.address().is_some()) {
            end -= 1;
            routes.swap(at, end);
        } else {
            at += 1;
        }
    }
    end
}

/// Where a node is.
pub(crate) fn address_of(node: &DocumentNode<'_>) -> Option<SocketAddrV6> {
    node.addresses.on_link()
}

#[cfg(test)]
mod tests {
    use motemix_directory::link_number;
    use motemix_link::sessions::station_at;
    use motemix_link::stack::station_of;
    use proptest::prelude::*;
    use std::vec::Vec;

    use super::*;

    proptest! {
        /// Whatever nodes join, leave or change places: who is left out stays, and nobody else.
        #[test]
        fn routes_that_a_document_leaves_out_go_to_the_end(
            before in proptest::sample::subsequence((1..40_u16).collect::<Vec<_>>(), 0..20),
            named in Just((1..40_u16).collect::<Vec<_>>()).prop_shuffle(),
            nodes in 0..30_usize,
            unused in 0..4_usize,
        ) {
            let at = |port: u16| SocketAddrV6::new("fe80::1".parse().unwrap(), port, 0, 0);
            let route = |port: u16| Route {
                address: at(port).ip().octets(),
                port: port.to_le_bytes(),
                ..Route::NONE
            };
            let named = &named[..nodes];
            let mut routes: Vec<_> = before.iter().map(|port| route(*port)).collect();
            routes.resize(before.len() + unused, Route::NONE);
            let end = part(&mut routes, named.iter().map(|port| at(*port)));

            let mut left_out: Vec<_> =
                routes[end..].iter().map(|route| u16::from_le_bytes(route.port)).collect();
            left_out.sort_unstable();
            let expected: Vec<_> = before.iter().copied().filter(|port| !named.contains(port)).collect();
            prop_assert_eq!(left_out, expected);
        }
    }

    /// Documents refuse two nodes with one number, so it has to be the one that handshakes have.
    #[test]
    fn documents_and_links_have_the_same_numbers_for_addresses() {
        for text in ["[fe80::1]:61616", "[fe80::212:4b00:1234:5678]:1", "[2001:db8:1:2:3:4:5:6]:65535"] {
            let address: SocketAddrV6 = text.parse().expect("an address");
            assert_eq!(link_number(address).to_be_bytes(), station_at(address).0);
        }
        // On the radio they are told apart by what follows the prefix.
        let [one, other] = ["fe80::1", "fe80::2"].map(|text| station_of(text.parse().expect("an address")));
        assert!(one.is_some() && one != other);
    }
}
