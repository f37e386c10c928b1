//! What a mote does, operation by operation. `docs/research/boards.md` says what each of them is.

#![no_std]
#![no_main]

mod signatures;

use motemix_board_bench::world::{self, Arrival, Flight, ME, Mix, NOW, PEER, READING, Room};
use motemix_board_calls::place::Place;
use motemix_board_calls::{BAD, verdict};
use motemix_crypto::{BoardCurve, Curve, PublicKey, Secret};
use motemix_multiply as _;
use motemix_node::{Event, LinkId, NoJournal};
use motemix_sphinx::geometry::MAX_HOPS;
use motemix_sphinx::{Header, Hop, Mote, Mote5, Packet, PathHop, Profile};

type Motes = Mote<BoardCurve>;
type Motes5 = Mote5<BoardCurve>;

/// A scalar, a point, and their product as another way gives it.
struct Product {
    scalar: Secret<32>,
    point: PublicKey,
    expected: [u8; 32],
}

static PRODUCT: Place<Product> = Place::empty();
static ROOM: Place<Room<Motes>> = Place::empty();
static NODE: Place<Mix<Motes>> = Place::empty();
static FLIGHT: Place<Flight<Motes>> = Place::empty();
static FLIGHT5: Place<Flight<Motes5>> = Place::empty();
static PATH: Place<[PathHop; MAX_HOPS]> = Place::empty();

/// `Some` when all is well.
fn outcome(result: Option<()>) -> u32 {
    result.map_or(BAD, |()| verdict(true))
}

fn sure(held: bool) -> Option<()> {
    held.then_some(())
}

// X25519.

