//! What an operator decides about the directory.

use std::collections::BTreeSet;

use motemix_object::Identity;

/// What an operator decides about the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The network's name, which proofs are made for; at most 64 bytes.
    pub audience: String,
    /// The devices that may register; none lets every device.
    pub devices: Option<BTreeSet<Identity>>,
    /// Whether registrations need no key.
    pub keyless: bool,
    /// Whether there are simple registrations (RFC 9176 §5.1).
    pub simple: bool,
    /// Seconds that a registration without a key may ask for.
    pub keyless_lifetime: u32,
    /// Registrations.
    pub registrations: usize,
    /// Registrations that one network may have: one IPv4 address, or the first half of an IPv6 one.
    pub registrations_of_a_network: usize,
    /// Devices whose numbers are remembered, of topics too.
    pub known_devices: usize,
    /// Links of a registration.
    pub links: usize,
    /// Bytes of a registration: its links and parameters.
    pub registration_bytes: usize,
    /// Bytes of an answer to a look-up.
    pub look_up_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            audience: String::new(),
            devices: None,
            keyless: true,
            simple: true,
            keyless_lifetime: 7 * 86_400,
            registrations: 10_000,
            registrations_of_a_network: 1_000,
            known_devices: 100_000,
            links: 64,
            registration_bytes: 8 << 10,
            look_up_bytes: 1 << 20,
        }
    }
}

impl Settings {
    /// Whether the policy lets this device register.
    pub(super) fn lets(&self, device: &Identity) -> bool {
        self.devices.as_ref().is_none_or(|devices| devices.contains(device))
    }

    /// Whether the operator named this device: strangers take no place from it.
    pub(crate) fn names(&self, device: &Identity) -> bool {
        self.devices.as_ref().is_some_and(|devices| devices.contains(device))
    }
}
