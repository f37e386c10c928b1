//! Handshakes as both sides really have them, on this host: every message goes through the link's
//! code as frames to the other side, which reads it.

use super::air::{Air, Pair, PairMemory, address};
use super::published::Flights;
use crate::failure::Failure;
use chacha20::ChaCha20Rng;
use motemix_crypto::{Curve, Portable, Secret};
use motemix_neighbour::diet::literal;
use motemix_neighbour::diet::settled::{self, OVERHEAD};
use motemix_neighbour::edhoc::initiator::{self, Opening};
use motemix_neighbour::edhoc::responder::{Message1, Offer};
use motemix_neighbour::edhoc::{
    Ccs, CipherSuite, ConnectionId, CoseKey, Credential, CredentialId, Ead, Method, OwnCredential, OwnKey,
    PeerCredential, Suite0, Suite2, WithoutSignatures,
};
use motemix_neighbour::handshakes::{Admission, Admitted, Event, Handshakes, Identity, Peer};
use motemix_neighbour::suite::P256;
use motemix_neighbour::{PrivateKey, Suite as _};
use rand_core::{CryptoRng, SeedableRng as _};
use serde::Serialize;

/// What the first message after a handshake says.
pub const TEXT: &[u8; 12] = b"21.5 degrees";
/// Messages after which a handshake that has not ended never will.
const MOST_MESSAGES: usize = 20;

/// A side of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Initiator,
    Responder,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Initiator, Self::Responder];

    pub const fn index(self) -> usize {
        self as usize
    }

    pub const fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Message {
    pub name: String,
    pub from: Side,
    /// Bytes of the message itself: the datagram, or what the frame of a handshake carries.
    pub bytes: usize,
    pub air: Air,
}

/// All messages of a handshake, and then one with [`TEXT`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Conversation {
    pub messages: Vec<Message>,
    pub text: Option<Message>,
}

impl Conversation {
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.bytes).sum()
    }

    pub fn frames(&self) -> usize {
        self.messages.iter().map(|message| message.air.frames).sum()
    }

    /// With preambles and acknowledgements.
    pub fn bytes_on_air(&self) -> usize {
        let bytes = |message: &Message| message.air.bytes + message.air.acknowledgement_bytes;
        self.messages.iter().map(bytes).sum()
    }

    /// How often the initiator waits for an answer.
    pub fn round_trips(&self) -> usize {
        let answers = |pair: &&[Message]| pair[0].from == Side::Initiator && pair[1].from == Side::Responder;
        self.messages.windows(2).filter(answers).count()
    }
}

fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("a handshake on this host: {what}"))
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([1; 32])
}

fn datagram(pair: &mut Pair<'_>, name: &str, from: Side, bytes: &[u8]) -> Result<Message, Failure> {
    let air = pair.datagram(from, bytes)?;
    Ok(Message { name: name.to_owned(), from, bytes: bytes.len(), air })
}

/// IoT-CryptoDiet to the letter.
pub fn literal() -> Result<Conversation, Failure> {
    let mut rng = rng();
    let mut memory = PairMemory::new();
    let pair = &mut Pair::new(&mut memory, false);
    let mut node = || literal::Node::generate(&mut P256, &mut rng).map_err(broken);
    let [sensor, router] = [node()?, node()?];
    let messages = vec![
        datagram(pair, "keys of the sensor", Side::Initiator, &sensor.keys())?,
        datagram(pair, "keys of the router", Side::Responder, &router.keys())?,
    ];
    let at_sensor = sensor.meet(&router.keys(), &mut P256).map_err(broken)?;
    let mut at_router = router.meet(&sensor.keys(), &mut P256).map_err(broken)?;
    let mut room = [0; literal::message_len(TEXT.len())];
    let sent = sensor.protect(&at_sensor, TEXT, &mut room, &mut P256, &mut rng).map_err(broken)?;
    let text = datagram(pair, "msg1", Side::Initiator, sent)?;
    is_text(at_router.open(sent, &mut P256).map_err(broken)?)?;
    Ok(Conversation { messages, text: Some(text) })
}

