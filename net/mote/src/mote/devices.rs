//! Whose readings this mote believes, and whether it believes one.
//!
//! A reading costs one check of a signature at most. One with a key id of no device costs no such
//! check, but a block of SHA-256 for each number of each device that could come next.

use core::fmt;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_object::{
    Audience, Credential, Freshness, KeyId, ObjectError, Pack, Policy, SealedReading, Stale,
    UnverifiedRegistration, Verified,
};
use motemix_sphinx::Profile;
use rand_core::CryptoRng;

use super::Mote;
use crate::command::{AUTHORISE, Hex, read_hex};
use crate::console::{Console, or_say, say, say_part};
use crate::store::{Device, MAX_DEVICE_NAME, MAX_DEVICES, Region, StoreError};

/// What can be typed in a line.
const INTRODUCTION_LEN: usize = 72;
/// Readings come through mixes in any order.
const POLICY: Policy = Policy::WINDOW;

/// What became of readings, since the start.
#[derive(Default)]
pub(super) struct Judged {
    genuine: u32,
    unknown: u32,
    stale: u32,
    altered: u32,
}

/// Why a reading is not believed.
enum Doubt {
    /// Its key id is of no device of the list.
    Unknown,
    /// Its number is not accepted.
    Stale(Stale),
    /// The signature does not hold: it was altered, or was for others.
    Altered,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("no device of the list has this number now; see `devices`"),
            Self::Stale(stale) => stale.fmt(f),
            Self::Altered => ObjectError::Signature.fmt(f),
        }
    }
}

impl Judged {
    fn count(&mut self, doubt: &Doubt) {
        let count = match doubt {
            Doubt::Unknown => &mut self.unknown,
            Doubt::Stale(_) => &mut self.stale,
            Doubt::Altered => &mut self.altered,
        };
        *count = count.saturating_add(1);
    }
}

