//! The network as a mote keeps it in memory: who it is, where the others are, and until when.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

use motemix_crypto::{Curve as _, Portable, Secret};
use motemix_directory::{
    Authorities, AuthorityKey, Descriptor, DocumentError, Epoch, NetworkDocument, ProfileName, SignedDocument,
    UnixTime,
};
use motemix_sphinx::NodeId;

use crate::command::MAX_AUTHORITIES;

/// What is kept of a document.
#[derive(Clone, Copy)]
pub(crate) struct Network {
    pub(crate) me: NodeId,
    pub(crate) valid_until: UnixTime,
}

/// Whom this mote believes.
#[derive(Clone, Copy)]
pub(crate) struct Trust {
    pub(crate) threshold: u8,
    pub(crate) keys: [Option<[u8; 32]>; MAX_AUTHORITIES],
}

/// Why a document is of no use here.
pub(crate) enum Refusal {
    NoTrust,
    BadAuthority,
    Document(DocumentError),
    OtherProfile,
    TooManyNodes { nodes: usize, room: usize },
    NotIn,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTrust => f.write_str("no authority is trusted yet; see `help` for `trust`"),
            Self::BadAuthority => f.write_str("an authority's key is none; give `trust` the right ones"),
            Self::Document(error) => write!(f, "{error}"),
            Self::OtherProfile => f.write_str("the network's packets are not those of motes; it needs the profile `mote`"),
            Self::TooManyNodes { nodes, room } => {
                write!(f, "the network has {nodes} nodes and this board has room for {room}")
            }
            Self::NotIn => f.write_str("this node's key is not in it; give the authority what `key EPOCH` prints"),
        }
    }
}

impl From<DocumentError> for Refusal {
    fn from(error: DocumentError) -> Self {
        Self::Document(error)
    }
}

impl Trust {
    /// Checks a document for use now.
    pub(crate) fn admit<'a>(
        &self,
        bytes: &'a [u8],
        now: UnixTime,
        newest: Option<Epoch>,
    ) -> Result<NetworkDocument<'a>, Refusal> {
        let mut keys = self.keys.iter().flatten().map(AuthorityKey::from_bytes);
        let Some(first) = keys.next() else { return Err(Refusal::NoTrust) };
        let mut known = [first.map_err(|_| Refusal::BadAuthority)?; MAX_AUTHORITIES];
        let mut count = 1;
        for (place, key) in known.iter_mut().skip(1).zip(keys) {
            *place = key.map_err(|_| Refusal::BadAuthority)?;
            count += 1;
        }
        let known = known.get(..count).unwrap_or_default();
        let authorities = Authorities::new(known, self.threshold).map_err(|_| Refusal::BadAuthority)?;
        let document = SignedDocument::parse(bytes)?.verify(&authorities)?.admit(now, newest)?;
        if document.profile() != ProfileName::Mote {
            return Err(Refusal::OtherProfile);
        }
        Ok(document)
    }
}

impl Network {
    /// Finds this node by its mix key, and writes where all nodes are into `routes`, by their ids.
    pub(crate) fn of(
        document: &NetworkDocument<'_>,
        mix_secret: &Secret<32>,
        routes: &mut [Ipv6Addr],
    ) -> Result<Self, Refusal> {
        let (nodes, room) = (document.node_count(), routes.len());
        if nodes > room {
            return Err(Refusal::TooManyNodes { nodes, room });
        }
        let key = Portable::public_key(mix_secret);
        let me = document.nodes().find(|node| node.mix_key == key).ok_or(Refusal::NotIn)?.id;
        for (route, node) in routes.iter_mut().zip(document.nodes()) {
            *route = radio_address(&node).unwrap_or(Ipv6Addr::UNSPECIFIED);
        }
        Ok(Self { me, valid_until: document.valid_until() })
    }
}

/// Where a node is on the radio: its first link-local address.
pub(crate) fn radio_address(node: &Descriptor<'_>) -> Option<Ipv6Addr> {
    node.addresses.iter().find_map(|address| match address.ip() {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => Some(ip),
        _ => None,
    })
}
