//! Who receives readings checks them, as `docs/spec/reading.md` has it.

use motemix_object::{
    Audience, Freshness, Identity, KeyId, Policy, PublicKey, SealedReading, UnverifiedRegistration,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Behind mixes, readings overtake one another.
const POLICY: Policy = Policy::WINDOW;

const UNKNOWN: &str = "of no known device";

/// The devices of a network, as the list of somebody who installed them has them, in the order of
/// their nodes' ids.
pub(crate) struct Devices {
    all: Vec<(Identity, PublicKey)>,
    /// The key ids that could come: whose they are, and under which number.
    coming: RefCell<Coming>,
}

#[derive(Default)]
struct Coming {
    of: BTreeMap<KeyId, (usize, u64)>,
    /// The first number of each device that is not in there.
    ends: Vec<u64>,
}

impl Devices {
    pub fn new(all: Vec<(Identity, PublicKey)>) -> Self {
        let coming = Coming { of: BTreeMap::new(), ends: vec![0; all.len()] };
        let devices = Self { all, coming: RefCell::new(coming) };
        (0..devices.all.len()).for_each(|device| devices.expect(device, &Freshness::starting_at(0)));
        devices
    }

    /// The key ids of this device that a receiver could accept.
    fn expect(&self, device: usize, freshness: &Freshness) {
        let Coming { of, ends } = &mut *self.coming.borrow_mut();
        let (Some((identity, _)), Some(end)) = (self.all.get(device), ends.get_mut(device)) else { return };
        let (_, to) = freshness.span(POLICY);
        of.extend((*end..to).map(|number| (KeyId::rotating(identity, number), (device, number))));
        *end = to.max(*end);
    }

    fn find(&self, key_id: KeyId) -> Option<(usize, u64)> {
        self.coming.borrow().of.get(&key_id).copied()
    }
}

/// What one receiver believes.
pub(crate) struct Verifier {
    devices: Rc<Devices>,
    /// Which numbers of a device it has seen.
    seen: BTreeMap<usize, Freshness>,
}

impl Verifier {
    pub fn new(devices: Rc<Devices>) -> Self {
        Self { devices, seen: BTreeMap::new() }
    }

    /// Whose reading or registration it is; or why nobody should believe it.
    pub fn check(&mut self, message: &[u8], network: &str) -> Result<u16, &'static str> {
        let audience = Audience::new(network).map_err(|_| "for no audience")?;
        let device = match UnverifiedRegistration::parse(message) {
            Ok(registration) => self.register(&registration, audience),
            Err(_) => self.believe(message, audience),
        }?;
        if let Some(freshness) = self.seen.get(&device) {
            self.devices.expect(device, freshness);
        }
        u16::try_from(device).map_err(|_| UNKNOWN)
    }

    fn register(
        &mut self,
        registration: &UnverifiedRegistration<'_>,
        audience: Audience<'_>,
    ) -> Result<usize, &'static str> {
        let mut all = self.devices.all.iter().enumerate();
        let registered = all.find_map(|(device, (identity, key))| {
            Some((device, registration.verify(identity, Some(key), audience).ok()?))
        });
        let (device, registered) = registered.ok_or(UNKNOWN)?;
        let freshness = self.seen.entry(device).or_insert(Freshness::starting_at(0));
        freshness.register(registered.sequence).map_err(|_| "not fresh")?;
        Ok(device)
    }

    fn believe(&mut self, reading: &[u8], audience: Audience<'_>) -> Result<usize, &'static str> {
        let sealed = SealedReading::parse(reading).map_err(|_| "malformed")?;
        let (device, number) = self.devices.find(sealed.key_id()).ok_or(UNKNOWN)?;
        let (identity, key) = self.devices.all.get(device).ok_or(UNKNOWN)?;
        let freshness = self.seen.entry(device).or_insert(Freshness::starting_at(0));
        freshness.check(number, POLICY).map_err(|_| "not fresh")?;
        let verified = sealed.verify(key, identity, number, audience).map_err(|_| "altered")?;
        freshness.admit(&verified, POLICY).map_err(|_| "not fresh")?;
        Ok(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_crypto::Secret;
    use motemix_object::{Ed25519Key, Path, Reserved, Sealer};

    #[test]
    fn a_reading_is_believed_once_and_from_devices_of_the_list_alone() {
        let mut keys = [7, 8].map(|seed| Ed25519Key::new(Secret::new([seed; 32])));
        let listed = keys.first().expect("a key").public_key();
        let devices = Rc::new(Devices::new(vec![(Identity::of_key(&listed), listed)]));
        let mut verifier = Verifier::new(devices);
        let mut sealed = keys.each_mut().map(|key| {
            let (identity, mut out) = (Identity::of_key(&key.public_key()), [0; 103]);
            let audience = Audience::new("net").expect("short");
            let mut sealer = Sealer { signer: key, identity, path: Path::Anonymous, audience };
            let len = sealer.seal(Reserved::promised(3), b"\x80", &mut out).expect("room");
            out[..len].to_vec()
        });
        assert_eq!(verifier.check(&sealed[0], "other"), Err("altered"));
        assert_eq!(verifier.check(&sealed[0], "net"), Ok(0));
        assert_eq!(verifier.check(&sealed[0], "net"), Err("not fresh"));
        assert_eq!(verifier.check(&sealed[1], "net"), Err("of no known device"));
        *sealed[0].last_mut().expect("bytes") ^= 1;
        assert_eq!(verifier.check(b"text", "net"), Err("malformed"));
    }
}
