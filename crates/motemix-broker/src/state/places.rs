//! Where registrations are found without a look at all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use motemix_object::Identity;

use super::{Registration, RegistrationId};
use crate::directory::network_of;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Places {
    by_endpoint: BTreeMap<Arc<str>, BTreeSet<RegistrationId>>,
    links: usize,
    of_networks: HashMap<IpAddr, usize>,
    of_devices: HashMap<Identity, usize>,
}

impl Places {
    pub(super) fn add(&mut self, id: &RegistrationId, registration: &Registration) {
        self.by_endpoint.entry(registration.endpoint.clone()).or_default().insert(id.clone());
        self.links += registration.links.len();
        if let Some(address) = registration.registrant {
            *self.of_networks.entry(network_of(address)).or_default() += 1;
        }
        if let Some(device) = registration.device {
            *self.of_devices.entry(device).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, id: &RegistrationId, registration: &Registration) {
        if let Some(ids) = self.by_endpoint.get_mut(&registration.endpoint) {
            ids.remove(id);
            if ids.is_empty() {
                self.by_endpoint.remove(&registration.endpoint);
            }
        }
        self.links -= registration.links.len();
        if let Some(address) = registration.registrant {
            one_less(&mut self.of_networks, &network_of(address));
        }
        if let Some(device) = &registration.device {
            one_less(&mut self.of_devices, device);
        }
    }

    /// Those that an endpoint of this name registered.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &RegistrationId> {
        self.by_endpoint.get(name).into_iter().flatten()
    }

    /// How many links all registrations have together.
    pub(super) const fn links(&self) -> usize {
        self.links
    }

    pub(super) fn of_network(&self, address: IpAddr) -> usize {
        self.of_networks.get(&network_of(address)).copied().unwrap_or_default()
    }

    pub(super) fn has_device(&self, device: &Identity) -> bool {
        self.of_devices.contains_key(device)
    }
}

fn one_less<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