/// IoT-CryptoDiet with its open ends settled.
pub fn settled() -> Result<Conversation, Failure> {
    let mut rng = rng();
    let mut memory = PairMemory::new();
    let pair = &mut Pair::new(&mut memory, false);
    let mut identity = || settled::Identity::generate(&mut P256, &mut rng).map_err(broken);
    let [sensor, router] = [identity()?, identity()?];
    let known = [sensor.public_key(), router.public_key()];
    let admission = settled::Admission::Of(&known);
    let (calling, hello) = sensor.hello(&mut P256, &mut rng).map_err(broken)?;
    let (pending, answer) = router.answer(&hello, admission, &mut P256, &mut rng).map_err(broken)?;
    let messages = vec![
        datagram(pair, "hello", Side::Initiator, &hello)?,
        datagram(pair, "answer", Side::Responder, &answer)?,
    ];
    let mut session = calling.finish(&answer, admission, &mut P256).map_err(broken)?;
    let mut room = [0; OVERHEAD + TEXT.len()];
    let sent = session.seal(TEXT, &mut room, &mut P256, &mut rng).map_err(broken)?;
    let text = datagram(pair, "message", Side::Initiator, sent)?;
    let (_, opened) = pending.open(sent, &mut P256).map_err(|(_, refused)| broken(refused))?;
    is_text(opened)?;
    Ok(Conversation { messages, text: Some(text) })
}

fn is_text(opened: &[u8]) -> Result<(), Failure> {
    if opened == TEXT { Ok(()) } else { Err(broken("another text came out")) }
}

/// A suite in which a neighbour is given a key of one of its kinds.
trait WithKey: CipherSuite + Default {
    const METHOD: Method;
    type Key;
    fn make<R: CryptoRng>(rng: &mut R) -> (Self::Key, CoseKey);
    fn own(key: &Self::Key) -> OwnKey<'_, Self>;
}

/// Static keys of X25519, as boards have them.
impl WithKey for WithoutSignatures<Suite0<Portable>> {
    const METHOD: Method = Method::StaticKeys;
    type Key = Secret<32>;

    fn make<R: CryptoRng>(rng: &mut R) -> (Self::Key, CoseKey) {
        let mut key = Secret::zero();
        rng.fill_bytes(key.expose_mut());
        let public = CoseKey::X25519(Portable::public_key(&key).0);
        (key, public)
    }

    fn own(key: &Self::Key) -> OwnKey<'_, Self> {
        OwnKey::Static(key)
    }
}

/// Signatures of P-256.
impl WithKey for Suite2<P256> {
    const METHOD: Method = Method::Signatures;
    type Key = PrivateKey;

    fn make<R: CryptoRng>(rng: &mut R) -> (Self::Key, CoseKey) {
        let key = PrivateKey::generate(rng);
        let public = P256.public_key(&key).expect("no engine fails in software");
        (key, CoseKey::p256(&public))
    }

    fn own(key: &Self::Key) -> OwnKey<'_, Self> {
        OwnKey::Signing(key)
    }
}

/// EDHOC's three messages with static keys of X25519 (method 3, suite 0), by names of one byte.
pub fn edhoc_static() -> Result<Conversation, Failure> {
    edhoc::<WithoutSignatures<Suite0<Portable>>>()
}

/// EDHOC's three messages with signatures of P-256 (method 0, suite 2), by names of one byte.
pub fn edhoc_signatures() -> Result<Conversation, Failure> {
    edhoc::<Suite2<P256>>()
}

