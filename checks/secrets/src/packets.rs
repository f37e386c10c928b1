//! Packets: making one, processing it, replying, opening the reply.

use motemix_crypto::{Portable, Secret};
use motemix_sphinx::{
    HeaderBuilder, Hop, Host1k, MessageId, MixKey, Mote, NodeId, Packet, PathHop, ProcessError, Profile,
    ReplayError, ReplayFilter, ReplayTag, ReturnKeys, Shape, TurnKey,
};

use crate::host_curve::HostCurve;
use crate::marks;
use crate::trial::{Expected, Operation, Trial};

type OnMote = Mote<Portable>;
type OnHost = Host1k<HostCurve>;

pub const HOPS: usize = 6;
pub const ID: MessageId = MessageId(*b"id 1");
pub const DATA: &[u8] = b"21.5 degrees";
const SEED: [u8; 32] = [0x51; 32];
const ROUND_TRIP: Shape = Shape::RoundTrip { receiver: 2 };

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "a node's public key",
        secret: "mix key",
        expected: Expected::Secret,
        run: |trial| MixKey::new(trial.secret([7; 32])).public_key::<Portable>().0.to_vec(),
    },
    Operation {
        name: "make a header and seal a message: round trip, mote",
        secret: "seed, message",
        expected: Expected::Secret,
        run: |trial| seal::<OnMote>(trial, ROUND_TRIP),
    },
    Operation {
        name: "make a header and seal a message: one way, mote",
        secret: "seed, message",
        expected: Expected::Secret,
        run: |trial| seal::<OnMote>(trial, Shape::OneWay),
    },
    Operation {
        name: "make a header and seal a message: round trip, host",
        secret: "seed, message",
        expected: Expected::Secret,
        run: |trial| seal::<OnHost>(trial, ROUND_TRIP),
    },
    Operation {
        name: "make cover: a loop",
        secret: "seed, filling",
        expected: Expected::Secret,
        run: |trial| cover::<OnMote>(trial, Shape::Loop),
    },
    Operation {
        name: "make cover: a drop",
        secret: "seed, filling",
        expected: Expected::Secret,
        run: |trial| cover::<OnMote>(trial, Shape::Drop),
    },
    Operation {
        name: "forward, mote",
        secret: "mix key",
        expected: Expected::Secret,
        run: |trial| process::<OnMote>(trial, ROUND_TRIP, 1, |_| ()),
    },
    Operation {
        name: "forward, host",
        secret: "mix key",
        expected: Expected::Secret,
        run: |trial| process::<OnHost>(trial, ROUND_TRIP, 1, |_| ()),
    },
    Operation {
        name: "turn round and reply, mote",
        secret: "mix key",
        expected: Expected::Secret,
        run: |trial| process::<OnMote>(trial, ROUND_TRIP, 2, |_| ()),
    },
    Operation {
        name: "turn round and reply, host",
        secret: "mix key",
        expected: Expected::Secret,
        run: |trial| process::<OnHost>(trial, ROUND_TRIP, 2, |_| ()),
    },
    Operation {
        name: "deliver",
        secret: "mix key",
        expected: Expected::Secret,
        run: |trial| process::<OnMote>(trial, Shape::OneWay, 5, |_| ()),
    },
    Operation {
        name: "drop cover at its end",
        secret: "mix key",
        expected: Expected::Secret,
        run: |trial| process::<OnMote>(trial, Shape::Drop, 5, |_| ()),
    },
    Operation {
        name: "recognise a loop of one's own",
        secret: "mix key",
        expected: Expected::Secret,
        run: |trial| process::<OnMote>(trial, Shape::Loop, 5, |_| ()),
    },
    Operation {
        name: "refuse a packet whose header was changed",
        secret: "mix key",
        expected: Expected::Disclosed,
        run: |trial| process::<OnMote>(trial, ROUND_TRIP, 1, |packet| packet[40] ^= 1),
    },
    Operation {
        name: "refuse a message that was changed on its way",
        secret: "mix key",
        expected: Expected::Secret,
        run: |trial| process::<OnMote>(trial, ROUND_TRIP, 2, |packet| packet[200] ^= 1),
    },
    Operation {
        name: "open a reply, mote",
        secret: "seed of the header, reply",
        expected: Expected::Secret,
        run: |trial| open::<OnMote>(trial, false),
    },
    Operation {
        name: "open a reply, host",
        secret: "seed of the header, reply",
        expected: Expected::Secret,
        run: |trial| open::<OnHost>(trial, false),
    },
    Operation {
        name: "refuse a reply that was changed on its way",
        secret: "seed of the header",
        expected: Expected::Disclosed,
        run: |trial| open::<OnMote>(trial, true),
    },
];

/// The mix key of each node of the path.
fn mix_key(node: usize) -> [u8; 32] {
    [node as u8 + 1; 32]
}

pub fn path() -> [PathHop; HOPS] {
    std::array::from_fn(|node| PathHop {
        id: NodeId::new(node as u16 + 300).expect("14 bits"),
        mix_key: MixKey::new(Secret::new(mix_key(node))).public_key::<Portable>(),
    })
}

