//! One packet on its way: through mixes to a receiver, turned round there, and back to its sender.
//!
//! `cargo run -p motemix-sphinx --example round_trip`

use std::collections::HashSet;
use std::error::Error;

use motemix_crypto::{Portable, Secret, hash};
use motemix_sphinx::{
    Departure, HeaderBuilder, Hop, Message, MessageId, MixKey, Mote, NodeId, Packet, PathHop, Profile,
    ReplayError, ReplayFilter, ReplayTag, Shape,
};

/// A node: its name in packets, its key of the epoch, and what it has seen under that key.
struct Node {
    id: NodeId,
    key: MixKey,
    seen: Seen,
}

/// The simplest replay filter. One that is used has a bound, and refuses when it is full.
#[derive(Default)]
struct Seen(HashSet<ReplayTag>);

impl ReplayFilter for Seen {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        if self.0.insert(*tag) { Ok(()) } else { Err(ReplayError::Replayed) }
    }
}

impl Node {
    fn new(number: u16) -> Self {
        let id = NodeId::new(number).expect("a small number");
        Self { id, key: MixKey::new(secret(b"node", number)), seen: Seen::default() }
    }

    /// What others have to know of it.
    fn described(&self) -> PathHop {
        PathHop { id: self.id, mix_key: self.key.public_key::<Portable>() }
    }
}

/// Secrets come from the operating system; here they are the same in each run.
fn secret(name: &[u8], number: u16) -> Secret<32> {
    hash::blake2s_256(name, &number.to_be_bytes())
}

fn main() -> Result<(), Box<dyn Error>> {
    const RECEIVER: usize = 2;
    // Two mixes there, the receiver, two mixes back. The last is the sender itself.
    let mut nodes: Vec<Node> = (0..6).map(Node::new).collect();
    let path: Vec<PathHop> = nodes.iter().map(Node::described).collect();

    // The header does not depend on what it is used for: it can be made ahead of time.
    let shape = Shape::RoundTrip { receiver: RECEIVER };
    let header = HeaderBuilder::<Mote>::new(&path, shape, secret(b"seed", 0))?.build()?;
    let mut packet = Mote::<Portable>::packet();
    let id = MessageId(*b"2026");
    let Departure { first, header_id, return_keys } = header.seal(id, b"21.5 degrees", &mut packet)?;
    println!("the sender sends {} bytes to node {}", packet.len(), first.get());

    let mut at = first;
    loop {
        let node = &mut nodes[usize::from(at.get())];
        // Each step takes what the one before gave: none can be left out.
        let parsed = Packet::<Mote>::parse(&mut packet)?;
        let ((), authenticated) = parsed.authenticate([((), &node.key)])?;
        let fresh = authenticated.admit(&mut node.seen).map_err(|_| "seen before")?;
        at = match fresh.unwrap_layer()? {
            Hop::Forward(forward) => {
                println!("node {} forwards it to node {}", at.get(), forward.next.get());
                forward.next
            }
            Hop::TurnRound(turn) => {
                let Some(Message { id, data }) = turn.message else {
                    return Err("the payload was changed on the way".into());
                };
                println!("node {} receives {:?} and replies", at.get(), String::from_utf8_lossy(data));
                let forward = turn.forward;
                turn.turn_key.reply::<Mote>(&mut packet, id, b"thank you")?;
                forward.next
            }
            Hop::Yours(yours) => {
                assert_eq!(yours.header_id, header_id, "a sender knows its headers by their ids");
                let keys = return_keys.ok_or("a round trip has return keys")?;
                let reply = keys.open(yours.payload).ok_or("the reply was changed on the way")?;
                println!("the sender has its reply: {:?}", String::from_utf8_lossy(reply.data));
                return Ok(());
            }
            Hop::Deliver(_) | Hop::Drop => return Err("this packet was to be turned round".into()),
        };
    }
}
