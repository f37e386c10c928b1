//! Files of devices: the key that signs, the card that tells it, and a context of OSCORE.

mod card;
mod device;
mod preshared;
mod rotation;

pub use card::{CardError, DeviceCard, GroupFile, LONGEST_CARD, describe};
pub use device::DeviceKey;
pub use preshared::SharedContext;
pub use rotation::{Rotated, rotate};
