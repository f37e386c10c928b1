//! Readings that whoever gets them can check.

use crate::failure::Failure;
use motemix_host::{NodeConfig, Source};
use motemix_object::{
    Algorithm, Audience, OVERHEAD, ObjectError, Path, Reserved, Sealer, Signer as _, register, senml_len,
};
use motemix_os::store::Birth;
use motemix_readings::Counter;
use motemix_readings::keys::DeviceKey;
use std::ops::Range;
use std::task::{Poll, ready};

/// Numbers that one write to the disk makes available: so many are left out at a restart, and a
/// verifier's threshold is sixteen times as large.
const BLOCK: u64 = 64;
/// In place of every so many-th reading a device registers, without being asked: a verifier that
/// has lost its numbers, or was away for longer than its threshold, believes it again from then on.
/// A fourth of the threshold, and a multiple of the block. Where a restart leaves numbers out, it
/// goes on at the beginning of a block, and so does not leave this out for ever.
const REGISTER_EVERY: u64 = 256;

/// Room for a registration with a key and the most that stands beside one, twice.
const REGISTRATION_LEN: usize = 2048;

/// Signs what a source measures for an anonymous path, for those of its network.
pub struct SignedReadings<S> {
    source: S,
    device: DeviceKey,
    network: String,
    counter: Counter,
    /// The rest of a block, and which file the counter was when it was taken.
    numbers: Range<u64>,
    taken_of: Option<Birth>,
    /// Why the last one could not be signed.
    problem: Option<String>,
}

/// The key of a device that signs on anonymous paths.
fn load(key: &std::path::Path, config: &NodeConfig) -> Result<DeviceKey, Failure> {
    Audience::new(&config.network).map_err(Failure::broken)?;
    let mut device = DeviceKey::load(key).map_err(Failure::broken)?;
    if device.signer().public_key().algorithm() != Algorithm::Ed25519 {
        return Err(Failure::broken(format!(
            "{}: readings through mixes are signed with an Ed25519 key alone, because anybody can compute an ES256 \
             key from a signature; make one with `motemix id new --algorithm ed25519`",
            key.display()
        )));
    }
    Ok(device)
}

/// Signs one reading for an anonymous path, and uses one number of the key.
///
/// # Errors
/// The key cannot be read or is none for this, or its counter does not work.
pub fn sign_one(key: &std::path::Path, config: &NodeConfig, senml: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut device = load(key, config)?;
    let number = Counter::beside(key, &device.identity()).take().map_err(Failure::failed)?;
    sign(&mut device, &config.network, number, senml, senml.len() + OVERHEAD + 8).map_err(Failure::failed)
}

fn sign(
    device: &mut DeviceKey,
    network: &str,
    number: Reserved,
    senml: &[u8],
    most: usize,
) -> Result<Vec<u8>, ObjectError> {
    let identity = device.identity();
    let audience = Audience::new(network).unwrap_or_default();
    let mut sealer = Sealer { signer: device.signer(), identity, path: Path::Anonymous, audience };
    let mut out = vec![0; most];
    let len = sealer.seal(number, senml, &mut out)?;
    out.truncate(len);
    Ok(out)
}

impl<S: Source> SignedReadings<S> {
    /// # Errors
    /// The key cannot be read, or the network's name is too long.
    pub fn new(source: S, key: &std::path::Path, config: &NodeConfig) -> Result<Self, Failure> {
        let device = load(key, config)?;
        let counter = Counter::beside(key, &device.identity());
        Ok(Self {
            source,
            network: config.network.clone(),
            // Beside the key, whoever signs with it: a number is used once, also if this node's
            // state is removed, or another node or person has the key.
            counter,
            device,
            numbers: 0..0,
            taken_of: None,
            problem: None,
        })
    }

    /// What was measured, signed, in at most `most` bytes.
    fn next(&mut self, senml: &[u8], most: usize) -> Result<Vec<u8>, Failure> {
        let number = self.number()?;
        if number.number() != 0 && number.number().is_multiple_of(REGISTER_EVERY) {
            return self.register(number.number() + 1, most).map_err(Failure::failed);
        }
        sign(&mut self.device, &self.network, number, senml, most).map_err(Failure::failed)
    }

    fn number(&mut self) -> Result<Reserved, Failure> {
        // Somebody else may have signed with a higher number, or registered one: what is left of
        // the block would come too late where that was seen.
        if self.numbers.is_empty() || self.counter.file() != self.taken_of {
            self.numbers = self.counter.take_block(BLOCK).map_err(Failure::failed)?;
            self.taken_of = self.counter.file();
        }
        let number = self.numbers.next().ok_or_else(|| Failure::failed("no number is left"))?;
        Ok(Reserved::promised(number))
    }

    /// Which number comes next, with the key if that fits. Where it does not, key and number take
    /// turns. The number of the reading that this takes the place of is left out.
    fn register(&mut self, next: u64, most: usize) -> Result<Vec<u8>, ObjectError> {
        let mut out = vec![0; REGISTRATION_LEN];
        let audience = Audience::new(&self.network).unwrap_or_default();
        let (signer, credential) = self.device.parts();
        let len = register(signer, &credential, true, next, audience, &mut out)?;
        let len = match len {
            fits if fits <= most => fits,
            _ if (next / REGISTER_EVERY).is_multiple_of(2) => credential.encode(&mut out)?,
            _ => register(signer, &credential, false, next, audience, &mut out)?,
        };
        out.truncate(len);
        if len > most { Err(ObjectError::Room) } else { Ok(out) }
    }
}

