//! A mote in little memory: cryptography, packets and a node in all of its roles; no radio, no
//! network stack, no check of network documents. What it takes of flash and memory is what
//! `budgets.toml` bounds.
//!
//! It is a whole node behind a few calls, so that the stopwatch can put it into a network and see
//! how deep its stack grows. Bytes come and go through one buffer.

#![no_std]
#![no_main]

mod copy;

use chacha20::ChaCha20Rng;
use motemix_board_bench::LIMITS;
use motemix_board_calls::place::Place;
use motemix_board_calls::{BAD, GOOD, verdict};
use motemix_crypto::{BoardCurveWithoutTable as BoardCurve, PublicKey, Secret};
use motemix_directory::{Entry, Epoch, Role};
use motemix_multiply as _;
use motemix_node::{
    Config, Event, FingerprintBits, HeaderSlot, Instant, LinkId, MessageSlot, NoJournal, NoPaths, Node,
    PacketSlot, ReceiptToken, ReturnSlot, Storage,
};
use motemix_sphinx::{MOTE, MixKey, Mote, NodeId};
use rand_core::SeedableRng;

type Motes = Mote<BoardCurve>;

/// Nodes of the network.
const NODES: usize = LIMITS.nodes;
/// Packets that wait.
const PACKETS: usize = LIMITS.packets;
/// Bytes of the replay filter.
const REPLAY_LEN: usize = LIMITS.replay_bytes;
/// Places in each of the two tables of messages received.
const WINDOW: usize = LIMITS.window;
/// Messages in flight.
const MESSAGES: usize = LIMITS.messages;
/// The header pool.
const HEADERS: usize = LIMITS.headers;

const KEY_LEN: usize = 32;
/// Room for 17 keys, or a packet.
const BUFFER_LEN: usize = KEY_LEN * 17;
/// There is no packet, no event.
const NOTHING: u32 = u32::MAX;
const PACKET_LEN: usize = MOTE.packet_len();
const NOW: Instant = Instant::from_micros(1_000_000);

static NODE: Place<Node<'static, Motes, ChaCha20Rng>> = Place::empty();
static TOKEN: Place<ReceiptToken> = Place::empty();
static BUFFER: Place<[u8; BUFFER_LEN]> = Place::empty();

// Each table is put in its place by itself, since all of them at once would not fit on the stack.
static PACKET_SLOTS: Place<[PacketSlot<Motes>; PACKETS]> = Place::empty();
static SCHEDULE: Place<[u32; PACKETS]> = Place::empty();
static REPLAY: Place<[u8; REPLAY_LEN]> = Place::empty();
static WINDOWS: [Place<[u64; WINDOW]>; 2] = [const { Place::empty() }; 2];
static MESSAGE_SLOTS: Place<[MessageSlot<Motes>; MESSAGES]> = Place::empty();
static RETURN_SLOTS: Place<[ReturnSlot<Motes>; LIMITS.returns]> = Place::empty();
static HEADER_SLOTS: Place<[HeaderSlot<Motes>; HEADERS]> = Place::empty();
static LOOPS: Place<[u64; LIMITS.loops]> = Place::empty();
static ENTRIES: Place<[Entry; NODES]> = Place::empty();

fn storage() -> Storage<'static, Motes> {
    let [window, older_window] = &WINDOWS;
    Storage {
        packets: PACKET_SLOTS.keep_each(PacketSlot::new),
        schedule: SCHEDULE.keep_each(|| 0),
        replay: REPLAY.keep_each(|| 0),
        fingerprint: FingerprintBits::BOARD,
        window: [window.keep_each(|| 0), older_window.keep_each(|| 0)],
        messages: MESSAGE_SLOTS.keep_each(MessageSlot::new),
        returns: RETURN_SLOTS.keep_each(ReturnSlot::new),
        headers: HEADER_SLOTS.keep_each(HeaderSlot::new),
        loops: LOOPS.keep_each(|| 0),
        nodes: ENTRIES.keep_each(Entry::default),
        paths: NoPaths,
    }
}

/// Where bytes come and go; it has room for 17 keys, or a packet.
#[unsafe(no_mangle)]
extern "C" fn mote_buffer() -> *mut u8 {
    BUFFER.put([0; BUFFER_LEN]);
    BUFFER.with(|buffer| buffer.as_mut_ptr()).unwrap_or(core::ptr::null_mut())
}

