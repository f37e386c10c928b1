//! Packets that no honest node makes: whatever anybody can send who knows the public keys.

use std::time::Duration;

use motemix_crypto::p224::Point;
use motemix_loopix::files::Profile;
use motemix_loopix::pack::Value;
use motemix_loopix::packet::{Format, Hop, create, forward};
use motemix_loopix::role::DropReason;
use motemix_loopix::wire::command::{Command, Next, Text, node_id};
use motemix_loopix::wire::message::Destination;

use super::world::World;

pub const NO_DELAY: Duration = Duration::ZERO;

impl World {
    pub fn format(&self) -> Format {
        if self.profile == Profile::Hardened { Format::HARDENED } else { Format::LOOPIX }
    }

    pub fn key(&self, name: &str) -> Point {
        *self.entry(name).public_key()
    }

    /// Who a command of this network would name.
    pub fn next(&self, name: &str) -> Next {
        let entry = self.entry(name);
        match self.profile {
            Profile::Hardened => Next::Id(node_id(entry.public_key())),
            _ => Next::Named { host: entry.host().into(), port: entry.port(), name: name.into() },
        }
    }

    pub fn command(&self, name: &str, delay: Duration) -> Value {
        Command { next: self.next(name), delay, drop: false }.value(Text::Str, Text::Str)
    }

    /// A payload that is `text` for this user.
    pub fn text_for(&self, name: &str, text: &[u8]) -> Vec<u8> {
        let entry = self.entry(name);
        let to = Destination { host: entry.host().into(), port: entry.port(), name: name.into() };
        to.payload(text)
    }

    /// A packet that passes these nodes without delay and ends with `payload` at the last.
    pub fn packet(&mut self, path: &[&str], payload: &[u8]) -> Vec<u8> {
        let commands: Vec<_> = path.iter().map(|name| self.command(name, NO_DELAY)).collect();
        self.packet_with(path, &commands, payload)
    }

    /// The same, with commands of one's own: whoever comes first in them is never read.
    pub fn packet_with(&mut self, keys: &[&str], commands: &[Value], payload: &[u8]) -> Vec<u8> {
        let format = self.format();
        let routings: Vec<_> =
            commands.iter().map(|command| forward::relay(&format, command.clone())).collect();
        let hops: Vec<_> = (keys.iter().zip(&routings))
            .map(|(name, routing)| Hop { key: self.key(name), routing, associated: &[] })
            .collect();
        create(&format, &hops, payload, &mut self.rng).unwrap()
    }

    /// What a node says to a packet that tells it `command`.
    pub fn told(&mut self, at: &str, command: Value) -> Result<(), DropReason> {
        let packet = self.packet_with(&[at, "Mix1"], &[Value::Nil, command], b"junk");
        self.inject(at, &packet)
    }
}
