//! Packets: making one, processing it, replying, opening the reply.

use std::cell::RefCell;
use std::collections::HashMap;

use motemix_crypto::wide_block::WideBlockKeys;
use motemix_crypto::{Curve, Portable, PublicKey, Secret, hash, stream};
use motemix_sphinx::{
    AuthenticBatch, Batch, Header, HeaderBuilder, Hop, Host1k, MessageId, MixKey, Mote, NodeId, Origin,
    Packet, PathHop, ProcessError, Profile, ReplayError, ReplayFilter, ReplayTag, ReturnKeys, Shape, TurnKey,
    TurnRound,
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
        variants: 1,
        run: |trial| MixKey::new(trial.secret([7; 32])).public_key::<Portable>().0.to_vec(),
    },
    Operation {
        name: "a node's key for its replay filter",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| MixKey::new(trial.secret([7; 32])).replay_filter_key().expose().to_vec(),
    },
    Operation {
        name: "take out a packet of one's own before the filter",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| own_return(trial, Shape::Loop, HOPS - 1),
    },
    Operation {
        name: "see that a packet is not one's own",
        secret: "mix key",
        expected: Expected::Disclosed,
        variants: 4,
        run: |trial| own_return(trial, ROUND_TRIP, [0, 1, 3, 4][trial.variant()]),
    },
    Operation {
        name: "make a header and seal a message: round trip, mote",
        secret: "seed, message",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| seal::<OnMote>(trial, ROUND_TRIP),
    },
    Operation {
        name: "make a header and seal a message: one way, mote",
        secret: "seed, message",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| seal::<OnMote>(trial, Shape::OneWay),
    },
    Operation {
        name: "make a header and seal a message: round trip, host",
        secret: "seed, message",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| seal::<OnHost>(trial, ROUND_TRIP),
    },
    Operation {
        name: "make cover: a loop",
        secret: "seed, filling",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| cover::<OnMote>(trial, Shape::Loop),
    },
    Operation {
        name: "make cover: a drop",
        secret: "seed, filling",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| cover::<OnMote>(trial, Shape::Drop),
    },
    Operation {
        name: "forward, mote",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process::<OnMote>(trial, ROUND_TRIP, 1, |_| ()),
    },
    Operation {
        name: "forward, host",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process::<OnHost>(trial, ROUND_TRIP, 1, |_| ()),
    },
    Operation {
        name: "a batch: turn one round, forward three, mote",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process_together::<Mote<HostCurve>>(trial, 2, |_| ()),
    },
    Operation {
        name: "a batch: turn one round, forward three, host",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process_together::<OnHost>(trial, 2, |_| ()),
    },
    Operation {
        name: "a batch: deliver, drop, two that come back, mote",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process_together::<Mote<HostCurve>>(trial, 5, |_| ()),
    },
    Operation {
        name: "a batch: refuse one whose header was changed, mote",
        secret: "mix key",
        expected: Expected::Disclosed,
        variants: 1,
        run: |trial| process_together::<Mote<HostCurve>>(trial, 2, |packet| packet[40] ^= 1),
    },
    Operation {
        name: "turn round and reply, mote",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process::<OnMote>(trial, ROUND_TRIP, 2, |_| ()),
    },
    Operation {
        name: "turn round and reply, host",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process::<OnHost>(trial, ROUND_TRIP, 2, |_| ()),
    },
    Operation {
        name: "deliver",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process::<OnMote>(trial, Shape::OneWay, 5, |_| ()),
    },
    Operation {
        name: "drop cover at its end",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process::<OnMote>(trial, Shape::Drop, 5, |_| ()),
    },
    Operation {
        name: "recognise a loop of one's own",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process::<OnMote>(trial, Shape::Loop, 5, |_| ()),
    },
    Operation {
        name: "refuse a packet whose header was changed",
        secret: "mix key",
        expected: Expected::Disclosed,
        variants: 1,
        run: |trial| process::<OnMote>(trial, ROUND_TRIP, 1, |packet| packet[40] ^= 1),
    },
    Operation {
        name: "refuse a packet with one wrong byte in its header MAC, mote",
        secret: "mix key",
        expected: Expected::Disclosed,
        variants: 16,
        run: wrong_header_mac::<OnMote>,
    },
    Operation {
        name: "refuse a packet with one wrong byte in its header MAC, host",
        secret: "mix key",
        expected: Expected::Disclosed,
        variants: 16,
        run: wrong_header_mac::<OnHost>,
    },
    Operation {
        name: "refuse a message with one wrong byte in its integrity tag, mote",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 16,
        run: |trial| wrong_tag::<OnMote>(trial, Shape::OneWay, 5),
    },
    Operation {
        name: "turn round a message with one wrong byte in its integrity tag, mote",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 16,
        run: |trial| wrong_tag::<OnMote>(trial, ROUND_TRIP, 2),
    },
    Operation {
        name: "turn round a message with one wrong byte in its integrity tag, host",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 16,
        run: |trial| wrong_tag::<OnHost>(trial, ROUND_TRIP, 2),
    },
    Operation {
        name: "refuse a message that was changed on its way",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process::<OnMote>(trial, Shape::OneWay, 5, |packet| packet[200] ^= 1),
    },
    Operation {
        name: "turn round a message that was changed on its way",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| process::<OnMote>(trial, ROUND_TRIP, 2, |packet| packet[200] ^= 1),
    },
    Operation {
        name: "open a reply, mote",
        secret: "seed of the header, reply",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| open::<OnMote>(trial, false),
    },
    Operation {
        name: "open a reply, host",
        secret: "seed of the header, reply",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| open::<OnHost>(trial, false),
    },
    Operation {
        name: "refuse a reply that was changed on its way",
        secret: "seed of the header",
        expected: Expected::Disclosed,
        variants: 1,
        run: |trial| open::<OnMote>(trial, true),
    },
    Operation {
        name: "refuse a reply with one wrong byte in its integrity tag",
        secret: "seed of the header",
        expected: Expected::Disclosed,
        variants: 16,
        run: |trial| {
            let mut packet = arrived::<OnMote>(ROUND_TRIP, 2, |_| ());
            let keys = keys_of_reply(2, &packet);
            pass::<OnMote>(2, &mut packet);
            change_tag::<OnMote>(&keys, &mut packet, trial.variant());
            (3..HOPS - 1).for_each(|node| pass::<OnMote>(node, &mut packet));
            opened::<OnMote>(trial, &mut packet[OnMote::GEOMETRY.payload()])
        },
    },
    Operation {
        name: "forward, four keys, mote",
        secret: "mix key",
        expected: Expected::Secret,
        variants: 4,
        run: |trial| process::<OnMote>(trial, ROUND_TRIP, [0, 1, 3, 4][trial.variant()], |_| ()),
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

fn header<P: Profile>(shape: Shape, seed: Secret<32>) -> Header<P> {
    HeaderBuilder::<P>::new(&path(), shape, seed).and_then(HeaderBuilder::build).expect("a sound path")
}

fn seal<P: Profile>(trial: &Trial, shape: Shape) -> Vec<u8> {
    let header = header::<P>(shape, trial.secret(SEED));
    let delay = header.delay();
    let (mut packet, mut data, mut id) = (P::packet(), DATA.to_vec(), ID);
    trial.mark(&mut data);
    trial.mark(&mut id.0);
    let departure = header.seal(id, &data, packet.as_mut()).expect("short enough");
    [packet.as_ref(), &departure.header_id.0, &delay.factor().to_be_bytes()].concat()
}

fn cover<P: Profile>(trial: &Trial, shape: Shape) -> Vec<u8> {
    let header = header::<P>(shape, trial.secret(SEED));
    let mut packet = P::packet();
    let departure = header.cover(packet.as_mut(), |filling| {
        filling.fill(0x33);
        trial.mark(filling);
    });
    [packet.as_ref(), &departure.header_id.0].concat()
}

/// Takes what it is asked about for granted, and discloses it, as a filter does: it keeps a table
/// of tags.
pub struct AdmitAll;

impl ReplayFilter for AdmitAll {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        let mut tag = *tag;
        marks::mark_public(&mut tag.0);
        Ok(())
    }
}

