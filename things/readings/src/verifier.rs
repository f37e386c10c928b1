//! What a message of a device is, and whether to believe it.

use std::collections::HashMap;
use std::fmt;

use crate::signature;
use motemix_object::{
    Audience, Credential, Freshness, Identity, KeyId, ObjectError, Policy, PublicKey, SealedReading, Stale,
    UnverifiedRegistration, Verified, check_retirement, claimed_retired,
};
use motemix_os::store::{Message, StoreError};

use crate::devices::{Admitted, Device, Devices, MAX_DEVICES, Verdict};
use crate::jws::{self, JwsError, SealedJws};
use crate::senml::{InvalidSenml, Pack, is_text};

/// A message that is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// A reading.
    Reading {
        /// Whose.
        device: Box<Device>,
        /// Under which number.
        sequence: u64,
        /// SenML in CBOR, also if the twin had it in JSON.
        senml: Vec<u8>,
    },
    /// A device has shown its key.
    Introduced {
        /// Which.
        device: Box<Device>,
    },
    /// A device says which number comes next.
    Registered {
        /// Which.
        device: Box<Device>,
        /// The number.
        sequence: u64,
    },
    /// Another identity takes the place of a device's.
    Succeeded {
        /// The device that was.
        device: Box<Device>,
        /// The identity now.
        successor: Identity,
    },
}

/// Why a message is not believed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// It is no message of a device.
    Malformed(ObjectError),
    /// It is text, and no reading as JWS.
    MalformedJws(JwsError),
    /// No device of the list has such a key id or identity.
    Unknown,
    /// The device has not shown its key.
    NoKey(Box<Device>),
    /// The signature does not hold.
    Signature(ObjectError),
    /// Its number is not accepted.
    Stale(Box<Device>, Stale),
    /// Another identity has taken the device's place.
    Retired(Box<Device>),
    /// What it says is no SenML, or means nothing. The device signed it, and the number is used.
    Senml(Box<Device>, InvalidSenml),
    /// It would put a device into the list, which is full.
    Full,
    /// The list could not be read or written: the message was not looked at.
    Store(StoreError),
}

