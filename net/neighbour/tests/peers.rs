//! The same handshakes and primitives by others: lakers, aiocoap and cryptography, in Python.

#[path = "peers/aiocoap.rs"]
mod aiocoap;
#[path = "peers/coap.rs"]
mod coap;
#[path = "peers/cryptography.rs"]
mod cryptography;
#[path = "peers/lakers.rs"]
mod lakers;
#[path = "edhoc/neighbours.rs"]
#[allow(dead_code, reason = "the stories use all of it")]
mod neighbours;
#[path = "peers/oscore.rs"]
mod oscore;
#[path = "peers/python.rs"]
#[expect(dead_code, reason = "other crates ask other peers")]
mod python;
