//! Packets and SURBs: made, followed from node to node, and opened.

use motemix_crypto::{BoardCurve, PublicKey, Secret};
use motemix_sphinx::{
    Header, HeaderBuilder, HeaderId, Hop, Host1k, Host2k, Message, MessageId, MixKey, Mote, Mote5, NodeId,
    PathHop, Profile, ReplayTag, Shape, Surb, TurnRound,
};

use crate::datagrams::OneTag;
use crate::tables::{self, Node, Way};
use crate::{Checked, sure};

/// The longest path of any profile.
const MOST_HOPS: usize = motemix_sphinx::HOST2K.hops();

pub fn check_packet(case: &tables::Packet) -> Checked {
    match case.way.profile {
        tables::Profile::Mote => packet::<Mote<BoardCurve>>(case),
        tables::Profile::Mote5 => packet::<Mote5<BoardCurve>>(case),
        tables::Profile::Host1k => packet::<Host1k<BoardCurve>>(case),
        tables::Profile::Host2k => packet::<Host2k<BoardCurve>>(case),
    }
}

pub fn check_surb(case: &tables::Surb) -> Checked {
    match case.way.profile {
        tables::Profile::Mote => surb::<Mote<BoardCurve>>(case),
        tables::Profile::Mote5 => surb::<Mote5<BoardCurve>>(case),
        tables::Profile::Host1k => surb::<Host1k<BoardCurve>>(case),
        tables::Profile::Host2k => surb::<Host2k<BoardCurve>>(case),
    }
}

impl Way {
    /// Lends the path to `call`, which keeps it off the stack elsewhere.
    fn with_path<T>(
        &self,
        call: impl FnOnce(&[PathHop]) -> Result<T, &'static str>,
    ) -> Result<T, &'static str> {
        let node = |node: &Node| {
            let id = NodeId::new(node.id).ok_or("an id is none")?;
            Ok::<_, &'static str>(PathHop { id, mix_key: PublicKey(node.public) })
        };
        let first = node(self.path.first().ok_or("there is no path")?)?;
        let mut path = [first; MOST_HOPS];
        let path = path.get_mut(..self.path.len()).ok_or("the path is longer than any header's")?;
        for (hop, of) in path.iter_mut().zip(self.path) {
            *hop = node(of)?;
        }
        call(path)
    }

    fn message<'a>(&self, data: &'a [u8]) -> Message<'a> {
        Message { id: MessageId(self.message_id), data }
    }
}

// Not inlined, here and below: a board with 16 KiB has no room for the stacks of all profiles in
// one.
#[inline(never)]
fn header<P: Profile<Curve = BoardCurve>>(way: &Way, shape: Shape) -> Result<Header<P>, &'static str> {
    way.with_path(|path| {
        HeaderBuilder::<P>::new(path, shape, Secret::new(way.seed))
            .and_then(HeaderBuilder::build)
            .map_err(|_| "no header can be made for its path")
    })
}

#[inline(never)]
fn packet<P: Profile<Curve = BoardCurve>>(case: &tables::Packet) -> Checked {
    let way = &case.way;
    let header = header::<P>(way, case.shape)?;
    let mut packet = P::packet();
    let packet = packet.as_mut();
    let departure = match case.shape {
        Shape::Loop => {
            sure("its payload has another length", case.data.len() == P::GEOMETRY.payload().len())?;
            header.cover(packet, |payload| payload.copy_from_slice(case.data))
        }
        _ => {
            header.seal(MessageId(way.message_id), case.data, packet).map_err(|_| "its data does not fit")?
        }
    };
    sure("its first node is another one", Some(departure.first.get()) == way.path.first().map(|to| to.id))?;
    sure("its header id is another one", departure.header_id == HeaderId(way.header_id))?;
    follow::<P>(way, case.data, packet)?;
    match departure.return_keys {
        Some(keys) => {
            let reply = keys.open(&mut packet[P::GEOMETRY.payload()]);
            sure("its reply is another one", reply == Some(way.message(way.reply_data)))
        }
        None => sure("it has no keys for its reply", !matches!(case.shape, Shape::RoundTrip { .. })),
    }
}