thread_local! {
    /// Packets by length, shape and the node where they have arrived.
    static ARRIVED: RefCell<HashMap<(usize, String, usize), Vec<u8>>> = RefCell::default();
}

/// A packet on its way, at the node with this number in the path, `changed`.
fn arrived<P: Profile>(shape: Shape, node: usize, change: impl FnOnce(&mut [u8])) -> P::Packet {
    let mut packet = P::packet();
    // Made once for all variants: valgrind takes its time.
    ARRIVED.with_borrow_mut(|arrived| {
        let made = arrived.entry((packet.as_ref().len(), format!("{shape:?}"), node)).or_insert_with(|| {
            let mut packet = P::packet();
            let header = header::<P>(shape, Secret::new(SEED));
            header.seal(ID, DATA, packet.as_mut()).expect("short enough");
            for before in 0..node {
                pass::<P>(before, packet.as_mut());
            }
            packet.as_ref().to_vec()
        });
        packet.as_mut().copy_from_slice(made);
    });
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

/// Everything that comes out of four packets, one of each shape, that a node takes in together. The
/// first is changed.
fn process_together<P: Profile>(trial: &Trial, node: usize, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut batch = Batch::<P, usize, ()>::new();
    let first = arrived::<P>(ROUND_TRIP, node, change);
    let others = [Shape::OneWay, Shape::Drop, Shape::Loop].map(|shape| arrived::<P>(shape, node, |_| ()));
    for (number, packet) in std::iter::once(&first).chain(&others).enumerate() {
        batch.push(number, packet.as_ref()).expect("the length of a packet");
    }
    let key = MixKey::new(trial.secret(mix_key(node)));
    let mut made = Vec::new();
    let fresh = AuthenticBatch::authenticate(&mut batch, [((), &key)]).admit(|_, packet| match packet {
        Ok(((), packet)) => packet.admit(&mut AdmitAll).expect("all are admitted"),
        Err(refused) => made.extend(refused.to_string().into_bytes()),
    });
    fresh.unwrap_layers().take_each(|_, mut packet| {
        let hop = packet.hop().expect("a sound packet");
        let (found, turned) = found(hop);
        let bytes = packet.into_bytes();
        turn::<P>(turned, bytes);
        made.extend([&*bytes, &found].concat());
    });
    made
}

/// What is beside the packet: where it goes and when, the message, the header's id. A message is
/// replied to; a changed one is turned round without a reply.
pub fn process_at<P: Profile>(mix_key: &MixKey, bytes: &mut [u8]) -> Result<Vec<u8>, ProcessError> {
    let packet = Packet::<P>::parse(&mut *bytes)?;
    let ((), authentic) = packet.authenticate([((), mix_key)])?;
    let fresh = authentic.admit(&mut AdmitAll).expect("all are admitted");
    // Disclosed: the command, as in the library: one word says it, or that there is an error.
    let (found, turned) = found(fresh.unwrap_layer()?);
    turn::<P>(turned, bytes);
    Ok(found)
}

/// What a hop says, and the key for a reply, with whether the message was sound.
fn found(hop: Hop<'_>) -> (Vec<u8>, Option<(TurnKey, bool)>) {
    let on = |forward: motemix_sphinx::Forward| {
        [&forward.next.get().to_be_bytes()[..], &forward.delay.factor().to_be_bytes()].concat()
    };
    // Disclosed: the command, as in the library.
    match hop {
        Hop::Forward(forward) => (on(forward), None),
        Hop::TurnRound(TurnRound { forward, turn_key, message }) => {
            // Disclosed: whether the integrity tag holds, as in the library.
            let read = message.map(|message| [&message.id.0, message.data].concat());
            let is_sound = read.is_some();
            ([on(forward), read.unwrap_or_default()].concat(), Some((turn_key, is_sound)))
        }
        Hop::Deliver(message) => ([&message.id.0, message.data].concat(), None),
        Hop::Drop => (Vec::new(), None),
        Hop::Yours(yours) => (yours.header_id.0.to_vec(), None),
    }
}

fn turn<P: Profile>(turned: Option<(TurnKey, bool)>, bytes: &mut [u8]) {
    match turned {
        Some((turn_key, true)) => turn_key.reply::<P>(bytes, ID, b"received").expect("short enough"),
        Some((turn_key, false)) => turn_key.refuse::<P>(bytes, |payload| payload.fill(0x44)),
        None => (),
    }
}

/// What comes out of a packet that is taken for one of the node's own, if it is.
fn own_return(trial: &Trial, shape: Shape, node: usize) -> Vec<u8> {
    let mut packet = arrived::<OnMote>(shape, node, |_| ());
    let key = MixKey::new(trial.secret(mix_key(node)));
    let ((), authentic) = Packet::<OnMote>::parse(packet.as_mut())
        .and_then(|packet| packet.authenticate([((), &key)]))
        .expect("its MAC holds");
    match authentic.own_return(|_| true) {
        Origin::Own(yours) => [&yours.header_id.0, &*yours.payload].concat(),
        Origin::Other(_) => Vec::new(),
    }
}

/// A packet that has one wrong byte in its header MAC, another one in each variant.
fn wrong_header_mac<P: Profile>(trial: &Trial) -> Vec<u8> {
    let place = P::GEOMETRY.header_len() - HEADER_MAC_LEN + trial.variant();
    let mut refused = process::<P>(trial, ROUND_TRIP, 1, |packet| packet[place] ^= 1);
    // The packet is as it came.
    refused.drain(..P::GEOMETRY.packet_len());
    refused
}

/// A message that arrives with one wrong byte in its integrity tag, another one in each variant:
/// nobody but its sender or one who has the hop's keys can bring that about.
fn wrong_tag<P: Profile>(trial: &Trial, shape: Shape, node: usize) -> Vec<u8> {
    process::<P>(trial, shape, node, |packet| {
        let mut keys = Secret::zero();
        stream::fill_from(hop_key(node, packet).expose(), KEYS, HEADER_KEYS_BLOCKS, keys.expose_mut());
        change_tag::<P>(&WideBlockKeys::new(keys), packet, trial.variant());
    })
}

const HEADER_MAC_LEN: usize = 16;
/// `docs/spec/packet.md`, "Keys of a hop".
const KEYS: &stream::Label = b"motemix/keys";
const HEADER_KEYS_BLOCKS: u32 = 2;

fn hop_key(node: usize, packet: &[u8]) -> Secret<32> {
    let group_element = PublicKey(*packet.first_chunk().expect("a packet begins with it"));
    let shared = Portable::diffie_hellman(&Secret::new(mix_key(node)), &group_element);
    hash::blake2s_256(shared.expect("not zero").expose(), b"motemix/1 hop")
}

/// What the reply of this node is encrypted with, the packet being as it arrives there.
fn keys_of_reply(node: usize, packet: &[u8]) -> WideBlockKeys {
    WideBlockKeys::derive(hop_key(node, packet).expose(), b"motemix/turn")
}

/// Changes a byte of the integrity tag in a payload under these keys.
pub fn change_tag<P: Profile>(keys: &WideBlockKeys, packet: &mut [u8], byte: usize) {
    let payload = &mut packet[P::GEOMETRY.payload()];
    keys.decrypt::<P::WideHash>(payload);
    payload[byte] ^= 1;
    keys.encrypt::<P::WideHash>(payload);
}

/// The keys of a marked header open the reply to the same header in the clear.
fn open<P: Profile>(trial: &Trial, changed: bool) -> Vec<u8> {
    let mut packet = arrived::<P>(ROUND_TRIP, HOPS - 1, |_| ());
    let payload = &mut packet.as_mut()[P::GEOMETRY.payload()];
    payload[0] ^= u8::from(changed);
    opened::<P>(trial, payload)
}

fn opened<P: Profile>(trial: &Trial, payload: &mut [u8]) -> Vec<u8> {
    let keys: ReturnKeys<P> = header::<P>(ROUND_TRIP, trial.secret(SEED))
        .seal(ID, DATA, P::packet().as_mut())
        .expect("short enough")
        .return_keys
        .expect("a round trip");
    let opened = keys.open(payload).map(|reply| [&reply.id.0, reply.data].concat());
    opened.unwrap_or_else(|| b"refused".to_vec())
}
