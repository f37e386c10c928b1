//! A batch says of each packet what is said of it alone, and leaves the same bytes behind.

use std::cell::Cell;
use std::collections::HashSet;

use motemix_crypto::{AsReceived, Curve, Pair, Portable, PublicKey, Secret, SharedSecret, hash, stream};
use motemix_sphinx::{
    AuthenticBatch, BATCH, Batch, HeaderBuilder, HeaderId, Hop, Host1k, MessageId, MixKey, Mote, NodeId,
    Origin, Packet, PathHop, ProcessError, Profile, ReplayError, ReplayFilter, ReplayTag, Shape,
};
use proptest::prelude::*;

#[derive(Default)]
struct Seen(HashSet<ReplayTag>);

impl ReplayFilter for Seen {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        if self.0.insert(*tag) { Ok(()) } else { Err(ReplayError::Replayed) }
    }
}

/// A node has two of them at an epoch's boundary.
fn mix_key(epoch: u8) -> MixKey {
    MixKey::new(hash::blake2s_256(b"mix key", &[epoch]))
}

fn hop(epoch: u8, id: u16) -> PathHop {
    PathHop { id: NodeId::new(id).expect("a small id"), mix_key: mix_key(epoch).public_key::<Portable>() }
}

/// What may be in a datagram.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Forward,
    TurnRound,
    /// Turned round although its payload was changed on the way.
    TurnRoundDamaged,
    Deliver,
    DeliverDamaged,
    Drop,
    /// Under a header of the node's own that is not under way.
    Stranger,
    /// Under a header of the node's own that is.
    Own,
    /// Of the other epoch.
    OtherEpoch,
    /// Of an epoch whose key the node does not have.
    UnknownEpoch,
    DamagedHeader,
    LowOrder,
    ReservedCommand,
    /// The datagram before, once more.
    Replay,
    TooLong,
    TooShort,
    Junk,
}

const KINDS: [Kind; 17] = [
    Kind::Forward,
    Kind::TurnRound,
    Kind::TurnRoundDamaged,
    Kind::Deliver,
    Kind::DeliverDamaged,
    Kind::Drop,
    Kind::Stranger,
    Kind::Own,
    Kind::OtherEpoch,
    Kind::UnknownEpoch,
    Kind::DamagedHeader,
    Kind::LowOrder,
    Kind::ReservedCommand,
    Kind::Replay,
    Kind::TooLong,
    Kind::TooShort,
    Kind::Junk,
];

/// Header ids of this byte are under way.
fn is_under_way(own: &HashSet<HeaderId>) -> impl Fn(&HeaderId) -> bool + '_ {
    |id| own.contains(id)
}

fn datagram<P: Profile>(kind: Kind, seed: u64, own: &mut HashSet<HeaderId>, before: &[u8]) -> Vec<u8> {
    let epoch = match kind {
        Kind::OtherEpoch => 2,
        Kind::UnknownEpoch => 3,
        _ => 1,
    };
    let (two, one) = ([hop(epoch, 7), hop(epoch, 8)], [hop(epoch, 7)]);
    let (path, shape): (&[PathHop], _) = match kind {
        Kind::TurnRound | Kind::TurnRoundDamaged => (&two, Shape::RoundTrip { receiver: 0 }),
        Kind::Deliver | Kind::DeliverDamaged | Kind::ReservedCommand => (&one, Shape::OneWay),
        Kind::Drop => (&one, Shape::Drop),
        Kind::Stranger | Kind::Own => (&one, Shape::Loop),
        _ => (&two, Shape::OneWay),
    };
    let seed = hash::blake2s_256(b"seed", &seed.to_be_bytes());
    let header =
        HeaderBuilder::<P>::new(path, shape, seed).expect("a sound path").build().expect("sound keys");
    let mut packet = P::packet();
    if matches!(kind, Kind::Drop | Kind::Stranger | Kind::Own) {
        let departure = header.cover(packet.as_mut(), |payload| payload.fill(0x5a));
        if matches!(kind, Kind::Own) {
            own.insert(departure.header_id);
        }
    } else {
        header.seal(MessageId([1, 2, 3, 4]), b"21.5 degrees", packet.as_mut()).expect("it fits");
    }
    let mut packet = packet.as_ref().to_vec();
    match kind {
        Kind::TurnRoundDamaged | Kind::DeliverDamaged => *packet.last_mut().expect("it is long") ^= 1,
        Kind::DamagedHeader => packet[40] ^= 4,
        Kind::LowOrder => packet[..32].fill(0),
        Kind::ReservedCommand => reserve::<P>(&mut packet),
        Kind::Replay => before.clone_into(&mut packet),
        Kind::TooLong => packet.push(0),
        Kind::TooShort => drop(packet.pop()),
        Kind::Junk => packet.fill(0x33),
        _ => {}
    }
    packet
}