#[inline(never)]
fn surb<P: Profile<Curve = BoardCurve>>(case: &tables::Surb) -> Checked {
    let way = &case.way;
    let mut encoded = [0; Surb::<Host2k>::encoded_len(MOST_HOPS)];
    let (keys, len) = way.with_path(|path| {
        Surb::<P>::create(path, Secret::new(way.seed), &mut encoded).map_err(|_| "none can be made")
    })?;
    sure("encoded, it is another one", encoded.get(..len) == Some(case.encoded))?;
    sure("its header id is another one", keys.header_id() == HeaderId(way.header_id))?;
    let mut packet = P::packet();
    let packet = packet.as_mut();
    let first = Surb::<P>::parse(case.encoded)
        .ok_or("it cannot be read")?
        .reply(MessageId(way.message_id), way.reply_data, packet)
        .map_err(|_| "the reply does not fit")?;
    sure("its first node is another one", Some(first.get()) == way.path.first().map(|to| to.id))?;
    follow::<P>(way, &[], packet)?;
    let reply = keys.open(&mut packet[P::GEOMETRY.payload()]);
    sure("its reply is another one", reply == Some(way.message(way.reply_data)))
}

/// Brings the packet from node to node, to the end of its way.
#[inline(never)]
fn follow<P: Profile<Curve = BoardCurve>>(way: &Way, data: &[u8], packet: &mut [u8]) -> Checked {
    sure("it has not as many hops as arrivals", way.path.len() == way.wire.len())?;
    for (at, (node, arriving)) in way.path.iter().zip(way.wire).enumerate() {
        sure("a packet arrives that is another one", packet == *arriving)?;
        let next = way.path.get(at + 1);
        arrive::<P>(way, data, node, next, packet)?;
    }
    Ok(())
}

/// One node processes the packet, and replies to a message that asks for it.
#[inline(never)]
fn arrive<P: Profile<Curve = BoardCurve>>(
    way: &Way,
    data: &[u8],
    node: &Node,
    next: Option<&Node>,
    packet: &mut [u8],
) -> Checked {
    let key = MixKey::new(Secret::new(node.secret));
    sure("a node's key is another one", key.public_key::<BoardCurve>() == PublicKey(node.public))?;
    let ((), authenticated) = motemix_sphinx::Packet::<P>::parse(packet)
        .and_then(|packet| packet.authenticate([((), &key)]))
        .map_err(|_| "a node refuses it")?;
    let tag = ReplayTag(node.replay_tag);
    sure("its replay tag is another one", authenticated.replay_tag() == tag)?;
    let fresh = authenticated.admit(&mut OneTag::default()).map_err(|_| "a fresh packet is a replay")?;
    let forward = match fresh.unwrap_layer().map_err(|_| "a layer does not come off")? {
        Hop::Forward(forward) => forward,
        Hop::TurnRound(TurnRound { forward, turn_key, message }) => {
            sure("another message arrives", message == Some(way.message(data)))?;
            turn_key
                .reply::<P>(packet, MessageId(way.message_id), way.reply_data)
                .map_err(|_| "the reply does not fit")?;
            forward
        }
        Hop::Deliver(message) => {
            sure("another message arrives", message == way.message(data))?;
            return sure("it ends too early", next.is_none());
        }
        Hop::Drop => return sure("it ends too early", next.is_none()),
        Hop::Yours(yours) => {
            sure("another header comes back", yours.header_id == HeaderId(way.header_id))?;
            return sure("it ends too early", next.is_none());
        }
    };
    let next = next.ok_or("its last node sends it on")?;
    sure("it goes to another node", forward.next.get() == next.id)?;
    sure("it is delayed for another time", forward.delay.factor() == node.exponential)
}
