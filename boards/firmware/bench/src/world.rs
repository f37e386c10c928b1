//! A network of twelve nodes, all of them mixes as in the thesis' mesh, and the way of a packet
//! through it. Every number is derived from its name, so that each run measures the same.

use motemix_crypto::{Curve, Secret, hash};
use motemix_directory::{Entry, Epoch, Role};
use motemix_node::{Config, Empty, Instant, Lengths, Memory, Node};
use motemix_sphinx::{
    Departure, Header, HeaderBuilder, HeaderId, Hop, MessageId, MixKey, NodeId, Packet, PathHop, Profile,
    ReplayError, ReplayFilter, ReplayTag, ReturnKeys, Shape,
};

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

/// Nodes of the network.
pub const NODES: usize = 12;
/// The node on the board.
pub const ME: u16 = 0;
/// Another node, that sends to the one on the board or receives from it.
pub const PEER: u16 = 11;
/// A reading that fills the 103 bytes of a MOTE packet.
pub const READING: [u8; 103] = [0x52; 103];
/// The id of a message between nodes.
pub const MESSAGE: MessageId = MessageId(*b"mote");
/// Nothing takes time in here.
pub const NOW: Instant = Instant::from_micros(1_000_000);

/// The node that a board runs.
pub type Mix<P> = Node<'static, P, ChaCha20Rng>;
/// Its memory in the benchmarks: 8 packets, 1 KiB of replay filter, a header pool of four.
pub type Room<P> = Memory<P, RoomLengths>;

/// How long its tables are.
pub enum RoomLengths {}

impl Lengths for RoomLengths {
    type Packets<T: Empty> = [T; 8];
    type Replay<T: Empty> = [T; 1024];
    type Window<T: Empty> = [T; 16];
    type Messages<T: Empty> = [T; 2];
    type Returns<T: Empty> = [T; 4];
    type Headers<T: Empty> = [T; 4];
    type Loops<T: Empty> = [T; 8];
    type Nodes<T: Empty> = [T; NODES];
}

/// Thirty-two bytes that follow from a name and a number.
pub fn secret(name: [u8; 4], number: u16) -> Secret<32> {
    hash::blake2s_256(&name, &number.to_le_bytes())
}

/// A node's name in packets.
pub fn id(node: u16) -> NodeId {
    NodeId::new(node).expect("a small network")
}

/// A node's secret of the epoch.
pub fn mix_key(node: u16) -> MixKey {
    MixKey::new(secret(*b"node", node))
}

/// What the network document says.
pub fn entry<C: Curve>(node: u16) -> Entry {
    Entry { mix_key: mix_key(node).public_key::<C>(), role: Role::Mix { layer: 0 } }
}

/// A node in its first epoch: no delays, no cover, three hops each way.
pub fn node<P: Profile>(room: &'static mut Room<P>, receiver: Option<NodeId>) -> Option<Mix<P>> {
    let config = Config::thesis().with_receiver(receiver);
    let rng = ChaCha20Rng::from_seed(*secret(*b"seed", ME).expose());
    let mut node = Node::new(id(ME), rng, room.lend());
    let epoch = Epoch(1);
    node.prepare_epoch(epoch, mix_key(ME)).ok()?;
    let mut entries = [Entry::default(); NODES];
    for (place, number) in entries.iter_mut().zip(0..) {
        *place = entry::<P::Curve>(number);
    }
    node.begin_epoch(NOW, epoch, Instant::NEVER, entries.into_iter(), config).ok()?;
    Some(node)
}

/// A node of a path.
pub fn hop<C: Curve>(node: u16) -> PathHop {
    PathHop { id: id(node), mix_key: entry::<C>(node).mix_key }
}

/// A header for a round trip, whose receiver is the `there`-th hop.
pub fn header<P: Profile>(path: &[PathHop], there: usize) -> Option<Header<P>> {
    let shape = Shape::RoundTrip { receiver: there.checked_sub(1)? };
    HeaderBuilder::<P>::new(path, shape, secret(*b"head", path.len() as u16)).ok()?.build().ok()
}

/// A packet under way, and what its sender keeps.
pub struct Flight<P: Profile> {
    /// Where it is going.
    pub to: NodeId,
    /// As it is now.
    pub packet: P::Packet,
    /// Returns in the sender's own layer.
    pub header_id: HeaderId,
    /// Opens the reply.
    pub return_keys: Option<ReturnKeys<P>>,
}

impl<P: Profile> Flight<P> {
    /// Under a header, with the reading in it.
    pub fn depart(header: Header<P>) -> Option<Self> {
        let mut packet = P::packet();
        let Departure { first, header_id, return_keys } =
            header.seal(MESSAGE, &READING, packet.as_mut()).ok()?;
        Some(Self { to: first, packet, header_id, return_keys })
    }

    /// Takes the packet along its path until it arrives at `stop`, or is back.
    pub fn travel(&mut self, stop: Option<NodeId>) -> Option<Arrival> {
        for _ in 0..=P::GEOMETRY.hops() {
            if Some(self.to) == stop {
                return Some(Arrival::Stopped);
            }
            if let Passed::Back(header_id) = self.pass()? {
                return Some(if header_id == self.header_id { Arrival::Back } else { Arrival::Lost });
            }
        }
        None
    }

    /// What the node that the packet goes to does with it. `None` if it refuses.
    fn pass(&mut self) -> Option<Passed> {
        let key = mix_key(self.to.get());
        let packet = Packet::<P>::parse(self.packet.as_mut()).ok()?;
        let ((), authentic) = packet.authenticate([((), &key)]).ok()?;
        match authentic.admit(&mut Forgetful).ok()?.unwrap_layer().ok()? {
            Hop::Forward(forward) => self.to = forward.next,
            Hop::TurnRound(turn) => {
                let message = turn.message.filter(|message| message.data == READING)?;
                let (id, next, key) = (message.id, turn.forward.next, turn.turn_key);
                key.reply::<P>(self.packet.as_mut(), id, &[]).ok()?;
                self.to = next;
            }
            Hop::Yours(yours) => return Some(Passed::Back(yours.header_id)),
            Hop::Deliver(_) | Hop::Drop => return None,
        }
        Some(Passed::On)
    }

    /// Whether the reply in a packet that is back is an acknowledgement.
    pub fn is_acknowledged(&mut self) -> bool {
        let Some(keys) = &self.return_keys else { return false };
        keys.open(&mut self.packet.as_mut()[P::GEOMETRY.payload()])
            .is_some_and(|message| message.data.is_empty())
    }
}

/// How far a packet has come.
#[derive(PartialEq, Eq)]
pub enum Arrival {
    /// It goes to the node that was named.
    Stopped,
    /// Its sender has it again.
    Back,
    /// At the end of a path that was not its own.
    Lost,
}

/// How a node ends with a packet that it does not refuse.
enum Passed {
    /// It goes to another node.
    On,
    /// It names a header of this node's.
    Back(HeaderId),
}

/// Admits every packet: those in here come once.
pub struct Forgetful;

impl ReplayFilter for Forgetful {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}
