//! EDHOC over CoAP: `/.well-known/edhoc` (RFC 9528, appendix A.2), and message_3 in front of the first
//! request (RFC 9668).

mod device;

pub use device::{Device, DeviceKey};