/// Gives a message's command an argument that is reserved, as only its sender could: under the
/// hop's keys (`docs/spec/packet.md`).
fn reserve<P: Profile>(packet: &mut [u8]) {
    let point = PublicKey(*packet.first_chunk().expect("it begins with its group element"));
    let secret = hash::blake2s_256(b"mix key", &[1]);
    let shared = Portable::diffie_hellman(&secret, &point).expect("a sound point");
    let hop_key = hash::blake2s_256(shared.expose(), b"motemix/1 hop");
    let mut keys = [0; 128];
    stream::fill(hop_key.expose(), b"motemix/keys", &mut keys);
    let (routing_info, rest) = packet[32..].split_at_mut(P::GEOMETRY.routing_info_len());
    // Terminal, with the argument 0, becomes terminal with 2.
    routing_info[1] ^= 2;
    let mac = hash::blake2s_128(keys.first_chunk::<32>().expect("of the MAC"), routing_info);
    rest[..16].copy_from_slice(mac.expose());
}

/// All that is said of a packet, and its bytes afterwards where they mean something.
#[derive(Debug, PartialEq)]
enum Outcome {
    Refused(ProcessError),
    Unadmitted(ReplayError),
    Own(String),
    Hop(u8, String, Vec<u8>),
    Unwrapped(u8, ProcessError),
}

/// `TurnKey` says nothing of itself, so it says it in a reply.
fn told(hop: Hop<'_>) -> (String, Option<motemix_sphinx::TurnKey>) {
    match hop {
        Hop::TurnRound(turn) => (format!("{:?} {:?}", turn.forward, turn.message), Some(turn.turn_key)),
        other => (format!("{other:?}"), None),
    }
}

fn after<P: Profile>(bytes: &mut [u8], turn_key: Option<motemix_sphinx::TurnKey>) -> Vec<u8> {
    if let Some(turn_key) = turn_key {
        turn_key.reply::<P>(bytes, MessageId([4; 4]), b"thanks").expect("it fits");
    }
    bytes.to_vec()
}

fn alone<P: Profile>(datagram: &[u8], own: &HashSet<HeaderId>, seen: &mut Seen) -> Outcome {
    let mut bytes = datagram.to_vec();
    let keys = [(1, mix_key(1)), (2, mix_key(2))];
    let candidates = keys.iter().map(|(epoch, key)| (*epoch, key));
    let authentic = Packet::<P>::parse(&mut bytes).and_then(|packet| packet.authenticate(candidates));
    let (epoch, authentic) = match authentic {
        Ok(authentic) => authentic,
        Err(error) => return Outcome::Refused(error),
    };
    let authentic = match authentic.own_return(is_under_way(own)) {
        Origin::Own(yours) => return Outcome::Own(format!("{yours:?}")),
        Origin::Other(authentic) => authentic,
    };
    let fresh = match authentic.admit(seen) {
        Ok(fresh) => fresh,
        Err(error) => return Outcome::Unadmitted(error),
    };
    match fresh.unwrap_layer().map(told) {
        Ok((told, turn_key)) => Outcome::Hop(epoch, told, after::<P>(&mut bytes, turn_key)),
        Err(error) => Outcome::Unwrapped(epoch, error),
    }
}

