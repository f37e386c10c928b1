//! The authority of a simulated network: signs the document of each epoch, as `motemix directory`
//! does for a real one.

use crate::random::{self, Purpose};
use crate::scenario::{Motes, Time};
use motemix_crypto::PublicKey;
use motemix_directory::{
    Authorities, AuthoritySecret, BuildError, DocumentBuilder, DocumentError, Draft, Epoch, NetworkDocument,
    NewNode, Parameters, ProfileName, Role, SignedDocument, UnixTime, document_len_limit,
};
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::{PORT, link_local};
use rand_core::Rng as _;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What the network is called.
pub(crate) const NETWORK: &str = "simulated";
/// The first second of the first epoch, in which a run begins: 2027-01-15, 08:00 UTC.
pub(crate) const BEGIN: UnixTime = UnixTime(1_800_000_000);
/// The epoch in which a run begins.
pub(crate) const FIRST: Epoch = Epoch(1);

/// A node as the authority knows it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub name: String,
    pub forwards: bool,
    pub address: ExtendedAddress,
}

/// What a node is called in the document.
pub(crate) fn name(id: u16) -> String {
    format!("mote-{id}")
}

/// What all nodes of a scenario agree on.
pub(crate) fn parameters(motes: &Motes) -> Parameters {
    let mut parameters = Parameters::new(motes.hops, motes.hops);
    parameters.mean_delay = motes.mean_delay.0;
    parameters.hop_allowance = motes.hop_allowance.0;
    parameters.transmissions = motes.transmissions;
    parameters.loop_mean = motes.loop_mean.and_then(Time::unless_zero);
    parameters.drop_mean = motes.drop_mean.and_then(Time::unless_zero);
    parameters.payload_mean = motes.payload_mean.and_then(Time::unless_zero);
    parameters.overlap = motes.epoch.overlap.0;
    parameters.protected_links = motes.link.protected;
    parameters
}

/// Signs documents.
pub(crate) struct Authority {
    secret: AuthoritySecret,
    parameters: Parameters,
    length: Duration,
}

impl Authority {
    /// The authority of a run.
    pub fn new(seed: u64, motes: &Motes) -> Self {
        let mut bytes = [0; 32];
        random::stream(seed, 0, Purpose::Authority).fill_bytes(&mut bytes);
        let secret = AuthoritySecret::from_bytes(&bytes);
        Self { secret, parameters: parameters(motes), length: motes.epoch.length.0 }
    }

    /// The key that its documents are verified with.
    pub fn public_key(&self) -> [u8; 32] {
        self.secret.public_key().to_bytes()
    }

    /// When an epoch begins, in virtual time.
    pub fn begin_of(&self, epoch: Epoch) -> Duration {
        self.length * epoch.0.saturating_sub(FIRST.0)
    }

    /// Checks a document for use in its time, as every node does.
    ///
    /// # Errors
    /// It is not this authority's.
    pub fn admit<'d>(&self, document: &'d [u8]) -> Result<NetworkDocument<'d>, DocumentError> {
        let keys = [self.secret.public_key()];
        let signed = SignedDocument::parse(document)?;
        let authorities = Authorities::new(&keys, 1).map_err(|_| DocumentError::TooFewSignatures {
            valid: 0,
            invalid: 0,
            needed: 1,
        })?;
        let verified = signed.verify(&authorities)?;
        let then = verified.valid_after();
        verified.admit(then, None)
    }

    /// The document of an epoch, in which the nodes have these keys.
    ///
    /// # Errors
    /// A node would refuse it.
    pub fn document(
        &self,
        epoch: Epoch,
        nodes: &[Listed],
        keys: &[PublicKey],
    ) -> Result<Vec<u8>, BuildError> {
        let valid_after = BEGIN.0 + self.begin_of(epoch).as_secs();
        let draft = Draft {
            network_name: NETWORK,
            epoch,
            valid_after: UnixTime(valid_after),
            valid_until: UnixTime(valid_after + self.length.as_secs()),
            profile: ProfileName::Mote,
            parameters: self.parameters,
        };
        let addresses: Vec<_> = nodes.iter().map(|node| [socket(node.address)]).collect();
        let described: Vec<_> = nodes
            .iter()
            .zip(keys)
            .zip(&addresses)
            .map(|((node, key), addresses)| NewNode {
                name: &node.name,
                role: if node.forwards { Role::Mix { layer: 0 } } else { Role::Endpoint },
                mix_key: *key,
                addresses,
            })
            .collect();
        let mut out = vec![0; document_len_limit(nodes.len(), 1)];
        let mut builder = DocumentBuilder::encode(&mut out, &draft, described.into_iter())?;
        builder.sign(&self.secret)?;
        Ok(builder.finish()?.to_vec())
    }
}

