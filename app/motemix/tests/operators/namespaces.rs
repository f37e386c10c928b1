//! Machines of their own, as far as networks go: a network namespace each, all on one bridge in
//! another. They go when the story ends. Of a story that is killed the processes end with it, and
//! the next story removes the rest.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
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
        remove_those_of_the_dead();
        // Interfaces have short names.
        let letter = char::from(b'a' + STORIES.fetch_add(1, Ordering::Relaxed) % 26);
        let prefix = format!("{}{letter}", owned());
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
            // The bridge sees datagrams one by one, and not as the message that the kernel has yet to cut.
            &["link", "set", inner, "gso_max_segs", "1", "up"],
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
        Self::command_in(&self.space(space))
    }

    /// Runs what is added to it where the bridge is.
    pub fn at_the_bridge(&self) -> Command {
        Self::command_in(&self.hub())
    }

    fn command_in(space: &str) -> Command {
        let mut command = ending_with_the_story("ip");
        command.args(["netns", "exec", space]);
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

/// A program that ends when the thread that starts it does, however that ends.
pub fn ending_with_the_story(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", program]);
    command
}

/// What the names of a story's belongings begin with, which others on the machine can see.
pub fn owned() -> String {
    format!("mx{}", std::process::id())
}

/// What a name says after its story, if that story's process does not live any more.
pub fn of_the_dead(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("mx")?;
    let (owner, rest) =
        rest.split_at(rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len()));
    (!owner.is_empty() && !Path::new("/proc").join(owner).exists()).then_some(rest)
}

/// The namespaces that there are.
pub fn spaces() -> impl Iterator<Item = String> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// The processes in a namespace.
pub fn processes(space: &str) -> usize {
    let said = Command::new("ip").args(["netns", "pids", space]).output().expect("ip starts");
    said.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
}

/// Removes what stories left that were killed, and nothing in which a process lives.
fn remove_those_of_the_dead() {
    for space in spaces() {
        let is_ours = of_the_dead(&space).is_some_and(|rest| {
            let mut letters = rest.chars();
            letters.next().is_some_and(|letter| letter.is_ascii_lowercase())
                && letters.next().is_some_and(|letter| letter == 'h' || letter == 'n')
                && letters.all(|letter| letter.is_ascii_digit())
        });
        if is_ours && processes(&space) == 0 {
            // Another story may have done it meanwhile.
            let _ = Command::new("ip").args(["netns", "del", &space]).stderr(Stdio::null()).status();
        }
    }
    for line in fs::read_to_string("/proc/self/mounts").unwrap_or_default().lines() {
        let mut words = line.split(' ');
        if let (Some(name), Some(disk), Some("tmpfs")) = (words.next(), words.next(), words.next())
            && of_the_dead(name) == Some("")
        {
            let _ = Command::new("umount").args(["--lazy", disk]).stderr(Stdio::null()).status();
        }
    }
}

#[track_caller]
fn ip(words: &[&str]) {
    let made = Command::new("ip").args(words).output().expect("ip starts: `scripts/setup namespaces`");
    assert!(made.status.success(), "ip {}: {}", words.join(" "), String::from_utf8_lossy(&made.stderr));
}