/// Which device a reading says it is of, and under which number.
struct Candidate {
    place: u8,
    device: Device,
    fresh: Freshness,
    number: u64,
}

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng> Mote<P, F, R> {
    /// Takes a device into the list; one that is there gets another name, or goes on to a later
    /// number.
    #[inline(never)]
    pub(crate) fn authorise<C: Console>(
        &mut self,
        name: &str,
        introduction: &str,
        number: u64,
        console: &mut C,
    ) {
        if C::DEVICES == 0 {
            return say!(console, "error: this mote checks no readings");
        }
        let mut bytes = [0; INTRODUCTION_LEN];
        let given = read_hex(introduction, &mut bytes).and_then(|len| bytes.get(..len));
        let credential = given.and_then(|bytes| Credential::parse_ed25519(bytes).ok());
        let known = credential.and_then(|known| {
            let key = known.key().as_bytes().try_into().ok()?;
            Some(Device { name: name.try_into().ok()?, identity: known.identity().ok()?, key })
        });
        let Some(device) = known else {
            return say!(
                console,
                "error: no Ed25519 key, or a name of more than {MAX_DEVICE_NAME} bytes; usage: {AUTHORISE}"
            );
        };
        let place = or_say!(console, self.place_for(&device, C::DEVICES));
        let Some((place, is_new)) = place else {
            return say!(console, "error: another device has this name, or an identity that begins alike");
        };
        // At a place that is free may be what a power cut left of another one.
        let mut fresh = Freshness::starting_at(0);
        if !is_new {
            fresh = or_say!(console, self.store.accepted(place));
        }
        // One that was typed again, with an earlier number, lets nothing in again.
        if fresh.register(number).is_ok() {
            or_say!(console, self.store.keep_accepted(place, fresh));
        }
        or_say!(console, self.store.keep_device(place, &device));
        say!(console, "ok {:.32}, next number {}", device.identity, fresh.next());
    }

    /// Its place, or the first that is free, and whether that is so. `None` if it could be taken
    /// for another one.
    fn place_for(&mut self, device: &Device, devices: usize) -> Result<Option<(u8, bool)>, StoreError> {
        let mut free = None;
        for place in places(devices) {
            let Some(other) = self.store.device(place)? else {
                free = free.or(Some(place));
                continue;
            };
            if other.identity == device.identity {
                return Ok(Some((place, false)));
            }
            if other.name == device.name || KeyId::direct(&device.identity, 0).names(&other.identity) {
                return Ok(None);
            }
        }
        free.map(|place| Some((place, true))).ok_or(StoreError::Full(Region::Devices))
    }

    #[inline(never)]
    pub(crate) fn print_devices<C: Console>(&mut self, console: &mut C) {
        let mut count = 0;
        for place in places(C::DEVICES) {
            let Some(device) = or_say!(console, self.store.device(place)) else { continue };
            let fresh = or_say!(console, self.store.accepted(place));
            say!(console, "{:.32} {}, next number {}", device.identity, device.name, fresh.next());
            count += 1;
        }
        say!(console, "ok {count} of {} devices", C::DEVICES);
    }

    /// Prints a reading and whether it is believed. What was believed is in flash before.
    #[inline(never)]
    pub(super) fn print_reading<C: Console>(
        &mut self,
        reading: &SealedReading<'_>,
        network: &str,
        console: &mut C,
    ) -> Result<(), StoreError> {
        let candidate = self.candidate(reading.key_id(), C::DEVICES)?;
        let name = candidate.as_ref().map(|candidate| candidate.device.name.clone());
        let from = name.as_deref().unwrap_or("an unknown device");
        match self.judge(reading, candidate, network)? {
            Ok(verified) => {
                say_part!(console, "reading from {from}: ");
                print_senml(verified.senml(), console);
                say!(console, ", genuine");
            }
            Err(doubt) => {
                let senml = Hex(reading.unverified_senml());
                say!(console, "reading from {from}, not believed: {doubt}; it says hex {senml}");
            }
        }
        Ok(())
    }

    /// Prints which number a device says that it goes on with, and whether that is believed. It is
    /// in flash before.
    #[inline(never)]
    pub(super) fn print_registration<C: Console>(
        &mut self,
        message: &[u8],
        network: &str,
        console: &mut C,
    ) -> Result<(), StoreError> {
        // Somebody has looked at it.
        let Ok(registration) = UnverifiedRegistration::parse_short(message) else { return Ok(()) };
        let next = registration.sequence();
        let audience = Audience::new(network).unwrap_or_default();
        for place in places(C::DEVICES) {
            let Some(device) = self.store.device(place)? else { continue };
            if registration.short_identity() != Ok(device.identity.short()) {
                continue;
            }
            let name = &device.name;
            let mut fresh = self.store.accepted(place)?;
            // Whoever has recorded one could wear out the flash with it.
            if next == fresh.next() {
                say!(console, "registration from {name}, next number {next}, as known");
                return Ok(());
            }
            // First, so that what was replayed costs no check of a signature.
            let doubt = fresh.register(next).map_err(Doubt::Stale).and_then(|()| {
                let verified = registration.verify_ed25519(&device.key, &device.identity, audience);
                verified.map_err(|_| Doubt::Altered)
            });
            if let Err(doubt) = doubt {
                self.judged.count(&doubt);
                say!(console, "registration from {name}, not believed: {doubt}");
            } else {
                self.store.keep_accepted(place, fresh)?;
                say!(console, "registration from {name}, next number {next}, genuine");
            }
            return Ok(());
        }
        self.judged.count(&Doubt::Unknown);
        say!(console, "registration from an unknown device, not believed: see `devices`");
        Ok(())
    }

    #[inline(never)]
    fn judge<'b>(
        &mut self,
        reading: &SealedReading<'b>,
        candidate: Option<Candidate>,
        network: &str,
    ) -> Result<Result<Verified<'b>, Doubt>, StoreError> {
        let Some(Candidate { place, device, mut fresh, number }) = candidate else {
            self.judged.count(&Doubt::Unknown);
            return Ok(Err(Doubt::Unknown));
        };
        // First, so that what was replayed costs no check of a signature.
        if let Err(stale) = fresh.check(number, POLICY) {
            self.judged.count(&Doubt::Stale(stale));
            return Ok(Err(Doubt::Stale(stale)));
        }
        let audience = Audience::new(network).unwrap_or_default();
        let Ok(verified) = reading.verify_ed25519(&device.key, &device.identity, number, audience) else {
            self.judged.count(&Doubt::Altered);
            return Ok(Err(Doubt::Altered));
        };
        if let Err(stale) = fresh.admit(&verified, POLICY) {
            return Ok(Err(Doubt::Stale(stale)));
        }
        // Before anybody sees it: a power cut must not let it in again.
        self.store.keep_accepted(place, fresh)?;
        self.judged.genuine = self.judged.genuine.saturating_add(1);
        Ok(Ok(verified))
    }

    /// The device that a key id is of, if it is of one.
    #[inline(never)]
    fn candidate(&mut self, key_id: KeyId, devices: usize) -> Result<Option<Candidate>, StoreError> {
        // What names its device costs no search.
        for is_direct in [true, false] {
            for place in places(devices) {
                let Some(device) = self.store.device(place)? else { continue };
                if is_direct && !key_id.names(&device.identity) {
                    continue;
                }
                let fresh = self.store.accepted(place)?;
                let number = if is_direct {
                    Some(fresh.nearest(key_id.low()))
                } else {
                    fresh.sequence_of(&device.identity, key_id, POLICY)
                };
                if let Some(number) = number {
                    return Ok(Some(Candidate { place, device, fresh, number }));
                }
            }
        }
        Ok(None)
    }

    /// What became of readings.
    pub(crate) fn print_judged<C: Console>(&self, console: &mut C) {
        let Judged { genuine, unknown, stale, altered } = self.judged;
        for (outcome, count) in [
            ("genuine", genuine),
            ("refused unknown", unknown),
            ("refused stale", stale),
            ("refused altered", altered),
        ] {
            if count > 0 {
                say!(console, "readings {outcome} {count}");
            }
        }
    }
}

fn places(devices: usize) -> impl Iterator<Item = u8> {
    0..devices.min(MAX_DEVICES) as u8
}

/// What a reading says, in words as far as it is as motes write it.
fn print_senml<C: Console>(senml: &[u8], console: &mut C) {
    let Some(pack) = Pack::parse(senml) else { return say_part!(console, "hex {}", Hex(senml)) };
    let time = pack.time();
    let mut between = "";
    for record in pack {
        say_part!(console, "{between}{record}");
        between = ", ";
    }
    if let Some(time) = time {
        say_part!(console, " at {time}");
    }
}
