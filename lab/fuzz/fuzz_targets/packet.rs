//! A packet goes from hop to hop, with a byte changed on the way or not. A sound one arrives and is
//! opened; a changed one is refused by the first who can tell; a repeated one is refused
//! everywhere.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use motemix_fuzz::{
    AnyProfile, Damage, ForProfile, Kind, Refused, Seen, fuzz_target, is_header_refusal, path, process, seed,
};
use motemix_sphinx::{
    Departure, Header, HeaderBuilder, Hop, Message, MessageId, NodeId, Packet, PathHop, ProcessError,
    Profile, ReplayError, ReturnKeys, Shape, TurnKey,
};

#[derive(Arbitrary, Debug)]
struct Input {
    profile: AnyProfile,
    kind: Kind,
    hops: u8,
    seed: u64,
    damage: Option<Damage>,
    data: Vec<u8>,
    reply: Vec<u8>,
    raw: Vec<u8>,
}

fuzz_target!(|input: Input| input.profile.with(input));

const ID: MessageId = MessageId([0x6d, 0x6f, 0x74, 0x65]);

impl ForProfile for Input {
    fn run<P: Profile>(self) {
        refuse_raw::<P>(&self.raw);
        let hops = 1 + usize::from(self.hops) % P::GEOMETRY.hops();
        let path = path(hops);
        let shape = self.kind.shape_within(hops);
        let Ok(builder) = HeaderBuilder::<P>::new(&path, shape, seed(self.seed)) else { return };
        let header = builder.build().expect("no key of the path has small order");
        let mut packet = P::packet();
        let Some(departure) = self.depart(header, shape, packet.as_mut()) else { return };
        assert_eq!(departure.first, path[0].id);
        let journey = Journey {
            input: &self,
            shape,
            path: &path,
            return_keys: departure.return_keys,
            packet: packet.as_mut(),
        };
        journey.travel();
    }
}

/// Bytes that nobody sealed.
fn refuse_raw<P: Profile>(raw: &[u8]) {
    let mut seen = Seen::default();
    let mut exact = P::packet();
    for (to, from) in exact.as_mut().iter_mut().zip(raw) {
        *to = *from;
    }
    assert!(is_header_refusal(&process::<P, _>(exact.as_mut(), 0, &mut seen, |_| ())));
    let mut raw = raw.to_vec();
    let fits = raw.len() == P::GEOMETRY.packet_len();
    assert_eq!(Packet::<P>::parse(&mut raw).is_ok(), fits);
}

impl Input {
    /// `None` if the data does not fit.
    fn depart<P: Profile>(&self, header: Header<P>, shape: Shape, packet: &mut [u8]) -> Option<Departure<P>> {
        if let Shape::Loop | Shape::Drop = shape {
            return Some(header.cover(packet, |payload| payload.fill(self.seed as u8)));
        }
        let sealed = header.seal(ID, &self.data, packet).ok();
        assert_eq!(sealed.is_some(), self.data.len() <= P::GEOMETRY.data_len());
        sealed
    }
}

struct Journey<'a, P: Profile> {
    input: &'a Input,
    shape: Shape,
    path: &'a [PathHop],
    return_keys: Option<ReturnKeys<P>>,
    packet: &'a mut [u8],
}

/// What a hop did.
enum Did {
    Forward(NodeId),
    TurnRound(NodeId, TurnKey),
    End,
}

impl<P: Profile> Journey<'_, P> {
    fn travel(mut self) {
        let mut sound = true;
        for hop in 0..self.path.len() {
            let mut header_is_sound = true;
            if let Some(damage) = self.input.damage
                && usize::from(damage.hop) % self.path.len() == hop
            {
                header_is_sound = damage.apply(self.packet) >= P::GEOMETRY.header_len();
                sound = false;
            }
            let copy = self.packet.to_vec();
            let mut seen = Seen::default();
            let outcome = self.process(hop, sound, &mut seen);
            if !header_is_sound {
                assert!(is_header_refusal(&outcome), "a changed header went through");
                return;
            }
            let again = process::<P, _>(&mut copy.clone(), hop, &mut seen, |_| ());
            assert_eq!(again, Err(Refused::Replay(ReplayError::Replayed)));
            match outcome {
                Ok(Did::Forward(next)) => assert_eq!(next, self.path[hop + 1].id),
                Ok(Did::TurnRound(next, turn_key)) => {
                    assert_eq!(next, self.path[hop + 1].id);
                    assert_eq!(self.shape, Shape::RoundTrip { receiver: hop });
                    if !sound {
                        // A packet whose message was changed leaves as well, and is not opened by
                        // its sender.
                        turn_key.refuse::<P>(self.packet, |payload| payload.fill(0x5a));
                        continue;
                    }
                    let fits = self.input.reply.len() <= P::GEOMETRY.data_len();
                    assert_eq!(turn_key.reply::<P>(self.packet, ID, &self.input.reply).is_ok(), fits);
                    if !fits {
                        return;
                    }
                }
                Ok(Did::End) => {
                    assert_eq!(hop, self.path.len() - 1);
                    return;
                }
                Err(refused) => {
                    assert_eq!(refused, Refused::Process(ProcessError::BadPayload));
                    assert!(!sound, "a sound packet was refused");
                    return;
                }
            }
        }
        panic!("the packet did not end");
    }

    /// Hop number `hop` processes the packet, which is `sound` if nobody changed its payload.
    fn process(&mut self, hop: usize, sound: bool, seen: &mut Seen) -> Result<Did, Refused> {
        let Self { input, return_keys, packet, shape, .. } = self;
        let sent = Message { id: ID, data: &input.data };
        process::<P, _>(packet, hop, seen, |hop| match hop {
            Hop::Forward(forward) => Did::Forward(forward.next),
            Hop::TurnRound(turn) => {
                assert_eq!(turn.message, sound.then_some(sent), "a changed payload was opened");
                Did::TurnRound(turn.forward.next, turn.turn_key)
            }
            Hop::Deliver(message) => {
                assert!(sound, "a changed payload was opened");
                assert_eq!((message, *shape), (sent, Shape::OneWay));
                Did::End
            }
            Hop::Drop => {
                assert_eq!(*shape, Shape::Drop);
                Did::End
            }
            Hop::Yours(yours) => {
                if let Some(keys) = return_keys {
                    let reply = sound.then_some(Message { id: ID, data: &input.reply });
                    assert_eq!(keys.open(yours.payload), reply);
                }
                Did::End
            }
        })
    }
}
