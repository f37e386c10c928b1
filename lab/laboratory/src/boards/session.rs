//! A whole mote on the stopwatch, in a network whose other nodes run on this host: it sends and is
//! acknowledged, forwards, receives and replies. So its packets are those of any other node, and
//! its stack is as deep as it gets.

use super::board::Board;
use super::measure::call;
use crate::failure::Failure;
use motemix_crypto::{Portable, Secret, hash};
use motemix_mcu::{FlashTiming, Image, Machine, Run};
use motemix_sphinx::{
    HeaderBuilder, HeaderId, Hop, MOTE, MessageId, MixKey, Mote, NodeId, Packet, PathHop, ReplayError,
    ReplayFilter, ReplayTag, ReturnKeys, Shape,
};
use serde::Serialize;

type Motes = Mote<Portable>;

/// Nodes of the network; the board's is the first.
const NODES: u16 = 8;
const BOARD: u16 = 0;
const PEER: u16 = 7;
const READING: [u8; 103] = [0x52; 103];
/// What the mote answers when there is no packet and no event.
const NOTHING: u32 = u32::MAX;
const ACKNOWLEDGED: u32 = 0x100;

/// What the mote needs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Needs {
    /// Bytes of code and constants.
    pub flash: u32,
    /// Bytes of static memory.
    pub ram: u32,
    /// Deepest stack of all calls, in bytes.
    pub stack: u32,
}

/// Runs the mote through all of its roles.
pub fn run(board: &Board, image: &Image, flash: FlashTiming) -> Result<Needs, Failure> {
    let mut mote =
        Remote { board, image, machine: Machine::new(image, board.core, flash), buffer: 0, stack: 0 };
    mote.buffer = mote.call("mote_buffer", [0; 4])?.result;
    mote.begin()?;
    mote.sends()?;
    mote.forwards()?;
    mote.receives()?;
    mote.good("mote_timeout", [0; 4])?;
    Ok(Needs { flash: image.flash_len(), ram: image.ram_len(), stack: mote.stack })
}

struct Remote<'a> {
    board: &'a Board,
    image: &'a Image,
    machine: Machine,
    /// Where bytes come and go.
    buffer: u32,
    stack: u32,
}

impl Remote<'_> {
    fn call(&mut self, name: &str, arguments: [u32; 4]) -> Result<Run, Failure> {
        let run = call(self.board, self.image, &mut self.machine, name, arguments)?;
        self.stack = self.stack.max(run.stack);
        Ok(run)
    }

    fn good(&mut self, name: &str, arguments: [u32; 4]) -> Result<(), Failure> {
        match self.call(name, arguments)?.result {
            0 => Ok(()),
            other => Err(self.wrong(&format!("{name} returned {other}"))),
        }
    }

    fn wrong(&self, what: &str) -> Failure {
        Failure::failed(format!("{}: the mote does not do its work: {what}", self.board.name))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.machine.write(self.buffer, bytes).map_err(|fault| self.wrong(&fault.to_string()))
    }

    fn read<const N: usize>(&self) -> Result<[u8; N], Failure> {
        let mut bytes = [0; N];
        self.machine.read(self.buffer, &mut bytes).map_err(|fault| self.wrong(&fault.to_string()))?;
        Ok(bytes)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.write(secret(*b"seed", 0).expose())?;
        self.good("mote_start", [BOARD.into(), 0, 0, 0])?;
        let mut keys = secret(*b"node", BOARD).expose().to_vec();
        for node in 0..NODES {
            keys.extend(mix_key(node).public_key::<Portable>().0);
        }
        self.write(&keys)?;
        self.good("mote_begin", [NODES.into(), 0, 0, 0])
    }

    fn sends(&mut self) -> Result<(), Failure> {
        self.write(&READING)?;
        self.good("mote_send", [PEER.into(), READING.len() as u32, 0, 0])?;
        // One multiplication a call: one more than hops, then the packet leaves.
        let mut to = NOTHING;
        for _ in 0..=MOTE.hops() {
            self.call("mote_work", [0; 4])?;
        }
        if let Ok(next) = u16::try_from(self.call("mote_transmit", [0; 4])?.result) {
            to = next.into();
        }
        let to = u16::try_from(to).map_err(|_| self.wrong("no packet leaves"))?;
        let mut flight = Flight { to, packet: self.read()?, header_id: None, return_keys: None };
        if !flight.travel(Some(BOARD)) {
            return Err(self.wrong("its packet does not come back"));
        }
        self.write(&flight.packet)?;
        self.good("mote_datagram", [0; 4])?;
        match self.call("mote_event", [0; 4])?.result {
            ACKNOWLEDGED => Ok(()),
            _ => Err(self.wrong("it does not see its acknowledgement")),
        }
    }

    fn forwards(&mut self) -> Result<(), Failure> {
        let mut flight =
            Flight::depart(&[BOARD, 1, PEER, 2, 3, 4], 3).ok_or_else(|| self.wrong("no packet"))?;
        self.write(&flight.packet)?;
        self.good("mote_datagram", [0; 4])?;
        self.hand_back(&mut flight)
    }

    fn receives(&mut self) -> Result<(), Failure> {
        let mut flight =
            Flight::depart(&[1, 2, BOARD, 3, 4, PEER], 3).ok_or_else(|| self.wrong("no packet"))?;
        if !flight.travel(Some(BOARD)) {
            return Err(self.wrong("no packet arrives"));
        }
        self.write(&flight.packet)?;
        self.good("mote_datagram", [0; 4])?;
        let len = self.call("mote_event", [0; 4])?.result;
        if len as usize != READING.len() || self.read::<103>()? != READING {
            return Err(self.wrong("it does not receive the message"));
        }
        self.good("mote_reply", [0; 4])?;
        self.hand_back(&mut flight)
    }

    /// The mote sends the packet on, and it comes back to its sender with an acknowledgement.
    fn hand_back(&mut self, flight: &mut Flight) -> Result<(), Failure> {
        let to = self.call("mote_transmit", [0; 4])?.result;
        flight.to = u16::try_from(to).map_err(|_| self.wrong("no packet leaves"))?;
        flight.packet = self.read()?;
        if flight.travel(None) && flight.is_acknowledged() {
            Ok(())
        } else {
            Err(self.wrong("what it sends on does not come back to its sender"))
        }
    }
}