/// Makes the node. In the buffer: the seed of its generator.
#[unsafe(no_mangle)]
extern "C" fn mote_start(me: u32) -> u32 {
    let made = BUFFER.with(|buffer| {
        let rng = ChaCha20Rng::from_seed(*buffer.first_chunk()?);
        let (me, storage) = (NodeId::new(me as u16)?, storage());
        NODE.put_new(|| Node::new(me, rng, storage));
        Some(())
    });
    verdict(made.flatten().is_some())
}

/// Begins the first epoch, in a network of so many nodes. In the buffer: the node's mix key, then
/// the public key of each node.
#[unsafe(no_mangle)]
extern "C" fn mote_begin(nodes: u32) -> u32 {
    let begun = BUFFER.with(|buffer| {
        let (key, public_keys) = buffer.split_first_chunk::<KEY_LEN>()?;
        let key = MixKey::new(Secret::new(*key));
        let (public_keys, _) = public_keys.as_chunks::<KEY_LEN>();
        let entry = |key: &[u8; KEY_LEN]| Entry { mix_key: PublicKey(*key), role: Role::Mix { layer: 0 } };
        let entries = public_keys.get(..nodes as usize)?.iter().map(entry);
        NODE.with(|node| {
            node.prepare_epoch(Epoch(1), key).ok()?;
            node.begin_epoch(NOW, Epoch(1), Instant::NEVER, entries, Config::thesis()).ok()
        })?
    });
    verdict(begun.flatten().is_some())
}

/// A datagram arrives. In the buffer: the datagram.
#[unsafe(no_mangle)]
extern "C" fn mote_datagram() -> u32 {
    let taken = BUFFER.with(|buffer| {
        let bytes = &mut buffer[..PACKET_LEN];
        NODE.with(|node| node.handle_datagram(NOW, LinkId(0), bytes, &mut NoJournal).ok())
    });
    verdict(taken.flatten().flatten().is_some())
}

/// Time passes.
#[unsafe(no_mangle)]
extern "C" fn mote_timeout() -> u32 {
    verdict(NODE.with(|node| node.handle_timeout(NOW)).is_some())
}

/// Sends a message. In the buffer: what it says.
#[unsafe(no_mangle)]
extern "C" fn mote_send(to: u32, len: u32) -> u32 {
    let sent = BUFFER.with(|buffer| {
        let to = NodeId::new(to as u16)?;
        NODE.with(|node| node.send(NOW, to, buffer.get(..len as usize)?).ok())
    });
    verdict(sent.flatten().flatten().is_some())
}

/// One multiplication for the header pool. Zero when there is nothing to do.
#[unsafe(no_mangle)]
extern "C" fn mote_work() -> u32 {
    NODE.with(|node| node.work(NOW)).unwrap_or(false).into()
}

/// The next packet goes to the buffer, and the number of the node to send it to is returned.
#[unsafe(no_mangle)]
extern "C" fn mote_transmit() -> u32 {
    let sent = BUFFER.with(|buffer| NODE.with(|node| node.poll_transmit(NOW, &mut NoJournal, buffer).ok()));
    sent.flatten().flatten().flatten().map_or(NOTHING, |transmit| transmit.to.get().into())
}

/// The next event: the length of a received message, which goes to the buffer; or 0x100 for an
/// acknowledged message, 0x200 for a discarded one.
#[unsafe(no_mangle)]
extern "C" fn mote_event() -> u32 {
    BUFFER
        .with(|buffer| {
            NODE.with(|node| match node.poll_event() {
                Some(Event::Received { token, data, .. }) => {
                    TOKEN.put(token);
                    buffer[..data.len()].copy_from_slice(data);
                    data.len() as u32
                }
                Some(Event::Delivered { data, .. }) => {
                    buffer[..data.len()].copy_from_slice(data);
                    data.len() as u32
                }
                Some(Event::Acknowledged { .. }) => 0x100,
                Some(Event::Discarded { .. }) => 0x200,
                // What may come to be tells nothing here.
                None | Some(_) => NOTHING,
            })
        })
        .flatten()
        .unwrap_or(NOTHING)
}

/// Acknowledges the message of the last event.
#[unsafe(no_mangle)]
extern "C" fn mote_reply() -> u32 {
    let replied = TOKEN.take().and_then(|token| NODE.with(|node| node.reply(NOW, token, &[]).ok()));
    if replied.flatten().is_some() { GOOD } else { BAD }
}
