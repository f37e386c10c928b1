//! Where registrations are found without a look at all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use motemix_coap::Source;
use motemix_object::Identity;

use super::{Registration, RegistrationId};

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Places {
    by_endpoint: BTreeMap<Arc<str>, OfName>,
    /// [`Registration::work`] of all together.
    work: usize,
    of_sources: HashMap<Source, usize>,
    of_devices: HashMap<Identity, usize>,
}

/// Registrations of one name, each in a sector of its own.
#[derive(Debug, Clone, Default, PartialEq)]
struct OfName {
    ids: BTreeSet<RegistrationId>,
    work: usize,
}

impl Places {
    pub(super) fn add(&mut self, id: &RegistrationId, registration: &Registration) {
        let work = registration.work();
        let of_name = self.by_endpoint.entry(registration.endpoint.clone()).or_default();
        of_name.ids.insert(id.clone());
        of_name.work += work;
        self.work += work;
        if let Some(address) = registration.registrant {
            *self.of_sources.entry(Source::of(address)).or_default() += 1;
        }
        if let Some(device) = registration.device {
            *self.of_devices.entry(device).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, id: &RegistrationId, registration: &Registration) {
        let work = registration.work();
        if let Some(of_name) = self.by_endpoint.get_mut(&registration.endpoint) {
            of_name.ids.remove(id);
            of_name.work -= work;
            if of_name.ids.is_empty() {
                self.by_endpoint.remove(&registration.endpoint);
            }
        }
        self.work -= work;
        if let Some(address) = registration.registrant {
            one_less(&mut self.of_sources, &Source::of(address));
        }
        if let Some(device) = &registration.device {
            one_less(&mut self.of_devices, device);
        }
    }

    /// Those that an endpoint of this name registered.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &RegistrationId> {
        self.by_endpoint.get(name).into_iter().flat_map(|of_name| &of_name.ids)
    }

    /// What it takes to look at those of a name, or at all.
    pub(super) fn work(&self, name: Option<&str>) -> usize {
        match name {
            Some(name) => self.by_endpoint.get(name).map_or(0, |of_name| of_name.work),
            None => self.work,
        }
    }

    pub(super) fn of_network(&self, address: IpAddr) -> usize {
        self.of_sources.get(&Source::of(address)).copied().unwrap_or_default()
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