fn secret(name: [u8; 4], number: u16) -> Secret<32> {
    hash::blake2s_256(&name, &number.to_le_bytes())
}

fn mix_key(node: u16) -> MixKey {
    MixKey::new(secret(*b"node", node))
}

/// A packet under way among the host's nodes.
struct Flight {
    to: u16,
    packet: [u8; MOTE.packet_len()],
    /// The header id of a packet that this host has made.
    header_id: Option<HeaderId>,
    return_keys: Option<ReturnKeys<Motes>>,
}

impl Flight {
    fn depart(path: &[u16], there: usize) -> Option<Self> {
        let hop = |node: &u16| {
            Some(PathHop { id: NodeId::new(*node)?, mix_key: mix_key(*node).public_key::<Portable>() })
        };
        let path: Vec<PathHop> = path.iter().map(hop).collect::<Option<_>>()?;
        let shape = Shape::RoundTrip { receiver: there - 1 };
        let header = HeaderBuilder::<Motes>::new(&path, shape, secret(*b"head", path[0].id.get())).ok()?;
        let mut packet = [0; MOTE.packet_len()];
        let departure = header.build().ok()?.seal(MessageId(*b"mote"), &READING, &mut packet).ok()?;
        Some(Self {
            to: departure.first.get(),
            packet,
            header_id: Some(departure.header_id),
            return_keys: departure.return_keys,
        })
    }

    /// From node to node, until `stop` or the end of the path. Whether it came there.
    fn travel(&mut self, stop: Option<u16>) -> bool {
        for _ in 0..=MOTE.hops() {
            if Some(self.to) == stop {
                return true;
            }
            match self.pass() {
                None => return false,
                Some(Passed::On) => {}
                Some(Passed::Back(header_id)) => return stop.is_none() && self.header_id == Some(header_id),
            }
        }
        false
    }

    /// What the node that the packet goes to does with it. `None` if it refuses.
    fn pass(&mut self) -> Option<Passed> {
        let key = mix_key(self.to);
        let packet = Packet::<Motes>::parse(&mut self.packet).ok()?;
        let ((), authentic) = packet.authenticate([((), &key)]).ok()?;
        match authentic.admit(&mut Forgetful).ok()?.unwrap_layer().ok()? {
            Hop::Forward(forward) => self.to = forward.next.get(),
            Hop::TurnRound(turn) => {
                let message = turn.message?;
                let (id, data, next, key) =
                    (message.id, message.data == READING, turn.forward.next.get(), turn.turn_key);
                key.reply::<Motes>(&mut self.packet, id, &[]).ok()?;
                self.to = data.then_some(next)?;
            }
            Hop::Yours(yours) => return Some(Passed::Back(yours.header_id)),
            Hop::Deliver(_) | Hop::Drop => return None,
        }
        Some(Passed::On)
    }

    fn is_acknowledged(&mut self) -> bool {
        let payload = &mut self.packet[MOTE.payload()];
        self.return_keys
            .as_ref()
            .and_then(|keys| keys.open(payload))
            .is_some_and(|reply| reply.data.is_empty())
    }
}

/// How a node ends with a packet that it does not refuse.
enum Passed {
    /// It goes to another node.
    On,
    /// It names a header of this node's.
    Back(HeaderId),
}

struct Forgetful;

impl ReplayFilter for Forgetful {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}