#[unsafe(no_mangle)]
extern "C" fn prepare_x25519() -> u32 {
    let (mine, theirs) = (world::secret(*b"mine", 0), world::secret(*b"them", 0));
    let point = BoardCurve::public_key(&theirs);
    let Some(expected) = BoardCurve::diffie_hellman(&theirs, &BoardCurve::public_key(&mine)) else {
        return BAD;
    };
    PRODUCT.put(Product { scalar: mine, point, expected: *expected.expose() });
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn bench_x25519() -> u32 {
    outcome(
        PRODUCT
            .with(|product| {
                let shared = BoardCurve::diffie_hellman(&product.scalar, &product.point)?;
                sure(*shared.expose() == product.expected)
            })
            .flatten(),
    )
}

#[unsafe(no_mangle)]
extern "C" fn prepare_x25519_base() -> u32 {
    let mut nine = PublicKey([0; 32]);
    nine.0[0] = 9;
    let scalar = world::secret(*b"mine", 0);
    let Some(expected) = BoardCurve::diffie_hellman(&scalar, &nine) else { return BAD };
    PRODUCT.put(Product { scalar, point: nine, expected: *expected.expose() });
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn bench_x25519_base() -> u32 {
    outcome(
        PRODUCT.with(|product| sure(BoardCurve::public_key(&product.scalar).0 == product.expected)).flatten(),
    )
}

// A mix.

fn start_node(receiver: Option<u16>) -> Option<()> {
    NODE.put(world::node(ROOM.keep(Room::new), receiver.map(world::id))?);
    Some(())
}

fn packet<P: Profile>(path: &[u16], there: usize) -> Option<Flight<P>> {
    let mut hops = [world::hop::<P::Curve>(ME); MAX_HOPS];
    for (hop, node) in hops.iter_mut().zip(path) {
        *hop = world::hop::<P::Curve>(*node);
    }
    Flight::depart(world::header::<P>(hops.get(..path.len())?, there)?)
}

/// The packet under way arrives.
fn arrive(node: &mut Mix<Motes>, flight: &mut Flight<Motes>) -> Option<()> {
    node.handle_datagram(NOW, LinkId(0), flight.packet.as_mut(), &mut NoJournal).ok()
}

/// The node has a packet ready: it is the one under way from now on.
fn leave(node: &mut Mix<Motes>, flight: &mut Flight<Motes>) -> Option<()> {
    flight.to = node.poll_transmit(NOW, &mut NoJournal, flight.packet.as_mut()).ok()??.to;
    Some(())
}

/// The packet under way comes back to its sender, acknowledged.
fn comes_back() -> u32 {
    outcome(
        NODE.with(|node| {
            FLIGHT.with(|flight| {
                leave(node, flight)?;
                sure(flight.travel(None)? == Arrival::Back)?;
                sure(flight.is_acknowledged())
            })
        })
        .flatten()
        .flatten(),
    )
}

#[unsafe(no_mangle)]
extern "C" fn prepare_forward() -> u32 {
    outcome(packet(&[ME, 1, PEER, 2, 3, 4], 3).and_then(|flight| {
        FLIGHT.put(flight);
        start_node(None)
    }))
}

/// A datagram arrives at a mix, which queues the packet for its delay.
#[unsafe(no_mangle)]
extern "C" fn bench_forward() -> u32 {
    outcome(NODE.with(|node| FLIGHT.with(|flight| arrive(node, flight))).flatten().flatten())
}

#[unsafe(no_mangle)]
extern "C" fn check_forward() -> u32 {
    comes_back()
}

fn forward_packet<P: Profile>(flight: &mut Flight<P>) -> Option<()> {
    let key = world::mix_key(ME);
    let parsed = Packet::<P>::parse(flight.packet.as_mut()).ok()?;
    let ((), authentic) = parsed.authenticate([((), &key)]).ok()?;
    let fresh = authentic.admit(&mut world::Forgetful).ok()?;
    let Hop::Forward(forward) = fresh.unwrap_layer().ok()? else { return None };
    flight.to = forward.next;
    Some(())
}

fn is_back<P: Profile>(flight: &mut Flight<P>) -> Option<()> {
    sure(flight.travel(None)? == Arrival::Back)?;
    sure(flight.is_acknowledged())
}

#[unsafe(no_mangle)]
extern "C" fn prepare_forward_packet() -> u32 {
    outcome(packet(&[ME, 1, PEER, 2, 3, 4], 3).map(|flight| FLIGHT.put(flight)))
}

/// The same without a node: only what is done to the packet.
#[unsafe(no_mangle)]
extern "C" fn bench_forward_packet() -> u32 {
    outcome(FLIGHT.with(forward_packet).flatten())
}

#[unsafe(no_mangle)]
extern "C" fn check_forward_packet() -> u32 {
    outcome(FLIGHT.with(is_back).flatten())
}

#[unsafe(no_mangle)]
extern "C" fn prepare_forward_packet5() -> u32 {
    outcome(packet(&[ME, 1, 2, 3, PEER, 4, 5, 6, 7, 8], 5).map(|flight| FLIGHT5.put(flight)))
}

/// The same with a packet of up to five hops each way.
#[unsafe(no_mangle)]
extern "C" fn bench_forward_packet5() -> u32 {
    outcome(FLIGHT5.with(forward_packet).flatten())
}

#[unsafe(no_mangle)]
extern "C" fn check_forward_packet5() -> u32 {
    outcome(FLIGHT5.with(is_back).flatten())
}

// A receiver.

#[unsafe(no_mangle)]
extern "C" fn prepare_receive() -> u32 {
    outcome(packet(&[1, 2, ME, 3, 4, PEER], 3).and_then(|mut flight| {
        sure(flight.travel(Some(world::id(ME)))? == Arrival::Stopped)?;
        FLIGHT.put(flight);
        start_node(None)
    }))
}

/// A message arrives, the application takes it and acknowledges.
#[unsafe(no_mangle)]
extern "C" fn bench_receive() -> u32 {
    outcome(
        NODE.with(|node| {
            FLIGHT.with(|flight| {
                arrive(node, flight)?;
                let Event::Received { token, data, .. } = node.poll_event()? else { return None };
                sure(data == READING)?;
                node.reply(NOW, token, &[]).ok()
            })
        })
        .flatten()
        .flatten(),
    )
}

#[unsafe(no_mangle)]
extern "C" fn check_receive() -> u32 {
    comes_back()
}

// A sender.

fn work_until_idle(node: &mut Mix<Motes>) {
    while node.work(NOW) {}
}

/// A flight whose packet is still to be written.
fn no_flight() -> Option<Flight<Motes>> {
    packet(&[1, 2, PEER], 2)
}

#[unsafe(no_mangle)]
extern "C" fn prepare_acknowledge() -> u32 {
    outcome(no_flight().and_then(|mut flight| {
        start_node(None)?;
        NODE.with(|node| {
            node.send(NOW, world::id(PEER), &READING).ok()?;
            work_until_idle(node);
            leave(node, &mut flight)
        })??;
        sure(flight.travel(Some(world::id(ME)))? == Arrival::Stopped)?;
        FLIGHT.put(flight);
        Some(())
    }))
}

/// The sender's own packet comes back.
#[unsafe(no_mangle)]
extern "C" fn bench_acknowledge() -> u32 {
    outcome(NODE.with(|node| FLIGHT.with(|flight| arrive(node, flight))).flatten().flatten())
}

#[unsafe(no_mangle)]
extern "C" fn check_acknowledge() -> u32 {
    outcome(
        NODE.with(|node| {
            let Event::Acknowledged { reply, tries, .. } = node.poll_event()? else { return None };
            sure(reply.is_empty() && tries == 1)
        })
        .flatten(),
    )
}

#[unsafe(no_mangle)]
extern "C" fn prepare_send_pooled() -> u32 {
    outcome(no_flight().and_then(|flight| {
        FLIGHT.put(flight);
        start_node(Some(PEER))?;
        NODE.with(work_until_idle)
    }))
}

/// A message leaves under a header that was made before.
#[unsafe(no_mangle)]
extern "C" fn bench_send_pooled() -> u32 {
    outcome(
        NODE.with(|node| {
            FLIGHT.with(|flight| {
                node.send(NOW, world::id(PEER), &READING).ok()?;
                leave(node, flight)
            })
        })
        .flatten()
        .flatten(),
    )
}

#[unsafe(no_mangle)]
extern "C" fn check_send_pooled() -> u32 {
    sent_is_acknowledged()
}

#[unsafe(no_mangle)]
extern "C" fn prepare_send_missed() -> u32 {
    outcome(no_flight().and_then(|flight| {
        FLIGHT.put(flight);
        start_node(None)
    }))
}

/// A message leaves as soon as its header is made.
#[unsafe(no_mangle)]
extern "C" fn bench_send_missed() -> u32 {
    outcome(
        NODE.with(|node| {
            FLIGHT.with(|flight| {
                node.send(NOW, world::id(PEER), &READING).ok()?;
                // Five hops more than one at most, then the packet is queued.
                for _ in 0..2 * MAX_HOPS {
                    node.work(NOW);
                    if leave(node, flight).is_some() {
                        return Some(());
                    }
                }
                None
            })
        })
        .flatten()
        .flatten(),
    )
}

#[unsafe(no_mangle)]
extern "C" fn check_send_missed() -> u32 {
    sent_is_acknowledged()
}

/// The packet that has left goes round, and the sender sees its acknowledgement.
fn sent_is_acknowledged() -> u32 {
    let back = FLIGHT
        .with(|flight| {
            sure(flight.travel(Some(world::id(ME)))? == Arrival::Stopped)?;
            NODE.with(|node| arrive(node, flight)).flatten()
        })
        .flatten();
    if back.is_none() { BAD } else { check_acknowledge() }
}

// A new packet: header and payload.

fn prepare_create() -> u32 {
    let mut path = [world::hop::<BoardCurve>(ME); MAX_HOPS];
    for (hop, node) in path.iter_mut().zip(1..) {
        *hop = world::hop::<BoardCurve>(node);
    }
    PATH.put(path);
    verdict(true)
}

fn create<P: Profile>(hops: usize) -> Option<Flight<P>> {
    PATH.with(|path| {
        let header: Header<P> = world::header(path.get(..hops)?, hops.div_ceil(2))?;
        Flight::depart(header)
    })
    .flatten()
}

macro_rules! creations {
    ($($hops:literal $profile:ty, $flight:ident, $prepare:ident $bench:ident $check:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $prepare() -> u32 {
            prepare_create()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $bench() -> u32 {
            outcome(create::<$profile>($hops).map(|flight| $flight.put(flight)))
        }

        #[unsafe(no_mangle)]
        extern "C" fn $check() -> u32 {
            outcome($flight.with(is_back).flatten())
        }
    )*};
}

creations! {
    6 Motes, FLIGHT, prepare_create6 bench_create6 check_create6;
    7 Motes5, FLIGHT5, prepare_create7 bench_create7 check_create7;
    8 Motes5, FLIGHT5, prepare_create8 bench_create8 check_create8;
    9 Motes5, FLIGHT5, prepare_create9 bench_create9 check_create9;
    10 Motes5, FLIGHT5, prepare_create10 bench_create10 check_create10;
}
