//! What is known of a device: its key file, or its introduction, which has no secret.

use crate::commands::object::{input, unarmoured};
use crate::failure::Failure;
use motemix_host::keys::DeviceKey;
use motemix_object::Credential;
use std::path::Path;

/// The beginning of a key file.
const KEY_FILE: &[u8] = b"motemix device key";

/// The introduction of a device, from either file.
pub struct Card {
    bytes: Vec<u8>,
    name: String,
}

impl Card {
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let bytes = input(Some(path))?;
        let bytes = if bytes.starts_with(KEY_FILE) {
            let device = DeviceKey::load(path).map_err(Failure::broken)?;
            let mut out = vec![0; 2048];
            let len = device.credential().encode(&mut out).map_err(Failure::broken)?;
            out.truncate(len);
            out
        } else {
            unarmoured(bytes)
        };
        let card = Self { bytes, name };
        credential(&card).map(drop)?;
        Ok(card)
    }
}

/// Key, and what stands beside it.
pub fn credential(card: &Card) -> Result<Credential<'_>, Failure> {
    Credential::parse(&card.bytes).map_err(|error| {
        Failure::broken(format!(
            "{}: neither a key (`motemix id new`) nor an introduction (`motemix object introduce`): {error}",
            card.name
        ))
    })
}