/// The length of a scenario's network documents, bytes; none if no document can be of what it asks
/// for.
pub(crate) fn document_len(motes: &Motes, nodes: u32) -> Option<usize> {
    // A document of one node, and what every other one adds: docs/spec/directory.md.
    let listed = Listed { name: name(0), forwards: true, address: ExtendedAddress([2, 0, 0, 0, 0, 0, 0, 2]) };
    let authority = Authority::new(0, motes);
    let one = authority.document(FIRST, &[listed], &[PublicKey([9; 32])]).ok()?.len();
    let more: usize = (1..nodes).map(|id| NODE + name(u16::try_from(id).unwrap_or(u16::MAX)).len()).sum();
    // The heads of the array of nodes and of the payload grow.
    let array = usize::from(nodes > 23) + usize::from(nodes > 255);
    let payload = usize::from(one + more - SIGNED > 255) + 2 * usize::from(one + more > 65_535);
    Some(one + more + array + payload - usize::from(one - SIGNED > 255))
}

/// Bytes of a node in a document besides its name: heads, role, key, one address of IPv6.
const NODE: usize = 57;
/// Bytes of a document with one signature around its payload, heads included.
const SIGNED: usize = 90;

fn socket(address: ExtendedAddress) -> SocketAddr {
    SocketAddr::new(IpAddr::V6(link_local(address)), PORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_directory::AuthorityKey;

    #[test]
    fn the_length_is_known_before() {
        let motes = Motes::default();
        for count in [1_u16, 2, 9, 23, 24, 64, 255, 256, 300] {
            let nodes: Vec<_> = (0..count)
                .map(|id| {
                    let [high, low] = id.to_be_bytes();
                    let address = ExtendedAddress([high, low, 0, 0, 0, 0, 0, 2]);
                    Listed { name: name(id), forwards: true, address }
                })
                .collect();
            let mut key = [9; 32];
            let keys: Vec<_> = (0..count)
                .map(|id| {
                    key[..2].copy_from_slice(&id.to_be_bytes());
                    PublicKey(key)
                })
                .collect();
            let bytes = Authority::new(1, &motes).document(FIRST, &nodes, &keys).expect("sound");
            assert_eq!(document_len(&motes, count.into()), Some(bytes.len()), "{count} nodes");
        }
    }

    #[test]
    fn what_it_signs_is_verified_and_admitted_in_its_epoch_and_no_other() {
        let motes = Motes::default();
        let authority = Authority::new(1, &motes);
        let nodes: Vec<_> = (0..64)
            .map(|id: u8| Listed {
                name: name(id.into()),
                forwards: true,
                address: ExtendedAddress([id, 0, 0, 0, 0, 0, 0, 2]),
            })
            .collect();
        let keys: Vec<_> = (0..64).map(|id: u8| PublicKey([id + 9; 32])).collect();
        let bytes = authority.document(Epoch(3), &nodes, &keys).expect("sound");
        let known = [AuthorityKey::from_bytes(&authority.public_key()).expect("a key")];
        let authorities = Authorities::new(&known, 1).expect("one of one");
        let begin = BEGIN.0 + 2 * motes.epoch.length.0.as_secs();
        for (second, admitted) in [(begin - 1, false), (begin, true)] {
            let verified = SignedDocument::parse(&bytes).and_then(|signed| signed.verify(&authorities));
            let document = verified.expect("signed").admit(UnixTime(second), None);
            assert_eq!(document.is_ok(), admitted, "{second}");
        }
    }
}
