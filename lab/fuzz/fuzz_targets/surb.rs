//! A SURB is given away, with a byte changed or not, and a reply is sent with it. SURBs made side
//! by side are those made alone.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use motemix_crypto::PublicKey;
use motemix_fuzz::{
    AnyProfile, Damage, ForProfile, Seen, fuzz_target, is_header_refusal, path, process, seed,
};
use motemix_sphinx::{BATCH, Hop, MessageId, NodeId, PathHop, Profile, Surb, SurbBuilder, SurbKeys};

#[derive(Arbitrary, Debug)]
struct Input {
    profile: AnyProfile,
    hops: u8,
    seed: u64,
    damage: Option<Damage>,
    data: Vec<u8>,
    raw: Vec<u8>,
    others: Vec<Other>,
}

/// Another SURB that is made beside it.
#[derive(Arbitrary, Debug)]
struct Other {
    hops: u8,
    seed: u64,
    /// A hop whose mix key has small order.
    broken: Option<u8>,
}

fuzz_target!(|input: Input| input.profile.with(input));

const ID: MessageId = MessageId([0x6d, 0x6f, 0x74, 0x65]);
const FIRST_NODE_LEN: usize = 2;
/// The longest SURB of a profile is shorter.
const ROOM: usize = 256;

impl ForProfile for Input {
    fn run<P: Profile>(self) {
        refuse_raw::<P>(&self.raw);
        make_side_by_side::<P>(&self.others);
        let path = path(1 + usize::from(self.hops) % P::GEOMETRY.hops());
        let mut encoded = [0; ROOM];
        let (keys, len) = Surb::<P>::create(&path, seed(self.seed), &mut encoded).expect("the path is sound");
        assert_eq!(len, Surb::<P>::encoded_len(path.len()));
        let encoded = &mut encoded[..len];
        let damaged = self.damage.map(|damage| damage.apply(encoded));

        let Some(surb) = Surb::<P>::parse(encoded) else {
            assert!(damaged.is_some(), "a sound SURB is not read");
            assert!(u16::from_be_bytes([encoded[0], encoded[1]]) >= NodeId::LIMIT);
            return;
        };
        let mut packet = P::packet();
        let fits = self.data.len() <= P::GEOMETRY.data_len();
        let replied = surb.reply(ID, &self.data, packet.as_mut());
        assert_eq!(replied.is_ok(), fits);
        let Ok(first) = replied else { return };
        if damaged.is_none() {
            assert_eq!(first, path[0].id);
        }
        if damaged.is_some_and(|at| at >= FIRST_NODE_LEN) {
            let outcome = process::<P, _>(packet.as_mut(), 0, &mut Seen::default(), |_| ());
            assert!(is_header_refusal(&outcome), "a changed SURB went through");
        } else {
            return_to_owner::<P>(packet.as_mut(), &path, &keys, &self.data);
        }
    }
}

impl Other {
    fn builder<P: Profile>(&self) -> SurbBuilder<P> {
        let mut path = path(1 + usize::from(self.hops) % P::GEOMETRY.hops());
        if let Some(broken) = self.broken {
            let broken = usize::from(broken) % path.len();
            path[broken].mix_key = PublicKey([0; 32]);
        }
        SurbBuilder::new(&path, seed(self.seed)).expect("the path has a length that there is")
    }
}

/// A path with a broken key harms no other.
fn make_side_by_side<P: Profile>(others: &[Other]) {
    let others = &others[..others.len().min(2 * BATCH + 3)];
    let mut builders: Vec<_> = others.iter().map(Other::builder::<P>).collect();
    let mut ends = vec![Ok(false); builders.len()];
    while SurbBuilder::step_batch(&mut builders, |at, outcome| ends[at] = outcome) > 0 {}
    for ((other, together), end) in others.iter().zip(builders).zip(ends) {
        let mut alone = other.builder::<P>();
        let end_alone = loop {
            match alone.step() {
                Ok(false) => {}
                end => break end,
            }
        };
        assert_eq!(end, end_alone);
        assert_eq!(written(together), written(alone));
    }
}

/// What is given away, and the name that the owner waits for.
fn written<P: Profile>(builder: SurbBuilder<P>) -> Option<(Vec<u8>, String)> {
    let mut encoded = [0; ROOM];
    let (keys, len) = builder.finish(&mut encoded)?;
    Some((encoded[..len].to_vec(), format!("{:?}", keys.header_id())))
}

/// Bytes that nobody made: what can be read can be replied with, and the reply goes nowhere.
fn refuse_raw<P: Profile>(raw: &[u8]) {
    let Some(surb) = Surb::<P>::parse(raw) else { return };
    let mut packet = P::packet();
    surb.reply(ID, b"reply", packet.as_mut()).expect("it fits");
    assert!(is_header_refusal(&process::<P, _>(packet.as_mut(), 0, &mut Seen::default(), |_| ())));
}

fn return_to_owner<P: Profile>(packet: &mut [u8], path: &[PathHop], keys: &SurbKeys<P>, data: &[u8]) {
    for hop in 0..path.len() {
        process::<P, _>(packet, hop, &mut Seen::default(), |done| match done {
            Hop::Forward(forward) => assert_eq!(forward.next, path[hop + 1].id),
            Hop::Yours(yours) => {
                assert_eq!(hop, path.len() - 1);
                assert_eq!(yours.header_id, keys.header_id());
                let message = keys.open(yours.payload).expect("nobody changed it");
                assert_eq!((message.id, message.data), (ID, data));
            }
            other => panic!("a SURB led to {other:?}"),
        })
        .expect("the packet is sound");
    }
}