fn edhoc<S: WithKey>() -> Result<Conversation, Failure> {
    let (mut rng, suite) = (rng(), &mut S::default());
    let mut memory = PairMemory::new();
    let pair = &mut Pair::new(&mut memory, false);
    let kids = [[1], [2]];
    let keys = [(); 2].map(|()| S::make(&mut rng));
    let mut rooms = [[0; 128]; 2];
    let mut ccs = Vec::new();
    for ((room, kid), (_, public)) in rooms.iter_mut().zip(&kids).zip(&keys) {
        ccs.push(Ccs { subject: None, kid: Some(kid), key: *public }.emit(room).map_err(broken)?);
    }
    let own = |side: Side| {
        let credential = Credential::ccs(ccs[side.index()]).map_err(broken)?;
        let (key, _) = &keys[side.index()];
        Ok::<_, Failure>(OwnCredential {
            id: CredentialId::Kid(&kids[side.index()]),
            credential,
            key: S::own(key),
        })
    };
    let known = |side: Side| PeerCredential::<S>::from_ccs(ccs[side.index()], S::METHOD).map_err(broken);
    let connection = |byte| ConnectionId::new(&[byte]).map_err(broken);

    let opening =
        Opening { method: S::METHOD, passed_over: &[], connection: connection(0x0a)?, ead_1: Ead::NONE };
    let mut room = [0; 256];
    let (at_initiator, message_1) = initiator::begin(&opening, suite, &mut rng, &mut room).map_err(broken)?;
    let mut messages = vec![datagram(pair, "message_1", Side::Initiator, message_1)?];
    let offer = Offer { methods: &[S::METHOD], suites: &[S::NUMBER], understood: &[] };
    let parsed = Message1::parse(message_1, &offer).map_err(broken)?;
    let agreed = parsed.ephemeral(suite, &mut rng).and_then(|step| step.agree(suite)).map_err(broken)?;
    let mut room = [0; 256];
    let (at_responder, message_2) = agreed
        .authenticate(connection(0x0b)?, &own(Side::Responder)?, Ead::NONE, suite, &mut rng, &mut room)
        .map_err(broken)?;
    messages.push(datagram(pair, "message_2", Side::Responder, message_2)?);
    let received = at_initiator.read_message_2(message_2.to_vec(), &[], suite).map_err(broken)?;
    let verified = received.verify_peer(&known(Side::Responder)?, suite).map_err(broken)?;
    let mut room = [0; 256];
    let (_, message_3) =
        verified.message_3(&own(Side::Initiator)?, Ead::NONE, suite, &mut rng, &mut room).map_err(broken)?;
    messages.push(datagram(pair, "message_3", Side::Initiator, message_3)?);
    let received = at_responder.read_message_3(message_3.to_vec(), &[], suite).map_err(broken)?;
    received.verify_peer(&known(Side::Initiator)?, suite).map_err(broken)?;
    Ok(Conversation { messages, text: None })
}

/// Both sides, as each of them knows the other.
struct Both([Admitted; 2]);

impl Admission for Both {
    fn admitted(&self, peer: Peer) -> Option<Admitted> {
        let side = Side::BOTH.into_iter().find(|side| address(*side).0 == peer.0)?;
        Some(self.0[side.index()])
    }
}

/// The handshake of a protected link: EDHOC behind a cookie, one frame a message; then a protected
/// frame.
pub fn protected_link() -> Result<Conversation, Failure> {
    type Suite = WithoutSignatures<Suite0<Portable>>;
    let mut rng = rng();
    let mut memory = PairMemory::new();
    let pair = &mut Pair::new(&mut memory, true);
    let keys = [(); 2].map(|()| Suite::make(&mut rng));
    let both = Both([1, 2].map(|kid: u8| Admitted { key: keys[usize::from(kid) - 1].1, kid }));
    let mut sides = Vec::new();
    for (side, (private, _)) in Side::BOTH.into_iter().zip(&keys) {
        let mut handshakes = Handshakes::<Suite>::new(Suite::default(), Peer(address(side).0), &mut rng);
        let admitted = both.0[side.index()];
        handshakes.set_identity(Some(Identity::new(private.duplicate(), admitted)));
        sides.push(handshakes);
    }
    let responder = Peer(address(Side::Responder).0);
    sides[Side::Initiator.index()].call(pair.now(), responder, &both);
    let mut messages = Vec::new();
    let mut has_key = [false; 2];
    while has_key != [true; 2] {
        let before = (messages.len(), has_key);
        for side in Side::BOTH {
            while sides[side.index()].work(pair.now(), &both, &mut rng) {}
            if let Some(Event::Key { key, role, .. }) = sides[side.index()].poll_event() {
                pair.keys(side)?.set_key(address(side.other()), &key, role, false);
                has_key[side.index()] = true;
            }
            let Some(message) = sides[side.index()].poll_transmit(pair.now()) else { continue };
            let (arrived, air) = pair.handshake(side, message.as_bytes())?;
            let name = kind(message.as_bytes());
            messages.push(Message { name: name.into(), from: side, bytes: message.as_bytes().len(), air });
            let from = Peer(arrived.peer.0);
            sides[side.other().index()]
                .handle(pair.now(), from, arrived.as_bytes(), &both)
                .map_err(|reason| broken(format!("{name} is dropped: {reason:?}")))?;
        }
        if messages.len() > MOST_MESSAGES {
            return Err(broken("it does not end"));
        }
        if before == (messages.len(), has_key) {
            // What is computed has a time at which it is sent.
            let due = sides.iter().filter_map(Handshakes::poll_timeout).min();
            pair.wait(due.ok_or_else(|| broken("it stands still"))?);
        }
    }
    let text = datagram(pair, "protected frame", Side::Initiator, TEXT)?;
    Ok(Conversation { messages, text: Some(text) })
}

