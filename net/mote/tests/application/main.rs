//! Whole motes, several at a time: emulated flash, one air, consoles as text, virtual time. What is
//! run is the shipping code from the radio's frames to the printed line.

mod air;
mod any_order;
mod board;
mod console;
mod cuts;
mod exchange;
mod expiry;
#[path = "../store/flash.rs"]
#[expect(dead_code, reason = "the store's tests look closer at the flash")]
mod flash;
mod full;
mod hostile;
mod loops;
mod next;
mod protected;
mod readings;
mod refused;
mod session;
mod stories;
mod world;
