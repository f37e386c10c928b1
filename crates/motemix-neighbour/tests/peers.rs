//! The same handshakes and primitives by others: lakers and cryptography, in Python.

#[path = "peers/cryptography.rs"]
mod cryptography;
#[path = "peers/lakers.rs"]
mod lakers;
#[path = "edhoc/neighbours.rs"]
#[allow(dead_code, reason = "the stories use all of it")]
mod neighbours;
#[path = "peers/python.rs"]
mod python;
