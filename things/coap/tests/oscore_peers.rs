//! OSCORE and EDHOC with aiocoap, which has OSCORE of its own and EDHOC of lakers.

#[path = "oscore_peers/edhoc.rs"]
mod edhoc;
#[path = "oscore_peers/outer.rs"]
mod outer;
#[path = "oscore_peers/preshared.rs"]
mod preshared;
#[path = "../../../net/neighbour/tests/peers/python.rs"]
#[expect(dead_code, reason = "other crates ask other peers")]
mod python;
#[path = "oscore_peers/wire.rs"]
mod wire;
