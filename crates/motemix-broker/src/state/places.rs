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
    /// By what a look-up may call an endpoint: its name, and what its links call `ep`.
    by_endpoint: BTreeMap<Arc<str>, BTreeSet<RegistrationId>>,
    of_networks: HashMap<IpAddr, usize>,
    of_devices: HashMap<Identity, usize>,
}

fn names(registration: &Registration) -> impl Iterator<Item = &str> {
    let of_links = registration.links.iter().flat_map(|link| link.values("ep"));
    [&*registration.endpoint].into_iter().chain(of_links)
}

impl Places {
    pub(super) fn add(&mut self, id: &RegistrationId, registration: &Registration) {
        for name in names(registration) {
            self.by_endpoint.entry(Arc::from(name)).or_default().insert(id.clone());
        }
        if let Some(address) = registration.registrant {
            *self.of_networks.entry(network_of(address)).or_default() += 1;
        }
        if let Some(device) = registration.device {
            *self.of_devices.entry(device).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, id: &RegistrationId, registration: &Registration) {
        for name in names(registration) {
            if let Some(ids) = self.by_endpoint.get_mut(name) {
                ids.remove(id);
                if ids.is_empty() {
                    self.by_endpoint.remove(name);
                }
            }
        }
        if let Some(address) = registration.registrant {
            one_less(&mut self.of_networks, &network_of(address));
        }
        if let Some(device) = &registration.device {
            one_less(&mut self.of_devices, device);
        }
    }

    /// Those that a look-up for this name may find.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &RegistrationId> {
        self.by_endpoint.get(name).into_iter().flatten()
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