impl<S: Source> Source for SignedReadings<S> {
    fn poll(&mut self, most: usize) -> Poll<Vec<u8>> {
        let senml = ready!(self.source.poll(senml_len(most)));
        self.problem = None;
        if senml.is_empty() {
            return Poll::Ready(senml);
        }
        Poll::Ready(self.next(&senml, most).unwrap_or_else(|failure| {
            self.problem = Some(failure.to_string());
            Vec::new()
        }))
    }

    fn problem(&self) -> Option<String> {
        self.problem.clone().or_else(|| self.source.problem())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{OwnSensors, Sensors};
    use motemix_object::{OtherKind, Policy};
    use motemix_readings::{Accepted, Devices, Refusal, Verifier};

    /// A device whose verifier was away while its counter went on to this number.
    fn device(
        folder: &std::path::Path,
        others: &[(OtherKind, Vec<u8>)],
    ) -> (SignedReadings<OwnSensors>, Verifier) {
        let device = DeviceKey::create(folder.join("key"), Algorithm::Ed25519, others).unwrap();
        let mut devices = Devices::open(folder.join("devices.db")).unwrap();
        let by = motemix_readings::devices::Admitted::ByList;
        devices.authorise(device.identity().short(), "cellar", "temperature", by).unwrap();
        let counter = Counter::at(folder.join("counter"));
        counter.move_to(5000).unwrap();
        let network = "plant".to_owned();
        let source = OwnSensors(Sensors::new());
        let (numbers, taken_of, problem) = (0..0, None, None);
        let signed = SignedReadings { source, device, network, counter, numbers, taken_of, problem };
        (signed, Verifier::new(devices, Policy::WINDOW))
    }

    #[test]
    fn whoever_signs_with_a_key_uses_no_number_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        let identity = DeviceKey::create(&key, Algorithm::Ed25519, &[]).unwrap().identity();
        // Two nodes of one key, or a node whose state was removed, and who signs at the console.
        let mut numbers = Vec::new();
        for node in ["one", "other", "one"] {
            let mut config = NodeConfig::new(node, Some(1), "plant", Vec::new(), 0);
            config.state = folder.path().join(node);
            std::fs::create_dir_all(&config.state).unwrap();
            let mut signed = SignedReadings::new(OwnSensors(Sensors::new()), &key, &config).unwrap();
            numbers.push(signed.number().unwrap().number());
            numbers.push(Counter::beside(&key, &identity).take().unwrap().number());
            std::fs::remove_dir_all(&config.state).unwrap();
        }
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    }

    /// As `motemix object register` does while the node holds a block of numbers.
    #[test]
    fn a_device_that_is_registered_while_its_node_runs_is_believed_from_its_next_reading_on() {
        let folder = tempfile::tempdir().unwrap();
        let (mut readings, mut verifier) = device(folder.path(), &[]);
        let audience = Audience::new("plant").unwrap();
        let mut read = |readings: &mut SignedReadings<OwnSensors>| {
            let Poll::Ready(message) = readings.poll(1024) else { panic!("sensors are there at once") };
            verifier.look_at(&message, audience, 1).map(drop)
        };
        let mut key = DeviceKey::load(folder.path().join("key")).unwrap();
        assert!(read(&mut readings).is_err(), "it has not shown its key");
        for times in [1, 1, 70, 3] {
            let mut out = [0; REGISTRATION_LEN];
            let (signer, credential) = key.parts();
            let next = readings.counter.announce().unwrap();
            let len = register(signer, &credential, true, next, audience, &mut out).unwrap();
            verifier_of(folder.path()).look_at(&out[..len], audience, 1).unwrap();
            for _ in 0..times {
                read(&mut readings).unwrap();
            }
        }
    }

    /// Another process with the list.
    fn verifier_of(folder: &std::path::Path) -> Verifier {
        Verifier::new(Devices::open(folder.join("devices.db")).unwrap(), Policy::WINDOW)
    }

    #[test]
    fn a_verifier_that_was_away_or_never_saw_the_key_believes_the_device_again_by_itself() {
        // A packet of hosts has room for the key beside the number, and one of motes has not.
        for (most, all) in [(1024, REGISTER_EVERY), (103, 3 * REGISTER_EVERY)] {
            let folder = tempfile::tempdir().unwrap();
            let serial = [(OtherKind::Serial, b"A-17".to_vec())];
            let (mut signed, mut verifier) = device(folder.path(), &serial);
            let audience = Audience::new("plant").unwrap();
            let (mut refused, mut registered, mut believed) = (0, 0, 0);
            for _ in 0..=all {
                let Poll::Ready(message) = signed.poll(most) else { panic!("sensors are there at once") };
                assert!(!message.is_empty() && message.len() <= most, "{}", message.len());
                match verifier.look_at(&message, audience, 1) {
                    Ok(Accepted::Reading { .. }) => believed += 1,
                    Ok(_) => registered += 1,
                    Err(Refusal::Unknown | Refusal::NoKey(_) | Refusal::Stale(..)) => {
                        assert_eq!(believed, 0, "nothing is lost once it was believed");
                        refused += 1;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            assert!(registered >= 1 && believed > 100, "{most}: {refused} {registered} {believed}");
        }
    }
}
