//! How a node is, and that what the system refuses pauses it and does not end it.

mod documents;
mod files;
mod link;
#[path = "../loopback/mod.rs"]
mod loopback;
mod room;

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use loopback::ask_http;
use motemix_host::health::{Concern, Health};

#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(3);
    while !holds() {
        assert!(Instant::now() < end, "not in three minutes: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn words(health: &Health, concern: Concern) -> String {
    let reason = health.reasons.iter().find(|reason| reason.concern == concern);
    reason.map_or_else(String::new, |reason| reason.words.clone())
}

pub(crate) fn healthz(socket: &Path) -> String {
    ask_http(UnixStream::connect(socket).unwrap(), "/healthz")
}
