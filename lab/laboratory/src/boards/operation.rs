//! What is measured, under the names that the ELF files give it.

use super::board::Thesis;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// One operation of a mote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    X25519,
    X25519Base,
    Forward,
    ForwardPacket,
    ForwardPacket5,
    Receive,
    Acknowledge,
    Create6,
    Create7,
    Create8,
    Create9,
    Create10,
    SendPooled,
    SendMissed,
    Ed25519Key,
    Ed25519Sign,
    Ed25519Verify,
}

impl Operation {
    pub const ALL: [Self; 17] = [
        Self::X25519,
        Self::X25519Base,
        Self::Forward,
        Self::ForwardPacket,
        Self::ForwardPacket5,
        Self::Receive,
        Self::Acknowledge,
        Self::Create6,
        Self::Create7,
        Self::Create8,
        Self::Create9,
        Self::Create10,
        Self::SendPooled,
        Self::SendMissed,
        Self::Ed25519Key,
        Self::Ed25519Sign,
        Self::Ed25519Verify,
    ];
    /// New packets, by path lengths 6 to 10.
    pub const CREATE: [Self; 5] =
        [Self::Create6, Self::Create7, Self::Create8, Self::Create9, Self::Create10];

    /// `bench_` and this is the function's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X25519 => "x25519",
            Self::X25519Base => "x25519_base",
            Self::Forward => "forward",
            Self::ForwardPacket => "forward_packet",
            Self::ForwardPacket5 => "forward_packet5",
            Self::Receive => "receive",
            Self::Acknowledge => "acknowledge",
            Self::Create6 => "create6",
            Self::Create7 => "create7",
            Self::Create8 => "create8",
            Self::Create9 => "create9",
            Self::Create10 => "create10",
            Self::SendPooled => "send_pooled",
            Self::SendMissed => "send_missed",
            Self::Ed25519Key => "ed25519_key",
            Self::Ed25519Sign => "ed25519_sign",
            Self::Ed25519Verify => "ed25519_verify",
        }
    }

    /// In words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::X25519Base => "X25519, fixed base",
            Self::Forward => "forward",
            Self::ForwardPacket => "forward, packet only",
            Self::ForwardPacket5 => "forward, packet only, 5+5 hops",
            Self::Receive => "receive and reply",
            Self::Acknowledge => "acknowledge",
            Self::Create6 => "create, path length 6",
            Self::Create7 => "create, path length 7",
            Self::Create8 => "create, path length 8",
            Self::Create9 => "create, path length 9",
            Self::Create10 => "create, path length 10",
            Self::SendPooled => "send, header in the pool",
            Self::SendMissed => "send, pool empty",
            Self::Ed25519Key => "Ed25519, key from its seed",
            Self::Ed25519Sign => "Ed25519, sign",
            Self::Ed25519Verify => "Ed25519, verify",
        }
    }

    /// What the thesis measured, in seconds.
    pub fn thesis_s(self, thesis: &Thesis) -> Option<f64> {
        let create = Self::CREATE.iter().position(|create| *create == self);
        match self {
            Self::Forward => Some(thesis.forward_ms / 1000.0),
            Self::Receive => Some(thesis.receive_ms / 1000.0),
            Self::Acknowledge => Some(thesis.acknowledge_ms / 1000.0),
            _ => create.and_then(|at| thesis.create_s.get(at).copied()),
        }
    }
}

/// What one operation took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Figure {
    pub cycles: u64,
    /// Bytes.
    pub stack: u32,
}

/// What the operations took that an ELF file has.
#[derive(Clone, Default, Debug)]
pub struct Figures(Vec<(Operation, Figure)>);

impl Figures {
    pub fn push(&mut self, operation: Operation, figure: Figure) {
        self.0.push((operation, figure));
    }

    pub fn get(&self, operation: Operation) -> Option<Figure> {
        self.0.iter().find(|(other, _)| *other == operation).map(|(_, figure)| *figure)
    }

    pub fn cycles(&self, operation: Operation) -> Option<u64> {
        self.get(operation).map(|figure| figure.cycles)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Operation, Figure)> + '_ {
        self.0.iter().copied()
    }

    pub fn deepest_stack(&self) -> u32 {
        self.0.iter().map(|(_, figure)| figure.stack).max().unwrap_or(0)
    }

    /// By name, in the order of measurement.
    pub fn map<T: Serialize, S: Serializer>(
        &self,
        serializer: S,
        value: impl Fn(Figure) -> T,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (operation, figure) in &self.0 {
            map.serialize_entry(operation.name(), &value(*figure))?;
        }
        map.end()
    }
}
