//! Properties that hold for every path, message and damage.

use std::collections::HashSet;

use motemix_crypto::{Portable, Secret, hash};
use motemix_sphinx::{
    Departure, Header, HeaderBuilder, Hop, Host1k, Message, MessageId, MixKey, Mote, Mote5, NodeId, Packet,
    PathHop, ProcessError, Profile, ReplayError, ReplayFilter, ReplayTag, Shape, Surb,
};
use proptest::prelude::*;

#[derive(Default)]
struct Seen(HashSet<ReplayTag>);

impl ReplayFilter for Seen {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        if self.0.insert(*tag) { Ok(()) } else { Err(ReplayError::Replayed) }
    }
}

/// Node n of the test network.
fn node(n: u16) -> (MixKey, PathHop) {
    let key = MixKey::new(hash::blake2s_256(b"node", &n.to_be_bytes()));
    let mix_key = key.public_key::<Portable>();
    (key, PathHop { id: NodeId::new(n).expect("a small id"), mix_key })
}

fn path(hops: usize, start: u16) -> Vec<PathHop> {
    (0..hops as u16).map(|n| node(start + n).1).collect()
}

fn header<P: Profile>(path: &[PathHop], shape: Shape, seed: u64) -> Header<P> {
    let seed = hash::blake2s_256(b"seed", &seed.to_be_bytes());
    HeaderBuilder::new(path, shape, seed).expect("a sound path").build().expect("sound keys")
}

/// Processes `packet` at node `at` as if it had never been seen, and returns what `with` makes of
/// it.
fn process<P: Profile, T>(
    packet: &mut [u8],
    at: NodeId,
    with: impl FnOnce(Hop<'_>) -> T,
) -> Result<T, ProcessError> {
    let (key, _) = node(at.get());
    let ((), authenticated) = Packet::<P>::parse(packet)?.authenticate([((), &key)])?;
    let fresh = authenticated.admit(&mut Seen::default()).map_err(|_| ProcessError::BadHeaderMac)?;
    Ok(with(fresh.unwrap_layer()?))
}

fn forward_to<P: Profile>(packet: &mut [u8], at: NodeId) -> NodeId {
    process::<P, _>(packet, at, |hop| match hop {
        Hop::Forward(forward) => forward.next,
        other => panic!("expected to forward, got {other:?}"),
    })
    .expect("the packet is sound")
}

fn round_trip<P: Profile>(there: usize, back: usize, data: &[u8], reply: &[u8], seed: u64) {
    let path = path(there + back, 100);
    let mut packet = P::packet();
    let packet = packet.as_mut();
    let id = MessageId([1, 2, 3, 4]);
    let header = header::<P>(&path, Shape::RoundTrip { receiver: there - 1 }, seed);
    let delay = header.delay();
    let Departure { first, header_id, return_keys } = header.seal(id, data, packet).expect("it fits");
    assert_eq!(first, path[0].id);

    let mut waited = motemix_sphinx::HopDelay::default();
    for (hop, pair) in path.windows(2).enumerate() {
        let (forward, turn_key) = process::<P, _>(packet, pair[0].id, |hop| match hop {
            Hop::Forward(forward) => (forward, None),
            Hop::TurnRound(turn) => {
                assert_eq!(turn.message, Some(Message { id, data }));
                (turn.forward, Some(turn.turn_key))
            }
            other => panic!("unexpected {other:?}"),
        })
        .expect("sound");
        assert_eq!(turn_key.is_some(), hop == there - 1, "the receiver and nobody else turns it round");
        if let Some(turn_key) = turn_key {
            turn_key.reply::<P>(packet, id, reply).expect("it fits");
        }
        assert_eq!(forward.next, pair[1].id);
        waited = waited.plus(forward.delay);
    }
    assert_eq!(waited, delay, "the sender knew how long it would take");
    process::<P, _>(packet, path[there + back - 1].id, |hop| {
        let Hop::Yours(yours) = hop else { panic!("expected yours, got {hop:?}") };
        assert_eq!(yours.header_id, header_id);
        let keys = return_keys.expect("a round trip has return keys");
        assert_eq!(keys.open(yours.payload), Some(Message { id, data: reply }));
    })
    .expect("sound");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_mote_path_there_and_back_unwraps(
        there in 1_usize..=3, back in 1_usize..=3, seed: u64,
        data in prop::collection::vec(any::<u8>(), 0..=103),
        reply in prop::collection::vec(any::<u8>(), 0..=103),
    ) {
        round_trip::<Mote>(there, back, &data, &reply, seed);
    }

    #[test]
    fn any_longer_path_there_and_back_unwraps(
        there in 1_usize..=5, back in 1_usize..=5, seed: u64,
        data in prop::collection::vec(any::<u8>(), 0..=127),
    ) {
        round_trip::<Mote5>(there, back, &data, &[], seed);
        round_trip::<Host1k>(there, back, &data, &data, seed);
    }

    #[test]
    fn any_surb_brings_one_reply_to_its_owner(
        hops in 1_usize..=6, seed: u64, data in prop::collection::vec(any::<u8>(), 0..=103),
    ) {
        let path = path(hops, 300);
        let mut encoded = [0; 200];
        let seed = hash::blake2s_256(b"surb", &seed.to_be_bytes());
        let (keys, len) = Surb::<Mote>::create(&path, seed, &mut encoded).expect("a sound path");
        prop_assert_eq!(len, Surb::<Mote>::encoded_len(hops));

        let surb = Surb::<Mote>::parse(&encoded[..len]).expect("what was made can be read");
        let mut packet = Mote::<Portable>::packet();
        let first = surb.reply(MessageId([9; 4]), &data, &mut packet).expect("it fits");
        prop_assert_eq!(first, path[0].id);
        for pair in path.windows(2) {
            prop_assert_eq!(forward_to::<Mote>(&mut packet, pair[0].id), pair[1].id);
        }
        process::<Mote, _>(&mut packet, path[hops - 1].id, |hop| {
            let Hop::Yours(yours) = hop else { panic!("expected yours, got {hop:?}") };
            assert_eq!(yours.header_id, keys.header_id());
            assert_eq!(keys.open(yours.payload).map(|message| message.data), Some(data.as_slice()));
        }).expect("sound");
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let (key, _) = node(1);
        if let Ok(packet) = Packet::<Mote>::parse(&mut bytes) {
            prop_assert!(packet.authenticate([((), &key)]).is_err());
        }
        let _ = Surb::<Mote>::parse(&bytes);
    }
}

/// X25519 ignores the top bit of a u-coordinate (RFC 7748 §5).
const TOP_BIT_OF_GROUP_ELEMENT: usize = 255;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_flipped_bit_is_refused(hops in 1_usize..=3, bit in 0_usize..280 * 8, seed: u64) {
        prop_assume!(bit != TOP_BIT_OF_GROUP_ELEMENT);
        let path = path(hops, 7);
        let mut packet = Mote::<Portable>::packet();
        header::<Mote>(&path, Shape::OneWay, seed).seal(MessageId([0; 4]), b"reading", &mut packet)
            .expect("it fits");
        packet[bit / 8] ^= 1 << (bit % 8);

        // A flip in the header is seen at once, one in the payload by the receiver.
        let refused = path.iter().find_map(|hop| process::<Mote, _>(&mut packet, hop.id, |_| ()).err());
        let expected =
            if bit < 156 * 8 { ProcessError::BadHeaderMac } else { ProcessError::BadPayload };
        prop_assert_eq!(refused, Some(expected));
    }
}

