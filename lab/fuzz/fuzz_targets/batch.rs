//! Headers made side by side are those made alone. Packets processed as a batch are processed as
//! each alone would be: it says the same of each, and leaves the same bytes, whatever the others
//! are.
#![cfg_attr(fuzzing, no_main)]

use std::collections::HashSet;

use arbitrary::Arbitrary;
use motemix_crypto::PublicKey;
use motemix_fuzz::{AnyProfile, Damage, ForProfile, Kind, Seen, fuzz_target, mix_key, node, seed};
use motemix_sphinx::{
    AuthenticBatch, BATCH, Batch, HeaderBuilder, HeaderId, Hop, MessageId, MixKey, Origin, Packet, PathError,
    PathHop, ProcessError, Profile, ReplayError, TurnKey,
};

/// More than two batches.
const MOST_PACKETS: usize = 2 * BATCH + 3;
/// The node's mix keys. A third one is not its.
const KEYS: [u16; 2] = [0, 1];
const ID: MessageId = MessageId([0x6d, 0x6f, 0x74, 0x65]);

#[derive(Arbitrary, Debug)]
struct Input {
    profile: AnyProfile,
    packets: Vec<Described>,
}

#[derive(Arbitrary, Debug)]
struct Described {
    kind: Kind,
    /// The key that the packet is for.
    key: u8,
    hops: u8,
    seed: u8,
    /// A hop whose mix key has small order.
    broken: Option<u8>,
    /// The node made the header itself, and waits for it.
    own: bool,
    change: Change,
}

#[derive(Arbitrary, Debug)]
enum Change {
    None,
    Damaged(Damage),
    SmallOrder,
    OtherLength(u8),
    /// Another of them takes its place.
    Repeated(u8),
}

/// All that is said of a packet, with its bytes afterwards where they mean something.
#[derive(Debug, PartialEq)]
enum Outcome {
    Refused(ProcessError),
    Unadmitted(u16, ReplayError),
    Own(u16, String),
    Hop(u16, String, Vec<u8>),
    Unwrapped(u16, ProcessError),
}

fuzz_target!(|input: Input| input.profile.with(input));

impl ForProfile for Input {
    fn run<P: Profile>(self) {
        let described = &self.packets[..self.packets.len().min(MOST_PACKETS)];
        let mut own = HashSet::new();
        let packets = made::<P>(described, &mut own);
        let arriving: Vec<_> =
            described.iter().enumerate().map(|(number, of)| of.change.apply(number, &packets)).collect();

        let keys = KEYS.map(|key| (key, mix_key(key)));
        let (mut seen_alone, mut seen_together) = (Seen::default(), Seen::default());
        let mut batch = Batch::<P, _, _>::new();
        for datagrams in arriving.chunks(BATCH) {
            let alone: Vec<_> =
                datagrams.iter().map(|bytes| alone::<P>(bytes, &keys, &own, &mut seen_alone)).collect();
            let together = together(&mut batch, datagrams, &keys, &own, &mut seen_together);
            assert_eq!(together, alone);
            assert!(batch.is_empty());
        }
    }
}

impl Described {
    fn path(&self, most: usize) -> Vec<PathHop> {
        let hops = 1 + usize::from(self.hops) % most;
        let first = u16::from(self.key) % 3;
        let mut path: Vec<_> = std::iter::once(first).chain(3..).take(hops).map(node).collect();
        if let Some(broken) = self.broken {
            path[usize::from(broken) % hops].mix_key = PublicKey([0; 32]);
        }
        path
    }

    fn builder<P: Profile>(&self) -> Option<HeaderBuilder<P>> {
        let path = self.path(P::GEOMETRY.hops());
        let shape = self.kind.shape_within(path.len());
        HeaderBuilder::new(&path, shape, seed(self.seed.into())).ok()
    }
}

impl Change {
    fn apply(&self, number: usize, packets: &[Vec<u8>]) -> Vec<u8> {
        let mut packet = packets[number].clone();
        match self {
            Self::None => {}
            Self::Damaged(damage) => drop(damage.apply(&mut packet)),
            Self::SmallOrder => packet[..32].fill(0),
            Self::OtherLength(len) => packet.resize(usize::from(*len), 0),
            Self::Repeated(which) => packet.clone_from(&packets[usize::from(*which) % packets.len()]),
        }
        packet
    }
}

/// The packets, made side by side and alone. Where there can be none, it is junk.
fn made<P: Profile>(described: &[Described], own: &mut HashSet<HeaderId>) -> Vec<Vec<u8>> {
    let junk = || vec![0x33; P::GEOMETRY.packet_len()];
    let mut packets: Vec<_> = described.iter().map(|_| junk()).collect();
    let (mut numbers, mut builders) = (Vec::new(), Vec::new());
    for (number, of) in described.iter().enumerate() {
        if let Some(builder) = of.builder::<P>() {
            numbers.push(number);
            builders.push(builder);
        }
    }
    let mut ends = vec![Ok(false); builders.len()];
    while HeaderBuilder::step_batch(&mut builders, |at, outcome| ends[at] = outcome) > 0 {}
    for ((number, builder), end) in numbers.into_iter().zip(builders).zip(ends) {
        let of = &described[number];
        let alone = sealed::<P>(|| of.builder::<P>().expect("as before").build(), of, own);
        let together = sealed::<P>(
            || end.map(|done| builder.finish().filter(|_| done).expect("all steps are done")),
            of,
            own,
        );
        assert_eq!(together, alone);
        if let Ok(packet) = alone {
            packets[number] = packet;
        }
    }
    packets
}