impl Refusal {
    /// The device that it is about, if that is known.
    pub fn device(&self) -> Option<&Device> {
        match self {
            Self::NoKey(device) | Self::Stale(device, _) | Self::Retired(device) | Self::Senml(device, _) => {
                Some(device)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::Signature(error) => {
                write!(f, "{error}: the message is for another audience, or was changed")
            }
            Self::MalformedJws(error) => error.fmt(f),
            Self::Unknown => f.write_str(
                "no device of the list sent this; put its identity there with `motemix object authorise`, or let it \
                 register again if it is there",
            ),
            Self::NoKey(_) => f.write_str("the device has not shown its key; let it register"),
            Self::Stale(_, stale) => stale.fmt(f),
            Self::Senml(_, error) => write!(f, "the device signed what means nothing: {error}"),
            Self::Retired(device) => match device.successor {
                Some(successor) => write!(f, "the device was retired; {successor:.32} has taken its place"),
                None => f.write_str("the device was retired"),
            },
            Self::Full => write!(
                f,
                "the list has {MAX_DEVICES} devices and is full; take one out with `motemix object authorise \
                 --remove`, and look at this again"
            ),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Believes messages of the devices of a list.
#[derive(Debug)]
pub struct Verifier {
    devices: Devices,
    policy: Policy,
    /// Key ids of the next readings of each device, as they are on anonymous paths.
    expected: HashMap<KeyId, (Candidate, u64)>,
    /// Up to which number key ids of a device were computed.
    computed: HashMap<Candidate, (u64, Freshness)>,
}

type Candidate = [u8; Identity::SHORT_LEN];

/// A reading in one of its two forms, whose signature nobody has checked.
enum Sealed<'m> {
    Compact(SealedReading<'m>),
    Twin(SealedJws<'m>),
}

impl Sealed<'_> {
    const fn key_id(&self) -> KeyId {
        match self {
            Self::Compact(reading) => reading.key_id(),
            Self::Twin(twin) => twin.key_id(),
        }
    }

    fn verify(
        &self,
        key: &PublicKey,
        identity: &Identity,
        sequence: u64,
        audience: Audience<'_>,
    ) -> Result<Verified<'_>, ObjectError> {
        match self {
            Self::Compact(reading) => {
                reading.verify_by(key, identity, sequence, audience, signature::verifies)
            }
            Self::Twin(twin) => twin.verify(key, identity, sequence, audience),
        }
    }
}

/// What was signed, held to the rules of SenML. CBOR stays as it is.
fn as_cbor(senml: &[u8]) -> Result<Vec<u8>, InvalidSenml> {
    let pack = Pack::read_valid(senml)?;
    Ok(if is_text(senml) { pack.to_cbor() } else { senml.to_vec() })
}

impl Verifier {
    /// For the devices of a list.
    pub fn new(devices: Devices, policy: Policy) -> Self {
        Self { devices, policy, expected: HashMap::new(), computed: HashMap::new() }
    }

    /// The list.
    pub fn devices(&mut self) -> &mut Devices {
        &mut self.devices
    }

    /// Looks at a message that arrived at `now`, in seconds since 1970, and notes it before it
    /// returns. Nobody else changes the list meanwhile: of two processes, one waits. At most as
    /// many signatures are checked as devices of the list share the four bytes that a reading
    /// names its own by.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn look_at(&mut self, message: &[u8], audience: Audience<'_>, now: u64) -> Result<Accepted, Refusal> {
        let together = self.devices.begin()?;
        let looked = self.look(message, audience, now);
        if let Err(Refusal::Store(_)) = looked {
            self.devices.undo(together)?;
        } else {
            self.devices.end(together)?;
        }
        looked
    }

    fn look(&mut self, message: &[u8], audience: Audience<'_>, now: u64) -> Result<Accepted, Refusal> {
        // An introduction is an array of a curve's number and more; all others begin with a string.
        if let Ok(credential) = Credential::parse(message) {
            return self.introduced(&credential);
        }
        // A header of JWS is a JSON object, whose base64 begins like this.
        if let Some(text) = std::str::from_utf8(message).ok().filter(|text| text.starts_with("ey")) {
            let twin = jws::open(text).map_err(Refusal::MalformedJws)?;
            return self.reading(&Sealed::Twin(twin), audience, now);
        }
        let reading = match SealedReading::parse(message) {
            Ok(reading) => return self.reading(&Sealed::Compact(reading), audience, now),
            Err(error) => error,
        };
        if let Ok(registration) = UnverifiedRegistration::parse(message) {
            return self.registered(&registration, audience);
        }
        match self.succeeded(message)? {
            Some(succeeded) => Ok(succeeded),
            None => Err(Refusal::Malformed(reading)),
        }
    }

    /// Looks at messages of an inbox, in the order in which they arrived, unless that was done
    /// before, and notes what became of them: of all of these, or of none. Hands each to `see`.
    ///
    /// # Errors
    /// The list does not work.
    pub fn judge(
        &mut self,
        messages: &[Message],
        audience: Audience<'_>,
        mut see: impl FnMut(&Message, Verdict),
    ) -> Result<(), StoreError> {
        let together = self.devices.begin()?;
        for message in messages {
            match self.judge_one(message, audience) {
                Ok(verdict) => see(message, verdict),
                Err(error) => {
                    self.devices.undo(together)?;
                    // What is expected is that of readings that were not noted.
                    (self.expected, self.computed) = (HashMap::new(), HashMap::new());
                    return Err(error);
                }
            }
        }
        self.devices.end(together)
    }

    fn judge_one(&mut self, message: &Message, audience: Audience<'_>) -> Result<Verdict, StoreError> {
        if let Some(verdict) = self.devices.verdict(message)? {
            return Ok(verdict);
        }
        let looked = self.look_at(&message.data, audience, message.received_at.as_secs());
        // It is looked at again when there is room.
        let is_final = !matches!(looked, Err(Refusal::Full));
        let verdict = match looked {
            Ok(Accepted::Reading { device, sequence, .. } | Accepted::Registered { device, sequence }) => {
                Verdict { short: Some(device.short), sequence: Some(sequence), problem: None }
            }
            Ok(Accepted::Introduced { device } | Accepted::Succeeded { device, .. }) => {
                Verdict { short: Some(device.short), sequence: None, problem: None }
            }
            Err(Refusal::Store(error)) => return Err(error),
            Err(refusal) => Verdict {
                short: refusal.device().map(|device| device.short),
                sequence: None,
                problem: Some(refusal.to_string()),
            },
        };
        if is_final {
            self.devices.keep_verdict(message, &verdict)?;
        }
        Ok(verdict)
    }

    fn introduced(&mut self, credential: &Credential<'_>) -> Result<Accepted, Refusal> {
        let identity = credential.identity().map_err(Refusal::Malformed)?;
        let device = self.known_or_first(&identity)?;
        self.devices.introduce(&identity, credential)?;
        Ok(Accepted::Introduced { device: Box::new(device) })
    }

    /// The device of an identity; one that is not in the list may take a place for those who come
    /// first.
    fn known_or_first(&mut self, identity: &Identity) -> Result<Device, Refusal> {
        if let Some(device) = self.devices.device(identity.short())? {
            return if device.successor.is_some() {
                Err(Refusal::Retired(Box::new(device)))
            } else {
                Ok(device)
            };
        }
        let places = self.devices.places_on_first_use()?;
        let left = places.checked_sub(1).ok_or(Refusal::Unknown)?;
        if self.devices.is_full()? {
            return Err(Refusal::Full);
        }
        self.devices.in_one(|devices| {
            devices.set_places_on_first_use(left)?;
            devices.authorise(identity.short(), "", "", Admitted::OnFirstUse)
        })?;
        self.devices.device(identity.short())?.ok_or(Refusal::Unknown)
    }

    fn registered(
        &mut self,
        registration: &UnverifiedRegistration<'_>,
        audience: Audience<'_>,
    ) -> Result<Accepted, Refusal> {
        let device = if let Some(credential) = registration.credential() {
            let identity = credential.identity().map_err(Refusal::Malformed)?;
            // Before anybody gets a place.
            registration.verify(&identity, None, audience).map_err(Refusal::Signature)?;
            let device = self.known_or_first(&identity)?;
            self.devices.introduce(&identity, credential)?;
            device
        } else {
            let short = registration.short_identity().map_err(Refusal::Malformed)?;
            let device = self.devices.device(short)?.ok_or(Refusal::Unknown)?;
            let Some((identity, key)) = device.known else { return Err(Refusal::NoKey(Box::new(device))) };
            registration.verify(&identity, Some(&key), audience).map_err(Refusal::Signature)?;
            device
        };
        if device.successor.is_some() {
            return Err(Refusal::Retired(Box::new(device)));
        }
        let (mut fresh, sequence) = (device.fresh, registration.sequence());
        fresh.register(sequence).map_err(|stale| Refusal::Stale(Box::new(device.clone()), stale))?;
        self.devices.keep(device.short, fresh, None)?;
        Ok(Accepted::Registered { device: Box::new(device), sequence })
    }

    fn succeeded(&mut self, message: &[u8]) -> Result<Option<Accepted>, Refusal> {
        let Ok(old) = claimed_retired(message) else { return Ok(None) };
        let device = self.devices.device(old.short())?.ok_or(Refusal::Unknown)?;
        let (successor, credential) = check_retirement(message, &old).map_err(Refusal::Signature)?;
        match device.successor {
            // Shown again: nothing changes.
            Some(before) if before == successor => {}
            Some(_) => return Err(Refusal::Retired(Box::new(device))),
            None if self.devices.device(successor.short())?.is_none() && self.devices.is_full()? => {
                return Err(Refusal::Full);
            }
            None => self.devices.succeed(&device, &successor, &credential)?,
        }
        Ok(Some(Accepted::Succeeded { device: Box::new(device), successor }))
    }

    fn reading(
        &mut self,
        reading: &Sealed<'_>,
        audience: Audience<'_>,
        now: u64,
    ) -> Result<Accepted, Refusal> {
        let mut refusal = Refusal::Unknown;
        let key_id = reading.key_id();
        for device in &mut self.devices.beginning_with(*key_id.named())? {
            let sequence = device.fresh.nearest(key_id.low());
            match self.try_one(device, reading, sequence, audience, now) {
                Err(error @ Refusal::Store(_)) => return Err(error),
                Err(error) => refusal = error,
                accepted => return accepted,
            }
        }
        for (identity, fresh) in self.devices.identities()? {
            self.expect(&identity, fresh);
        }
        let Some((short, sequence)) = self.expected.get(&key_id).copied() else { return Err(refusal) };
        let mut device = self.devices.device(short)?.ok_or(refusal)?;
        self.try_one(&mut device, reading, sequence, audience, now)
    }

    fn try_one(
        &self,
        device: &mut Device,
        reading: &Sealed<'_>,
        sequence: u64,
        audience: Audience<'_>,
        now: u64,
    ) -> Result<Accepted, Refusal> {
        if device.successor.is_some() {
            return Err(Refusal::Retired(Box::new(device.clone())));
        }
        let Some((identity, key)) = device.known else {
            return Err(Refusal::NoKey(Box::new(device.clone())));
        };
        let verified = self.admit(device, reading, (&identity, &key), sequence, audience)?;
        // Before anybody sees it.
        self.devices.keep(device.short, device.fresh, Some(now))?;
        let senml = as_cbor(verified.senml()).map_err(|why| Refusal::Senml(Box::new(device.clone()), why))?;
        Ok(Accepted::Reading { device: Box::new(device.clone()), sequence, senml })
    }

    fn admit<'b>(
        &self,
        device: &mut Device,
        reading: &'b Sealed<'_>,
        (identity, key): (&Identity, &PublicKey),
        sequence: u64,
        audience: Audience<'_>,
    ) -> Result<Verified<'b>, Refusal> {
        // First, so that what was replayed costs no check of a signature.
        device
            .fresh
            .check(sequence, self.policy)
            .map_err(|stale| Refusal::Stale(Box::new(device.clone()), stale))?;
        let verified = reading.verify(key, identity, sequence, audience).map_err(Refusal::Signature)?;
        let admitted = device.fresh.admit(&verified, self.policy);
        admitted.map_err(|stale| Refusal::Stale(Box::new(device.clone()), stale))?;
        Ok(verified)
    }

    /// Computes the key ids of a device's next readings, those that were not yet.
    fn expect(&mut self, identity: &Identity, fresh: Freshness) {
        let (short, (from, to)) = (identity.short(), fresh.span(self.policy));
        let begin = match self.computed.get(&short) {
            Some((end, _)) if *end >= from => *end,
            _ => from,
        };
        for number in begin..to {
            self.expected.insert(KeyId::rotating(identity, number), (short, number));
        }
        let before = self.computed.insert(short, (to.max(begin), fresh));
        // Key ids that are behind the window are of no use any more. No more than were computed: a
        // device may have gone on by as many numbers as it likes.
        if let Some((end, before)) = before {
            for number in before.span(self.policy).0..from.min(end) {
                self.expected.remove(&KeyId::rotating(identity, number));
            }
        }
    }
}
