//! The broker's own keys, and who may prove his to it (EDHOC, `docs/spec/oscore.md`).
//!
//! A key is made when the broker first starts, in a file of its own, so that devices which were
//! given its identity know the broker for as long as the folder is there. Contexts of OSCORE are of
//! one process: after a restart a device makes another by a handshake.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use motemix_coap::oscore::edhoc::{self, Accepted, DeviceKey as ProvenKey, Own, OwnSecret, Responder};
use motemix_coap::oscore::{ContextId, Contexts, Layer, NothingStored};
use motemix_coap::{Protection, oscore};
use motemix_crypto::Secret;
use motemix_neighbour::PrivateKey;
use motemix_neighbour::edhoc::cipher_suite::Ed25519Key;
use motemix_neighbour::edhoc::{Ccs, CredentialId};
use motemix_object::{Algorithm, Identity, PublicKey, Signer as _};
use motemix_readings::keys::DeviceKey;

use super::{ServeError, preshared};
use crate::State;
use crate::policy::{Policy, Sessions};

/// What the credential calls the broker.
const SUBJECT: &str = "motemix broker";
/// One key for each of EDHOC's suites, the best first. The byte names it in the credential.
const KEYS: [(Algorithm, u8); 2] = [(Algorithm::Es256, 0x00), (Algorithm::Ed25519, 0x01)];

/// Who the broker is, for devices that have a key of this algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnIdentity {
    /// What a device compares the broker's key with.
    pub identity: Identity,
    /// What kind of key it is.
    pub algorithm: Algorithm,
}

/// The file of a key in the folder of the data.
pub fn key_file(folder: &Path, algorithm: Algorithm) -> PathBuf {
    folder.join(format!("broker-{}.key", algorithm.name()))
}

/// Reads the broker's keys, and makes those that are not there.
pub(super) fn own_keys(folder: &Path) -> Result<(Vec<Own>, Vec<OwnIdentity>), ServeError> {
    let mut keys = (Vec::new(), Vec::new());
    for (algorithm, name) in KEYS {
        let file = key_file(folder, algorithm);
        let exists = file.try_exists().map_err(|error| ServeError::System("the broker's key", error))?;
        let mut key =
            if exists { DeviceKey::load(&file)? } else { DeviceKey::create(&file, algorithm, &[])? };
        let secret = Secret::new(*key.signer().expose());
        let wrong = || ServeError::OtherKey { file: file.clone(), algorithm: algorithm.name() };
        let secret = match key.signer().public_key().algorithm() {
            found if found != algorithm => return Err(wrong()),
            Algorithm::Es256 => OwnSecret::P256(PrivateKey::new(secret).map_err(|_| wrong())?),
            Algorithm::Ed25519 => OwnSecret::Ed25519(Ed25519Key::new(secret)),
        };
        // By value: whoever was given the identity alone can check it.
        let own = Own::new(secret, Some(SUBJECT), Some(&[name])).map_err(|_| wrong())?;
        keys.0.push(own.by_value());
        keys.1.push(OwnIdentity { identity: key.identity(), algorithm });
    }
    Ok(keys)
}

/// What an endpoint needs so that devices can prove who they are.
/// Also whose requests are under contexts that were given to both sides.
pub(super) fn protection(
    policy: &Policy,
    own: Vec<Own>,
    folder: &Path,
    state: Arc<RwLock<State>>,
) -> Result<(Protection, BTreeMap<ContextId, Identity>), ServeError> {
    let Sessions { contexts, contexts_of_a_device, lifetime, idle, .. } = policy.sessions;
    let settings = oscore::Settings {
        places: contexts as usize,
        per_device: contexts_of_a_device as usize,
        lifetime,
        idle,
    };
    let devices = Devices {
        may: policy.sessions.devices.clone(),
        listed: policy.directory.devices.clone().unwrap_or_default(),
        state,
    };
    let responder = Responder::new(edhoc::Settings::default(), own);
    let mut contexts = Contexts::new(settings);
    let (shared, numbers) = preshared::take_up(folder, &mut contexts, settings.places)?;
    let protection = Protection {
        layer: Layer { contexts, responder: Some(responder) },
        policy: Box::new(devices),
        store: match numbers {
            Some(numbers) => Box::new(numbers),
            None => Box::new(NothingStored),
        },
    };
    Ok((protection, shared))
}

/// Whose key has been proven. A key that only agrees is nobody's identity.
pub(super) fn identity_of(key: &ProvenKey) -> Option<Identity> {
    let key = match key {
        ProvenKey::Ed25519(key) => PublicKey::ed25519(key),
        ProvenKey::P256(key) => PublicKey::new(Algorithm::Es256, key),
        ProvenKey::X25519(_) => return None,
    };
    key.ok().map(|key| Identity::of_key(&key))
}

/// Who may connect.
struct Devices {
    /// Those who may; none lets everybody.
    may: Option<BTreeSet<Identity>>,
    /// Those who may register.
    listed: BTreeSet<Identity>,
    state: Arc<RwLock<State>>,
}

impl Devices {
    fn is_known(&self, device: &Identity) -> bool {
        if self.may.is_some() || self.listed.contains(device) {
            return true;
        }
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.freshness(device).is_some() || state.is_registered(device)
    }
}

impl edhoc::Policy for Devices {
    fn credential(&mut self, id: &CredentialId<'_>) -> Option<Accepted> {
        let CredentialId::Ccs(ccs) = id else { return None };
        let device = identity_of(&ProvenKey::of(&Ccs::parse(ccs).ok()?.key)?)?;
        if self.may.as_ref().is_some_and(|may| !may.contains(&device)) {
            return None;
        }
        Some(Accepted { ccs: ccs.to_vec(), is_known: self.is_known(&device) })
    }
}