fn sealed<P: Profile>(
    make: impl FnOnce() -> Result<motemix_sphinx::Header<P>, PathError>,
    of: &Described,
    own: &mut HashSet<HeaderId>,
) -> Result<Vec<u8>, PathError> {
    let header = make()?;
    let mut packet = P::packet();
    let departure = match of.kind {
        Kind::Drop | Kind::Loop => header.cover(packet.as_mut(), |payload| payload.fill(of.seed)),
        _ => header.seal(ID, b"21.5 degrees", packet.as_mut()).expect("it fits"),
    };
    if of.own {
        own.insert(departure.header_id);
    }
    Ok(packet.as_ref().to_vec())
}

fn alone<P: Profile>(
    datagram: &[u8],
    keys: &[(u16, MixKey)],
    own: &HashSet<HeaderId>,
    seen: &mut Seen,
) -> Outcome {
    let mut bytes = datagram.to_vec();
    let candidates = keys.iter().map(|(which, key)| (*which, key));
    let authentic = Packet::<P>::parse(&mut bytes).and_then(|packet| packet.authenticate(candidates));
    let (key, authentic) = match authentic {
        Ok(authentic) => authentic,
        Err(error) => return Outcome::Refused(error),
    };
    let authentic = match authentic.own_return(|id| own.contains(id)) {
        Origin::Own(yours) => return Outcome::Own(key, format!("{yours:?}")),
        Origin::Other(authentic) => authentic,
    };
    let fresh = match authentic.admit(seen) {
        Ok(fresh) => fresh,
        Err(error) => return Outcome::Unadmitted(key, error),
    };
    match fresh.unwrap_layer().map(told) {
        Ok((told, turn_key)) => Outcome::Hop(key, told, after::<P>(&mut bytes, turn_key)),
        Err(error) => Outcome::Unwrapped(key, error),
    }
}

fn together<P: Profile>(
    batch: &mut Batch<P, usize, u16>,
    datagrams: &[Vec<u8>],
    keys: &[(u16, MixKey)],
    own: &HashSet<HeaderId>,
    seen: &mut Seen,
) -> Vec<Outcome> {
    let mut outcomes: Vec<_> = datagrams.iter().map(|_| None).collect();
    let mut admitted = vec![None; datagrams.len()];
    for (number, datagram) in datagrams.iter().enumerate() {
        outcomes[number] = batch.push(number, datagram).err().map(Outcome::Refused);
    }
    let candidates = keys.iter().map(|(which, key)| (*which, key));
    let fresh = AuthenticBatch::authenticate(&mut *batch, candidates).admit(|number, packet| {
        assert!(outcomes[*number].is_none(), "it is asked once");
        let (key, mut packet) = match packet {
            Ok(packet) => packet,
            Err(error) => return outcomes[*number] = Some(Outcome::Refused(error)),
        };
        if let Some(yours) = packet.own_return(|id| own.contains(id)) {
            outcomes[*number] = Some(Outcome::Own(key, format!("{yours:?}")));
            return;
        }
        match packet.admit(seen) {
            Ok(()) => admitted[*number] = Some(key),
            Err(error) => outcomes[*number] = Some(Outcome::Unadmitted(key, error)),
        }
    });
    fresh.unwrap_layers().take_each(|number, mut packet| {
        let key = admitted[*number].take().expect("it was admitted, and is taken once");
        let told = packet.hop().map(told);
        outcomes[*number] = Some(match told {
            Ok((told, turn_key)) => Outcome::Hop(key, told, after::<P>(packet.into_bytes(), turn_key)),
            Err(error) => Outcome::Unwrapped(key, error),
        });
    });
    outcomes.into_iter().map(|outcome| outcome.expect("something is said of each")).collect()
}

/// A key says nothing of itself, so it says it in a reply.
fn told(hop: Hop<'_>) -> (String, Option<TurnKey>) {
    match hop {
        Hop::TurnRound(turn) => (format!("{:?} {:?}", turn.forward, turn.message), Some(turn.turn_key)),
        other => (format!("{other:?}"), None),
    }
}

fn after<P: Profile>(bytes: &mut [u8], turn_key: Option<TurnKey>) -> Vec<u8> {
    if let Some(turn_key) = turn_key {
        turn_key.reply::<P>(bytes, ID, b"thanks").expect("it fits");
    }
    bytes.to_vec()
}
