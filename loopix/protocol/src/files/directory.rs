//! Everybody in the network, to be found by name and by address.

use super::{MixEntry, NodeEntry, ProviderEntry, UserEntry};
use std::collections::BTreeMap;

/// Mixes by layer, providers and users.
///
/// Where two entries of a kind have one name, or two entries one address, the first one is found,
/// as the originals do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directory {
    /// No layer is empty.
    layers: Vec<Vec<MixEntry>>,
    providers: Vec<ProviderEntry>,
    users: Vec<UserEntry>,
    mixes_by_name: BTreeMap<String, Place>,
    providers_by_name: BTreeMap<String, usize>,
    users_by_name: BTreeMap<String, usize>,
    /// By host, then by port.
    addresses: BTreeMap<String, BTreeMap<u16, Place>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Mix { layer: usize, index: usize },
    Provider(usize),
    User(usize),
}

/// Who is at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed<'d> {
    /// A mix.
    Mix {
        /// Which of the layers it is in, from 0.
        layer: usize,
        /// The mix.
        entry: &'d MixEntry,
    },
    /// A provider.
    Provider(&'d ProviderEntry),
    /// A user.
    User(&'d UserEntry),
}

impl Directory {
    /// A directory of these. Within a layer, and among providers and users, the order stays.
    pub fn new(mixes: Vec<MixEntry>, providers: Vec<ProviderEntry>, users: Vec<UserEntry>) -> Self {
        let mut layers = BTreeMap::<i64, Vec<MixEntry>>::new();
        for mix in mixes {
            layers.entry(mix.layer).or_default().push(mix);
        }
        let mut directory =
            Self { layers: layers.into_values().collect(), providers, users, ..Self::default() };
        directory.index();
        directory
    }

    /// A directory of nodes in any order.
    pub fn of_nodes(nodes: impl IntoIterator<Item = NodeEntry>) -> Self {
        let (mut mixes, mut providers, mut users) = (Vec::new(), Vec::new(), Vec::new());
        for node in nodes {
            match node {
                NodeEntry::Mix(mix) => mixes.push(mix),
                NodeEntry::Provider(provider) => providers.push(provider),
                NodeEntry::Client(user) => users.push(user),
            }
        }
        Self::new(mixes, providers, users)
    }

    fn index(&mut self) {
        let mut at = |host: &str, port, place| {
            self.addresses.entry(host.to_owned()).or_default().entry(port).or_insert(place);
        };
        for (layer, mixes) in self.layers.iter().enumerate() {
            for (index, mix) in mixes.iter().enumerate() {
                let place = Place::Mix { layer, index };
                self.mixes_by_name.entry(mix.name.clone()).or_insert(place);
                at(&mix.host, mix.port, place);
            }
        }
        for (index, provider) in self.providers.iter().enumerate() {
            self.providers_by_name.entry(provider.name.clone()).or_insert(index);
            at(&provider.host, provider.port, Place::Provider(index));
        }
        for (index, user) in self.users.iter().enumerate() {
            self.users_by_name.entry(user.name.clone()).or_insert(index);
            at(&user.host, user.port, Place::User(index));
        }
    }

    /// The layers, in the order in which a packet passes them; none is empty.
    pub fn layers(&self) -> &[Vec<MixEntry>] {
        &self.layers
    }

    /// All mixes, layer by layer.
    pub fn mixes(&self) -> impl Iterator<Item = &MixEntry> {
        self.layers.iter().flatten()
    }

    /// All nodes: mixes layer by layer, then providers, then users.
    pub fn entries(&self) -> impl Iterator<Item = NodeEntry> + '_ {
        let mixes = self.mixes().cloned().map(NodeEntry::Mix);
        let providers = self.providers.iter().cloned().map(NodeEntry::Provider);
        mixes.chain(providers).chain(self.users.iter().cloned().map(NodeEntry::Client))
    }

    /// All providers.
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.providers
    }

    /// All users.
    pub fn users(&self) -> &[UserEntry] {
        &self.users
    }

    /// Which of the layers has this number in the originals' files.
    pub fn layer_numbered(&self, number: i64) -> Option<usize> {
        let first = |layer: &Vec<MixEntry>| layer.first().map(|mix| mix.layer);
        self.layers.binary_search_by_key(&Some(number), first).ok()
    }

    /// The mix of this name.
    pub fn mix(&self, name: &str) -> Option<&MixEntry> {
        match self.listed(*self.mixes_by_name.get(name)?)? {
            Listed::Mix { entry, .. } => Some(entry),
            _ => None,
        }
    }

    /// The provider of this name.
    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers.get(*self.providers_by_name.get(name)?)
    }

    /// The user of this name.
    pub fn user(&self, name: &str) -> Option<&UserEntry> {
        self.users.get(*self.users_by_name.get(name)?)
    }

    /// Who is at this address, written as the directory writes it.
    pub fn at(&self, host: &str, port: u16) -> Option<Listed<'_>> {
        self.listed(*self.addresses.get(host)?.get(&port)?)
    }

    fn listed(&self, place: Place) -> Option<Listed<'_>> {
        match place {
            Place::Mix { layer, index } => {
                self.layers.get(layer)?.get(index).map(|entry| Listed::Mix { layer, entry })
            }
            Place::Provider(index) => self.providers.get(index).map(Listed::Provider),
            Place::User(index) => self.users.get(index).map(Listed::User),
        }
    }
}
