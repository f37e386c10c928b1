//! Readings that motes sign, on their way to a host that has the identity of who signed them.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::{Link, Mote, Port, network};
use crate::contiki::motemix;
use crate::signed::{Authority, BEGINS, FIRST, from_hex, to_hex};
use crate::succeed;

on_both_ports! {
    a_mote_signs_readings_and_whoever_has_its_identity_believes_each_once,
    wrong_lines_about_readings_are_explained,
}

and_on_riots_boards! {
    a_mote_signs_readings_and_whoever_has_its_identity_believes_each_once,
}

/// Whoever believes devices of a list: the program of a PC.
pub(crate) struct Host {
    place: TempDir,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self { place: tempfile::tempdir().expect("a temporary directory") }
    }

    fn list(&self) -> PathBuf {
        self.place.path().join("devices.db")
    }

    fn run(&self, words: &[&str], input: &str) -> Output {
        let mut command = Command::new(motemix());
        command.args(["object", words[0], "--devices"]).arg(self.list()).args(&words[1..]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("motemix starts");
        write!(child.stdin.take().expect("its input"), "{input}").expect("it reads");
        child.wait_with_output().expect("it ends")
    }

    /// Puts a mote into the list, by what its shell says.
    pub(crate) fn authorise(&self, mote: &mut Mote) -> String {
        let [identity, introduction] = introduction(mote);
        let done = self.run(&["authorise", "--identity", &identity, "--place", "garden"], "");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        self.believe(&from_hex(&introduction)).expect("an introduction");
        identity
    }

    /// What a message says, if it is believed; why not, otherwise.
    pub(crate) fn believe(&self, message: &[u8]) -> Result<String, String> {
        let done = self.run(&["verify", "--audience", "motes", "--json"], &to_hex(message));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
    }

    /// What is known of the devices.
    fn devices(&self) -> String {
        let mut command = Command::new(motemix());
        command.args(["object", "devices", "--devices"]).arg(self.list());
        String::from_utf8(succeed(&mut command).stdout).expect("text")
    }
}

/// Identity and introduction, as the shell says them.
pub(crate) fn introduction(mote: &mut Mote) -> [String; 2] {
    let last = |said: String| said.rsplit(' ').next().unwrap_or_default().to_owned();
    let identity = last(mote.ask("motemix identity", "identity "));
    [identity, last(mote.until("introduction "))]
}

/// Lets a mote sign until so many readings were acknowledged.
pub(crate) fn sign(mote: &mut Mote, count: usize) {
    mote.ask("motemix readings node-1 1", "ok");
    for _ in 0..count {
        mote.until("acknowledged ");
    }
    mote.ask("motemix readings off", "ok");
    // One may be under way.
    while mote.until_within(Duration::from_secs(5), "acknowledged ").is_some() {}
}

/// The messages in hexadecimal digits that a mote received.
pub(crate) fn received(mote: &mut Mote) -> Vec<Vec<u8>> {
    let said = mote.all("motemix inbox", " messages");
    let digits = said.iter().filter_map(|line| line.rsplit_once("hex ").map(|(_, digits)| digits));
    digits.map(from_hex).collect()
}

/// The numbers of the readings; there are no other messages, but registrations. All have to be
/// believed, and no reading a second time.
pub(crate) fn numbers(host: &Host, messages: &[Vec<u8>]) -> Vec<u64> {
    let number = |message: &Vec<u8>| {
        let said = host.believe(message).unwrap_or_else(|reason| panic!("{reason}: {}", to_hex(message)));
        if said.contains("\"registration\"") {
            return None;
        }
        assert!(said.contains("\"t\"") && said.contains("Cel"), "{said}");
        let after = said.split("\"sequence\":").nth(1).expect("a number");
        let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
        // At once: a device that registers again signs under another name from then on.
        let again = host.believe(message).expect_err("it arrived before");
        assert!(again.contains("it arrived before"), "{again}");
        Some(digits.parse().unwrap_or_else(|_| panic!("a number in {said}")))
    };
    messages.iter().filter_map(number).collect()
}

fn a_mote_signs_readings_and_whoever_has_its_identity_believes_each_once(port: &'static Port) {
    let link = Link::of(port, 4);
    let mut motes = network(&link, &Authority::new(1));
    let mut restart = |motes: &mut [Mote]| {
        motes[0].kill();
        motes[0] = link.start(0);
        motes[0].ask(&format!("motemix time {}", BEGINS + 60), "ok");
        motes[0].ask("motemix start", "ok");
    };
    a_network_signs_and_a_host_believes(&mut motes, &mut restart);
}

/// The first of four motes or more signs, before a power cut and after it, and the second receives.
pub(crate) fn a_network_signs_and_a_host_believes(motes: &mut [Mote], restart: &mut dyn FnMut(&mut [Mote])) {
    let host = Host::new();
    let identity = host.authorise(&mut motes[0]);
    sign(&mut motes[0], 2);
    let messages = received(&mut motes[1]);
    assert!(messages.len() >= 2, "{} readings", messages.len());
    let mut used = numbers(&host, &messages);

    // It signs on as who it was, and no number comes a second time.
    restart(motes);
    assert_eq!(introduction(&mut motes[0])[0], identity);
    sign(&mut motes[0], 2);
    let more = received(&mut motes[1]);
    assert!(more.len() >= 2, "{} readings", more.len());
    used.extend(numbers(&host, &more));
    let seen: HashSet<_> = used.iter().collect();
    assert_eq!(seen.len(), used.len(), "each has a number of its own: {used:?}");
    assert!(host.devices().contains("garden"));

    // What a mote signs that is in no list is not believed.
    sign(&mut motes[2], 1);
    // One that the first mote sent again and again may come now.
    let is_strange = |message: &Vec<u8>| match host.believe(message) {
        Ok(_) => false,
        Err(refused) if refused.contains("no device of the list sent this") => true,
        Err(refused) => panic!("{refused}"),
    };
    let strange: Vec<_> = received(&mut motes[1]).into_iter().filter(is_strange).collect();
    assert!(!strange.is_empty());
    // With its identity in the list it is; a changed copy of the same is not, before.
    host.authorise(&mut motes[2]);
    let mut changed = strange[0].clone();
    *changed.last_mut().expect("a signature") ^= 1;
    host.believe(&changed).expect_err("a changed signature");
    assert_eq!(numbers(&host, &strange).len(), strange.len());
}

fn wrong_lines_about_readings_are_explained(port: &'static Port) {
    let link = Link::of(port, 4);
    let mut mote = link.start(0);
    mote.ask("motemix help", "key EPOCH");
    mote.until("readings off");
    let [identity, _] = introduction(&mut mote);
    assert_eq!(identity, introduction(&mut mote)[0], "it is made once");
    assert_eq!(identity.len(), 64);
    mote.ask("motemix readings node-1 10", "error: the node does not run");
    for wrong in ["", " node-1", " node-1 0", " node-1 -1", " node-1 1 1", " off 1"] {
        mote.ask(&format!("motemix readings{wrong}"), "error: usage: readings NAME SECONDS");
    }
    mote.kill();
    let mut motes = network(&link, &Authority::new(1));
    assert_eq!(identity, introduction(&mut motes[0])[0], "and kept");
    motes[0].ask("motemix readings nobody 10", &(port.words.no_node)("nobody"));
    motes[0].member(0, FIRST);
}