fn seal<P: Profile>(trial: &Trial, shape: Shape) -> Vec<u8> {
    let header = HeaderBuilder::<P>::new(&path(), shape, trial.secret(SEED))
        .and_then(HeaderBuilder::build)
        .expect("a sound path");
    let delay = header.delay();
    let (mut packet, mut data, mut id) = (P::packet(), DATA.to_vec(), ID);
    trial.mark(&mut data);
    trial.mark(&mut id.0);
    let departure = header.seal(id, &data, packet.as_mut()).expect("short enough");
    [packet.as_ref(), &departure.header_id.0, &delay.factor().to_be_bytes()].concat()
}

fn cover<P: Profile>(trial: &Trial, shape: Shape) -> Vec<u8> {
    let header = HeaderBuilder::<P>::new(&path(), shape, trial.secret(SEED))
        .and_then(HeaderBuilder::build)
        .expect("a sound path");
    let mut packet = P::packet();
    let departure = header.cover(packet.as_mut(), |filling| {
        filling.fill(0x33);
        trial.mark(filling);
    });
    [packet.as_ref(), &departure.header_id.0].concat()
}

/// Takes what it is asked about for granted, and discloses it, as a filter does: it keeps a table of tags.
struct AdmitAll;

impl ReplayFilter for AdmitAll {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        let mut tag = *tag;
        marks::mark_public(&mut tag.0);
        Ok(())
    }
}

/// A packet on its way, at the node with this number in the path, `changed`.
fn arrived<P: Profile>(shape: Shape, node: usize, change: impl FnOnce(&mut [u8])) -> P::Packet {
    let mut packet = P::packet();
    HeaderBuilder::<P>::new(&path(), shape, Secret::new(SEED))
        .and_then(HeaderBuilder::build)
        .expect("a sound path")
        .seal(ID, DATA, packet.as_mut())
        .expect("short enough");
    for before in 0..node {
        pass::<P>(before, packet.as_mut());
    }
    change(packet.as_mut());
    packet
}

/// Lets a node of the path process a packet in the clear.
pub fn pass<P: Profile>(node: usize, packet: &mut [u8]) {
    process_at::<P>(&MixKey::new(Secret::new(mix_key(node))), packet).expect("a sound packet");
}

/// Everything that comes out of it.
fn process<P: Profile>(trial: &Trial, shape: Shape, node: usize, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut packet = arrived::<P>(shape, node, change);
    let found = process_at::<P>(&MixKey::new(trial.secret(mix_key(node))), packet.as_mut());
    let found = found.unwrap_or_else(|refused| refused.to_string().into_bytes());
    [packet.as_ref(), &found].concat()
}

/// What is beside the packet: where it goes and when, the message, the header's id. A message is replied to.
fn process_at<P: Profile>(mix_key: &MixKey, bytes: &mut [u8]) -> Result<Vec<u8>, ProcessError> {
    let packet = Packet::<P>::parse(&mut *bytes)?;
    let ((), authentic) = packet.authenticate([((), mix_key)])?;
    let fresh = authentic.admit(&mut AdmitAll).expect("all are admitted");
    let on = |forward: motemix_sphinx::Forward| {
        [&forward.next.get().to_be_bytes()[..], &forward.delay.factor().to_be_bytes()].concat()
    };
    // Disclosed: the command, as in the library.
    let (found, turned): (_, Option<TurnKey>) = match fresh.unwrap_layer()? {
        Hop::Forward(forward) => (on(forward), None),
        Hop::TurnRound(turn) => (
            [on(turn.forward), turn.message.id.0.to_vec(), turn.message.data.to_vec()].concat(),
            Some(turn.turn_key),
        ),
        Hop::Deliver(message) => ([&message.id.0, message.data].concat(), None),
        Hop::Drop => (Vec::new(), None),
        Hop::Yours(yours) => (yours.header_id.0.to_vec(), None),
    };
    if let Some(turn_key) = turned {
        turn_key.reply::<P>(bytes, ID, b"received").expect("short enough");
    }
    Ok(found)
}

/// The keys of a marked header open the reply to the same header in the clear.
fn open<P: Profile>(trial: &Trial, changed: bool) -> Vec<u8> {
    let mut packet = arrived::<P>(ROUND_TRIP, HOPS - 1, |_| ());
    let payload = &mut packet.as_mut()[P::GEOMETRY.payload()];
    payload[0] ^= u8::from(changed);
    let keys: ReturnKeys<P> = HeaderBuilder::<P>::new(&path(), ROUND_TRIP, trial.secret(SEED))
        .and_then(HeaderBuilder::build)
        .expect("a sound path")
        .seal(ID, DATA, P::packet().as_mut())
        .expect("short enough")
        .return_keys
        .expect("a round trip");
    let opened = keys.open(payload).map(|reply| [&reply.id.0, reply.data].concat());
    opened.unwrap_or_else(|| b"refused".to_vec())
}