fn together<P: Profile>(
    batch: &mut Batch<P, usize, u8>,
    datagrams: &[Vec<u8>],
    own: &HashSet<HeaderId>,
    seen: &mut Seen,
) -> Vec<Outcome> {
    let mut outcomes: Vec<_> = datagrams.iter().map(|_| None).collect();
    for (number, datagram) in datagrams.iter().enumerate() {
        if let Err(error) = batch.push(number, datagram) {
            outcomes[number] = Some(Outcome::Refused(error));
        }
    }
    let keys = [(1, mix_key(1)), (2, mix_key(2))];
    let authentic = AuthenticBatch::authenticate(batch, keys.iter().map(|(epoch, key)| (*epoch, key)));
    let mut epochs = vec![0; datagrams.len()];
    let fresh = authentic.admit(|number, packet| {
        let (epoch, mut packet) = match packet {
            Ok(packet) => packet,
            Err(error) => {
                outcomes[*number] = Some(Outcome::Refused(error));
                return;
            }
        };
        epochs[*number] = epoch;
        if let Some(yours) = packet.own_return(is_under_way(own)) {
            outcomes[*number] = Some(Outcome::Own(format!("{yours:?}")));
        } else if let Err(error) = packet.admit(seen) {
            outcomes[*number] = Some(Outcome::Unadmitted(error));
        }
    });
    let batch = fresh.unwrap_layers().take_each(|number, mut packet| {
        let epoch = epochs[*number];
        let outcome = match packet.hop().map(told) {
            Ok((told, turn_key)) => Outcome::Hop(epoch, told, after::<P>(packet.into_bytes(), turn_key)),
            Err(error) => Outcome::Unwrapped(epoch, error),
        };
        assert_eq!(outcomes[*number].replace(outcome), None, "a packet is told once");
    });
    assert!(batch.is_empty());
    outcomes.into_iter().map(|outcome| outcome.expect("each packet is told")).collect()
}