fn admit(packet: &[u8; 280], at: u16, seen: &mut Seen) -> Result<(), ReplayError> {
    let mut copy = *packet;
    let (key, _) = node(at);
    let packet = Packet::<Mote>::parse(&mut copy).expect("the right length");
    let ((), authenticated) = packet.authenticate([((), &key)]).expect("authentic");
    authenticated.admit(seen).map(drop)
}

#[test]
fn a_replay_is_refused_however_its_group_element_is_written() {
    let mut packet = Mote::<Portable>::packet();
    header::<Mote>(&path(1, 5), Shape::OneWay, 1)
        .seal(MessageId([0; 4]), b"once", &mut packet)
        .expect("it fits");
    let mut seen = Seen::default();
    assert_eq!(admit(&packet, 5, &mut seen), Ok(()));
    assert_eq!(admit(&packet, 5, &mut seen), Err(ReplayError::Replayed));
    packet[TOP_BIT_OF_GROUP_ELEMENT / 8] ^= 0x80;
    assert_eq!(admit(&packet, 5, &mut seen), Err(ReplayError::Replayed));
}

#[test]
fn a_surb_of_three_hops_fills_a_mote_message_exactly() {
    assert_eq!(Surb::<Mote>::encoded_len(3), <Mote as Profile>::GEOMETRY.data_len());
}

#[test]
fn a_path_or_message_that_does_not_fit_is_refused() {
    let new = |hops, shape| HeaderBuilder::<Mote>::new(&path(hops, 1), shape, Secret::new([1; 32])).map(drop);
    assert!(new(0, Shape::OneWay).is_err());
    assert!(new(7, Shape::OneWay).is_err());
    assert!(new(6, Shape::RoundTrip { receiver: 5 }).is_err(), "the receiver is not the last hop");
    assert!(new(5, Shape::RoundTrip { receiver: 3 }).is_err(), "four hops there");
    assert!(new(5, Shape::RoundTrip { receiver: 0 }).is_err(), "four hops back");
    assert!(new(6, Shape::RoundTrip { receiver: 2 }).is_ok());
    let mut packet = Mote::<Portable>::packet();
    let header = header::<Mote>(&path(1, 5), Shape::OneWay, 1);
    assert!(header.seal(MessageId([0; 4]), &[0; 104], &mut packet).is_err());
}

#[test]
fn a_header_costs_one_multiplication_more_than_it_has_hops() {
    let mut builder = HeaderBuilder::<Mote>::new(&path(6, 1), Shape::Loop, Secret::new([3; 32])).unwrap();
    let mut steps = 1;
    while !builder.step().unwrap() {
        steps += 1;
    }
    assert_eq!(steps, 7);
}

#[test]
fn loop_and_drop_cover_reach_their_ends() {
    let path = path(3, 50);
    let mut packet = Mote::<Portable>::packet();
    let departure = header::<Mote>(&path, Shape::Loop, 4).cover(&mut packet, |payload| payload.fill(0x5a));
    forward_to::<Mote>(&mut packet, path[0].id);
    forward_to::<Mote>(&mut packet, path[1].id);
    let id = process::<Mote, _>(&mut packet, path[2].id, |hop| match hop {
        Hop::Yours(yours) => yours.header_id,
        other => panic!("expected yours, got {other:?}"),
    });
    assert_eq!(id, Ok(departure.header_id));

    header::<Mote>(&path[..1], Shape::Drop, 5).cover(&mut packet, |payload| payload.fill(0));
    assert_eq!(process::<Mote, _>(&mut packet, path[0].id, |hop| matches!(hop, Hop::Drop)), Ok(true));
}
