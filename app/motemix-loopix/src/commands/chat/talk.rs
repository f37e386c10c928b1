//! What is said, who is there, and what goes by.

use super::super::node::event::as_json;
use super::line::Line;
use motemix_loopix::role::Counters;
use motemix_loopix::runtime::{Event, Handle, Stopped, Totals};
use motemix_loopix::wire::message::Encoding;
use motemix_program::report::printable;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Lines that are kept.
const MOST_LINES: usize = 2000;
/// Seconds of cover that are kept.
pub const SECONDS: usize = 120;
/// Names of which it is kept when they were heard from; strangers choose names.
const MOST_PEERS: usize = 1000;

/// A line of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Said(Line),
    /// Something that the program has to say.
    Notice(String),
}

/// When a user was last noticed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Peer {
    /// Something came that says to be from this user.
    pub heard: Option<Instant>,
    /// Something of ours was acknowledged.
    pub reached: Option<Instant>,
}

/// Cover of one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cover {
    pub loops_sent: u64,
    pub loops_returned: u64,
    pub drops_sent: u64,
    pub dummies: u64,
}

impl Cover {
    /// Since the start.
    pub const fn of(counters: &Counters) -> Self {
        Self {
            loops_sent: counters.loops_sent,
            loops_returned: counters.loops_returned,
            drops_sent: counters.drops_sent,
            dummies: counters.dummies_received,
        }
    }

    const fn minus(self, earlier: Self) -> Self {
        Self {
            loops_sent: self.loops_sent.saturating_sub(earlier.loops_sent),
            loops_returned: self.loops_returned.saturating_sub(earlier.loops_returned),
            drops_sent: self.drops_sent.saturating_sub(earlier.drops_sent),
            dummies: self.dummies.saturating_sub(earlier.dummies),
        }
    }
}

/// The conversation as one user sees it.
pub struct Talk {
    name: String,
    /// In the directory.
    me: String,
    users: Vec<Arc<str>>,
    pub lines: VecDeque<Entry>,
    pub peers: BTreeMap<String, Peer>,
    /// Receivers of messages that may yet be acknowledged.
    under_way: BTreeMap<u64, Arc<str>>,
    pub totals: Totals,
    /// Newest last.
    pub cover: VecDeque<Cover>,
}

impl Talk {
    /// `me` is the user's name in the directory.
    pub fn new(name: &str, me: &str) -> Self {
        Self {
            name: printable(name),
            me: me.to_owned(),
            users: Vec::new(),
            lines: VecDeque::new(),
            peers: BTreeMap::new(),
            under_way: BTreeMap::new(),
            totals: Totals::default(),
            cover: VecDeque::new(),
        }
    }

    /// Says something to everybody.
    pub fn say(&mut self, node: &Handle, text: &str) -> Result<(), Stopped> {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = Line::now(since_1970, &self.name, text);
        for user in self.users.iter().filter(|user| ***user != *self.me) {
            node.send(user.to_string(), line.to_message())?;
        }
        self.push(Entry::Said(line));
        Ok(())
    }

    /// Takes note of what has happened; the lines that are new are at the end of `lines`, and their
    /// number is returned.
    pub fn heed(&mut self, event: Event, now: Instant) -> usize {
        match event {
            Event::Ready { name, port, users, .. } => {
                let others = users.len().saturating_sub(1);
                self.take_users(users);
                self.push(Entry::Notice(format!(
                    "{name} is here, on port {port}; others in the directory: {others}"
                )))
            }
            Event::Directory { users } => {
                let others = users.len().saturating_sub(1);
                self.take_users(users);
                self.push(Entry::Notice(format!("the directory has changed; others in it: {others}")))
            }
            Event::Received { message, encoding: Encoding::Msgpack } => {
                let value = printable(&as_json(&message).to_string());
                self.push(Entry::Notice(format!("a message that is no text: {value}")))
            }
            Event::Received { message, encoding: Encoding::Bytes } => {
                let entry = Line::parse(&message).map_or_else(|| Entry::Notice(other(&message)), Entry::Said);
                if let Entry::Said(line) = &entry
                    && (self.peers.len() < MOST_PEERS || self.peers.contains_key(&line.name))
                {
                    self.peers.entry(line.name.clone()).or_default().heard = Some(now);
                }
                self.push(entry)
            }
            Event::Queued { number, to } => {
                self.under_way.insert(number, to);
                0
            }
            Event::Acknowledged { number } => {
                if let Some(to) = self.under_way.remove(&number) {
                    self.peers.entry(to.to_string()).or_default().reached = Some(now);
                }
                0
            }
            Event::GaveUp { number } => match self.under_way.remove(&number) {
                Some(to) => self.push(Entry::Notice(format!("{to} was not reached"))),
                None => 0,
            },
            Event::Refused { to, reason } => {
                self.push(Entry::Notice(format!("not sent to {to}: {}", reason.reason())))
            }
            Event::Counters(totals) => {
                let (now, before) = (Cover::of(&totals.role), Cover::of(&self.totals.role));
                self.cover.push_back(now.minus(before));
                if self.cover.len() > SECONDS {
                    self.cover.pop_front();
                }
                self.totals = *totals;
                0
            }
            Event::OtherProfile { runs, heard } => self.push(Entry::Notice(format!(
                "dummies of {heard} come, and this client speaks {runs}; if its network speaks {heard}, start it with \
                 --profile {heard}"
            ))),
            Event::ProviderSilent { unanswered } => self.push(Entry::Notice(format!(
                "nothing comes from the provider, {unanswered} requests are unanswered: messages may not arrive"
            ))),
            Event::ProviderAnswers => self.push(Entry::Notice("the provider answers again".to_owned())),
            Event::LoopAlarm { sounds: true, lost, sent } => self.push(Entry::Notice(format!(
                "{lost} of {sent} own packets did not come back: somebody drops or holds up packets, or nodes are \
                 off; messages may be lost, or watched"
            ))),
            Event::LoopAlarm { sounds: false, .. } => {
                self.push(Entry::Notice("own packets come back again".to_owned()))
            }
            // Nobody who talks asks for them; a client's record forgets, and has nothing to say.
            Event::Sent { .. } | Event::Loop | Event::Probe { .. } | Event::ReplayRecord { .. } => 0,
            event => self.push(Entry::Notice(format!("the client tells: {}", event.name()))),
        }
    }