/// What a message of a protected link is called (`docs/spec/link/frames.md`).
fn kind(message: &[u8]) -> &'static str {
    match message.first() {
        Some(1) => "hello",
        Some(2) => "cookie",
        Some(3) => "cookie and message_1",
        Some(4) => "message_2",
        Some(5) => "message_3",
        Some(6) => "message_4",
        _ => "unknown",
    }
}

/// Flights of the published lengths, as a datagram each on our link.
pub fn flights(published: &Flights) -> Result<Conversation, Failure> {
    let mut memory = PairMemory::new();
    let pair = &mut Pair::new(&mut memory, false);
    let sides = [Side::Initiator, Side::Responder, Side::Initiator];
    let flight = |(number, (len, side)): (usize, (&usize, Side))| {
        datagram(pair, &format!("flight {}", number + 1), side, &vec![0; *len])
    };
    let messages = published.bytes.iter().zip(sides).enumerate().map(flight);
    Ok(Conversation { messages: messages.collect::<Result<_, _>>()?, text: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(conversation: &Conversation) -> Vec<usize> {
        conversation.messages.iter().map(|message| message.bytes).collect()
    }

    /// draft-ietf-iotops-security-protocol-comparison-08, figure 1: static DH and signature RPKs,
    /// kid.
    #[test]
    fn edhoc_has_the_bytes_that_others_published() {
        assert_eq!(lengths(&edhoc_static().unwrap()), [37, 45, 19]);
        assert_eq!(lengths(&edhoc_signatures().unwrap()), [37, 102, 77]);
    }

    #[test]
    fn a_protected_link_takes_one_frame_a_message_and_three_round_trips() {
        let link = protected_link().unwrap();
        let names: Vec<_> = link.messages.iter().map(|message| &*message.name).collect();
        assert_eq!(names, ["hello", "cookie", "cookie and message_1", "message_2", "message_3", "message_4"]);
        assert_eq!((link.frames(), link.round_trips()), (6, 3));
        // A byte of kind each, the cookie of eight that goes there and back, and the echo of two.
        let inside = edhoc_static().unwrap().bytes() + 9;
        assert_eq!(link.bytes(), inside + 6 + 2 * 8 + 2);
        assert_eq!(link.text.unwrap().air.frames, 1);
    }

    #[test]
    fn the_papers_keys_take_two_frames_each_and_its_message_one() {
        let literal = literal().unwrap();
        assert_eq!(lengths(&literal), [128, 128]);
        assert_eq!((literal.frames(), literal.round_trips()), (4, 1));
        assert_eq!(literal.text.unwrap().bytes, 4 + 16 + 64);
        let settled = settled().unwrap();
        assert_eq!(lengths(&settled), [75, 139]);
        assert_eq!((settled.frames(), settled.round_trips()), (3, 1));
    }
}
