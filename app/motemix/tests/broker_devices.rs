//! Devices of another make beside `motemix broker`: aiocoap, which has OSCORE of its own and EDHOC
//! of lakers.

#[path = "broker_devices/broker.rs"]
mod broker;
#[path = "broker_devices/elsewhere.rs"]
mod elsewhere;
#[path = "broker_devices/memory.rs"]
mod memory;
#[path = "broker_devices/preshared.rs"]
mod preshared;
mod program;
#[path = "broker_devices/proven.rs"]
mod proven;
#[path = "../../../net/neighbour/tests/peers/python.rs"]
#[expect(dead_code, reason = "other crates ask other peers")]
mod python;
#[path = "broker_devices/silent.rs"]
mod silent;
#[path = "broker_devices/simple.rs"]
mod simple;
