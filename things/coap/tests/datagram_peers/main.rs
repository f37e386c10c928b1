//! aiocoap and libcoap's client over UDP on loopback, with our endpoint on the other side.

mod aiocoap;
mod libcoap;
#[path = "../../../../net/neighbour/tests/peers/python.rs"]
#[expect(dead_code, reason = "other crates ask other peers")]
mod python;
mod socket;
