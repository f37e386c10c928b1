//! Machines of their own, as far as networks go: a network namespace each, all on one bridge in
//! another. They go when the story ends.
#![allow(dead_code, reason = "each test file uses a part")]

use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

/// Stories of this process that have namespaces.
static STORIES: AtomicU8 = AtomicU8::new(0);

/// The namespaces of a story.
pub struct Namespaces {
    /// Tells those of one story from those of another.
    prefix: String,
    names: Vec<String>,
}

impl Namespaces {
    pub fn new() -> Self {
        // Interfaces have short names.
        let letter = char::from(b'a' + STORIES.fetch_add(1, Ordering::Relaxed) % 26);
        let prefix = format!("mx{}{letter}", std::process::id());
        let hub = format!("{prefix}h");
        ip(&["netns", "add", &hub]);
        let namespaces = Self { prefix, names: Vec::new() };
        namespaces.in_hub(&["link", "add", "bridge", "type", "bridge"]);
        namespaces.in_hub(&["link", "set", "bridge", "up"]);
        namespaces
    }

    fn hub(&self) -> String {
        format!("{}h", self.prefix)
    }

    fn in_hub(&self, words: &[&str]) {
        let hub = self.hub();
        ip(&[&["-n", &hub], words].concat());
    }

    /// Whose number it is; a machine that is new is made.
    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.names.iter().position(|other| other == name) {
            return number;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        let (space, hub) = (self.space(number), self.hub());
        let (inner, outer) = ("eth", format!("{}p{number}", self.prefix));
        ip(&["netns", "add", &space]);
        ip(&["link", "add", &outer, "netns", &hub, "type", "veth", "peer", "name", inner, "netns", &space]);
        self.in_hub(&["link", "set", &outer, "master", "bridge", "up"]);
        let address = format!("{}/16", Self::address_of(number));
        for words in [
            &["addr", "add", &address, "dev", inner][..],
            &["link", "set", inner, "up"],
            &["link", "set", "lo", "up"],
        ] {
            ip(&[&["-n", &space], words].concat());
        }
        number
    }

    fn space(&self, number: usize) -> String {
        format!("{}n{number}", self.prefix)
    }

    fn address_of(number: usize) -> String {
        format!("10.77.{}.{}", number / 200, number % 200 + 1)
    }

    pub fn address(&mut self, name: &str) -> String {
        Self::address_of(self.number(name))
    }

    /// Runs what is added to it on that machine.
    pub fn command(&mut self, name: &str) -> Command {
        let space = self.number(name);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space(space)]);
        command
    }

    /// Runs what is added to it where the bridge is.
    pub fn at_the_bridge(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.hub()]);
        command
    }

    /// Pulls a machine's plug out of the bridge, or puts it in.
    pub fn cut_off(&mut self, name: &str, off: bool) {
        let number = self.number(name);
        let outer = format!("{}p{number}", self.prefix);
        self.in_hub(&["link", "set", &outer, if off { "down" } else { "up" }]);
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for number in 0..self.names.len() {
            let _ = Command::new("ip").args(["netns", "del", &self.space(number)]).status();
        }
        let _ = Command::new("ip").args(["netns", "del", &self.hub()]).status();
    }
}

#[track_caller]
fn ip(words: &[&str]) {
    let made = Command::new("ip").args(words).output().expect("ip starts: `scripts/setup namespaces`");
    assert!(made.status.success(), "ip {}: {}", words.join(" "), String::from_utf8_lossy(&made.stderr));
}
