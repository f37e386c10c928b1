//! Readings that whoever gets them can check.

use super::{Reading, Sensors};
use crate::failure::Failure;
use motemix_host::NodeConfig;
use motemix_host::keys::DeviceKey;
use motemix_object::{Audience, ObjectError, Path, Reserved, Sealer, senml_len};
use motemix_readings::Counter;
use std::ops::Range;

/// Numbers that one write to the disk makes available: so many are left out at a restart, and a
/// verifier's threshold is sixteen times as large.
const BLOCK: u64 = 64;

/// Signs readings of this machine for an anonymous path, for those of its network.
pub struct SignedReadings {
    device: DeviceKey,
    network: String,
    counter: Counter,
    numbers: Range<u64>,
    /// Whether it was said that the last one could not be signed.
    told: bool,
}

impl SignedReadings {
    /// # Errors
    /// The key cannot be read, or the network's name is too long.
    pub fn new(key: &std::path::Path, config: &NodeConfig) -> Result<Self, Failure> {
        Audience::new(&config.network).map_err(Failure::broken)?;
        let device = DeviceKey::load(key).map_err(Failure::broken)?;
        Ok(Self {
            network: config.network.clone(),
            counter: Counter::at(config.readings_counter(&device.identity())),
            device,
            numbers: 0..0,
            told: false,
        })
    }

    /// What is measured now, signed, in at most `most` bytes; nothing if that fails, which is said
    /// once.
    pub fn next(&mut self, sensors: &mut Sensors, most: usize) -> Vec<u8> {
        let signed = self.number().and_then(|number| {
            let senml = Reading::now(sensors).encode(senml_len(most));
            self.sign(number, &senml, most).map_err(Failure::failed)
        });
        match signed {
            Ok(reading) => {
                self.told = false;
                reading
            }
            Err(failure) => {
                if !std::mem::replace(&mut self.told, true) {
                    eprintln!("motemix: readings are not sent: {failure}");
                }
                Vec::new()
            }
        }
    }

    fn number(&mut self) -> Result<Reserved, Failure> {
        if self.numbers.is_empty() {
            self.numbers = self.counter.take_block(BLOCK).map_err(Failure::failed)?;
        }
        let number = self.numbers.next().ok_or_else(|| Failure::failed("no number is left"))?;
        Ok(Reserved::promised(number))
    }

    fn sign(&mut self, number: Reserved, senml: &[u8], most: usize) -> Result<Vec<u8>, ObjectError> {
        let identity = self.device.identity();
        let audience = Audience::new(&self.network).unwrap_or_default();
        let mut sealer = Sealer { signer: self.device.signer(), identity, path: Path::Anonymous, audience };
        let mut out = vec![0; most];
        let len = sealer.seal(number, senml, &mut out)?;
        out.truncate(len);
        Ok(out)
    }
}
