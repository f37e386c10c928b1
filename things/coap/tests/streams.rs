//! Connections of others over loopback: aiocoap and libcoap, as clients and as servers.
//!
//! They need `scripts/setup neighbour_peer`, and Debian's package `libcoap3-bin`.

#[path = "streams/aiocoap.rs"]
mod aiocoap;
#[path = "streams/connection.rs"]
mod connection;
#[path = "streams/libcoap.rs"]
mod libcoap;
#[path = "../../../net/neighbour/tests/peers/python.rs"]
#[expect(dead_code, reason = "other crates ask other peers")]
mod python;
#[path = "streams/server.rs"]
mod server;