/// Two batches one after the other in one memory, with one filter.
fn the_same<P: Profile>(kinds: &[Kind], seed: u64) {
    let mut own = HashSet::new();
    let mut datagrams: Vec<Vec<u8>> = Vec::new();
    for (number, kind) in (0..).zip(kinds) {
        let before = datagrams.last().cloned().unwrap_or_else(|| vec![0; P::GEOMETRY.packet_len()]);
        datagrams.push(datagram::<P>(*kind, seed.wrapping_add(number), &mut own, &before));
    }
    let (mut batch, mut of_batch, mut of_singles) = (Batch::new(), Seen::default(), Seen::default());
    for datagrams in datagrams.chunks(BATCH) {
        let expected: Vec<_> =
            datagrams.iter().map(|datagram| alone::<P>(datagram, &own, &mut of_singles)).collect();
        assert_eq!(together::<P>(&mut batch, datagrams, &own, &mut of_batch), expected, "{kinds:?}");
    }
    assert_eq!(of_batch.0, of_singles.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_mixture_is_told_what_each_packet_is_told_alone(
        kinds in prop::collection::vec(prop::sample::select(&KINDS[..]), 0..2 * BATCH), seed: u64,
    ) {
        the_same::<Mote>(&kinds, seed);
    }
}

#[test]
fn every_kind_of_packet_is_told_the_same_beside_all_others() {
    the_same::<Mote>(&KINDS, 5);
    the_same::<Host1k>(&KINDS, 6);
    let replays = [Kind::Forward, Kind::Replay, Kind::Replay, Kind::Drop, Kind::Replay];
    the_same::<Host1k>(&replays, 7);
}

/// What the test above compares is what it says.
#[test]
fn the_kinds_end_as_they_are_called() {
    let (mut own, mut seen) = (HashSet::new(), Seen::default());
    let mut end = |kind, seed| {
        let datagram = datagram::<Mote>(kind, seed, &mut own, &[]);
        alone::<Mote>(&datagram, &own, &mut seen)
    };
    assert!(matches!(end(Kind::Forward, 1), Outcome::Hop(1, told, _) if told.starts_with("Forward")));
    assert!(matches!(end(Kind::OtherEpoch, 1), Outcome::Hop(2, ..)));
    assert_eq!(end(Kind::UnknownEpoch, 2), Outcome::Refused(ProcessError::BadHeaderMac));
    assert_eq!(end(Kind::LowOrder, 3), Outcome::Refused(ProcessError::NonContributory));
    assert_eq!(end(Kind::ReservedCommand, 4), Outcome::Unwrapped(1, ProcessError::UnknownCommand));
    assert_eq!(end(Kind::DeliverDamaged, 5), Outcome::Unwrapped(1, ProcessError::BadPayload));
    assert!(matches!(end(Kind::TurnRoundDamaged, 6), Outcome::Hop(1, told, _) if told.ends_with("None")));
    assert!(matches!(end(Kind::TurnRound, 7), Outcome::Hop(1, told, _) if told.contains("Message")));
    assert!(matches!(end(Kind::Own, 8), Outcome::Own(_)));
    assert!(matches!(end(Kind::Stranger, 9), Outcome::Hop(1, told, _) if told.starts_with("Yours")));
    assert_eq!(end(Kind::Forward, 1), Outcome::Unadmitted(ReplayError::Replayed));
}

thread_local! {
    static MULTIPLIED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Counts multiplications of batches, and refuses others.
enum InBatches {}

impl Curve for InBatches {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        Portable::public_key(secret)
    }

    fn diffie_hellman(_: &Secret<32>, _: &PublicKey) -> Option<SharedSecret> {
        panic!("a multiplication by itself")
    }

    fn diffie_hellman_batch(pairs: &[Pair<'_>], shared: &mut [Option<SharedSecret>]) {
        let (calls, products) = MULTIPLIED.get();
        MULTIPLIED.set((calls + 1, products + pairs.len()));
        Portable::diffie_hellman_batch(pairs, shared);
    }
}

#[test]
fn multiplications_are_done_together_and_the_second_key_is_tried_where_the_first_does_not_fit() {
    let mut own = HashSet::new();
    let kinds = [Kind::Forward, Kind::OtherEpoch, Kind::Forward, Kind::UnknownEpoch, Kind::Deliver];
    let mut batch = Batch::<Mote<InBatches>, (), u8>::new();
    for (seed, kind) in (0..).zip(kinds) {
        batch.push((), &datagram::<Mote>(kind, seed, &mut own, &[])).expect("the right length");
    }
    let keys = [(1, mix_key(1)), (2, mix_key(2))];
    let authentic = AuthenticBatch::authenticate(&mut batch, keys.iter().map(|(epoch, key)| (*epoch, key)));
    assert_eq!(MULTIPLIED.get(), (2, 5 + 2));
    let mut seen = Seen::default();
    let fresh = authentic.admit(|(), packet| {
        let _ = packet.map(|(_, packet)| packet.admit(&mut seen));
    });
    let mut hops = 0;
    fresh.unwrap_layers().take_each(|(), _| hops += 1);
    assert_eq!((MULTIPLIED.get(), hops), ((3, 5 + 2 + 3), 4), "two forwarded, one of the other epoch");
}

#[test]
fn what_was_not_admitted_is_not_unwrapped() {
    let mut own = HashSet::new();
    let mut batch = Batch::<Mote, (), u8>::new();
    batch.push((), &datagram::<Mote>(Kind::Forward, 1, &mut own, &[])).expect("the right length");
    let key = mix_key(1);
    let fresh = AuthenticBatch::authenticate(&mut batch, [(1, &key)]).admit(|(), packet| {
        assert!(packet.is_ok());
    });
    fresh.unwrap_layers().take_each(|(), _| panic!("nobody admitted it"));
}