    fn take_users(&mut self, users: Vec<Arc<str>>) {
        for user in users.iter().filter(|user| ***user != *self.me) {
            self.peers.entry(user.to_string()).or_default();
        }
        self.users = users;
    }

    fn push(&mut self, entry: Entry) -> usize {
        self.lines.push_back(entry);
        if self.lines.len() > MOST_LINES {
            self.lines.pop_front();
        }
        1
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Said(line) => line.fmt(f),
            Self::Notice(notice) => write!(f, "* {notice}"),
        }
    }
}

/// A message that is not of a chat.
fn other(message: &[u8]) -> String {
    let text = std::str::from_utf8(message).map_or_else(|_| format!("0x{}", hex::encode(message)), printable);
    format!("a message that is no chat: {text}")
}

/// How long ago, in one word.
pub fn ago(then: Instant, now: Instant) -> String {
    let passed = now.saturating_duration_since(then);
    match passed {
        passed if passed < Duration::from_mins(1) => format!("{}s", passed.as_secs()),
        passed if passed < Duration::from_hours(1) => format!("{}min", passed.as_secs() / 60),
        passed => format!("{}h", passed.as_secs() / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_loopix::files::{Profile, Role};
    use motemix_loopix::runtime;

    fn talk() -> Talk {
        let mut talk = Talk::new("Ann", "Client1");
        let users = ["Client1", "Client2", "Client3"].map(Into::into).to_vec();
        let ready = Event::Ready {
            role: Role::Client,
            name: "Client1".into(),
            port: 7,
            profile: Profile::Hardened,
            users,
        };
        assert_eq!(talk.heed(ready, Instant::now()), 1);
        talk
    }

    fn received(message: &[u8]) -> Event {
        Event::Received { message: message.to_vec(), encoding: Encoding::Bytes }
    }

    #[test]
    fn what_is_no_text_is_shown_and_nothing_reaches_the_terminal_s_own_language() {
        let mut talk = talk();
        // ["\x1b[2J", "\u{9b}31m", bin 00]
        let message = b"\x93\xa4\x1b[2J\xa5\xc2\x9b31m\xc4\x01\x00".to_vec();
        assert_eq!(talk.heed(Event::Received { message, encoding: Encoding::Msgpack }, Instant::now()), 1);
        let shown = talk.lines.back().unwrap().to_string();
        assert_eq!(shown, r#"* a message that is no text: ["\u001b[2J","\u{9b}31m",{"bin":"00"}]"#);
    }

    #[test]
    fn who_was_heard_from_and_who_was_reached_is_noticed() {
        let mut talk = talk();
        let now = Instant::now();
        assert_eq!(talk.peers.len(), 2);
        talk.heed(Event::Queued { number: 1, to: "Client2".into() }, now);
        assert!(talk.peers["Client2"].reached.is_none());
        talk.heed(Event::Acknowledged { number: 1 }, now);
        assert_eq!(talk.peers["Client2"].reached, Some(now));
        talk.heed(received(b"CHAT10:10:50 <Client3> hi"), now);
        assert_eq!(talk.peers["Client3"].heard, Some(now));
        assert_eq!(talk.lines.back().unwrap().to_string(), "10:10:50 <Client3> hi");
        talk.heed(Event::Queued { number: 2, to: "Client3".into() }, now);
        assert_eq!(talk.heed(Event::GaveUp { number: 2 }, now), 1);
        assert_eq!(talk.lines.back().unwrap().to_string(), "* Client3 was not reached");
    }

    #[test]
    fn cover_is_counted_by_the_second() {
        let mut talk = talk();
        let mut totals = Totals::default();
        for loops in [3, 3, 10] {
            totals.role.loops_sent = loops;
            talk.heed(Event::Counters(Box::new(totals.clone())), Instant::now());
        }
        let loops: Vec<_> = talk.cover.iter().map(|cover| cover.loops_sent).collect();
        assert_eq!(loops, [3, 0, 7]);
    }

    #[test]
    fn strangers_cannot_fill_the_memory() {
        let mut talk = talk();
        for number in 0..2 * MOST_LINES {
            let message = format!("CHAT10:10:50 <{number}> hi").into_bytes();
            talk.heed(received(&message), Instant::now());
        }
        assert_eq!((talk.lines.len(), talk.peers.len()), (MOST_LINES, MOST_PEERS));
    }

    #[test]
    fn what_is_said_is_shown_unless_the_node_has_stopped() {
        let mut talk = talk();
        let (handle, requests) = runtime::handle();
        talk.say(&handle, "hello").unwrap();
        assert!(talk.lines.back().unwrap().to_string().ends_with(" <Ann> hello"));
        drop(requests);
        assert_eq!(talk.say(&handle, "again"), Err(Stopped));
        assert!(talk.lines.back().unwrap().to_string().ends_with(" <Ann> hello"));
    }
}
