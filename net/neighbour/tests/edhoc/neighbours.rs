//! Two neighbours with fresh keys and a credential each, in any suite and method.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};
use motemix_crypto::{Curve, Secret};
use motemix_neighbour::edhoc::cipher_suite::Ed25519Key;
use motemix_neighbour::edhoc::initiator::{self, AwaitingMessage2, Opening};
use motemix_neighbour::edhoc::responder::{self, AwaitingMessage3, Message1, Offer};
use motemix_neighbour::edhoc::{
    Ccs, CipherSuite, ConnectionId, CoseKey, Credential, CredentialId, Ead, Method, OwnCredential, OwnKey,
    PeerCredential, Refused, Session, Suite0, Suite2, WithoutSignatures,
};
use motemix_neighbour::suite::P256;
use motemix_neighbour::{PrivateKey, Suite as _};

/// A suite that tests make keys for.
pub trait Keys: CipherSuite + Default {
    fn static_key(rng: &mut ChaCha20Rng) -> (Self::PrivateKey, CoseKey);
    fn signing_key(rng: &mut ChaCha20Rng) -> (Self::SigningKey, CoseKey);
}

fn random(rng: &mut ChaCha20Rng) -> Secret<32> {
    let mut secret = Secret::zero();
    rng.fill_bytes(secret.expose_mut());
    secret
}

impl<C: Curve> Keys for Suite0<C> {
    fn static_key(rng: &mut ChaCha20Rng) -> (Secret<32>, CoseKey) {
        let private = random(rng);
        let public = C::public_key(&private).0;
        (private, CoseKey::X25519(public))
    }

    fn signing_key(rng: &mut ChaCha20Rng) -> (Ed25519Key, CoseKey) {
        let private = Ed25519Key::new(random(rng));
        let public = private.verifying_key();
        (private, CoseKey::Ed25519(public))
    }
}

impl Keys for Suite2<P256> {
    fn static_key(rng: &mut ChaCha20Rng) -> (PrivateKey, CoseKey) {
        let private = PrivateKey::generate(rng);
        let public = P256.public_key(&private).expect("in software");
        (private, CoseKey::p256(&public))
    }

    fn signing_key(rng: &mut ChaCha20Rng) -> (PrivateKey, CoseKey) {
        Self::static_key(rng)
    }
}

impl<S: Keys> Keys for WithoutSignatures<S> {
    fn static_key(rng: &mut ChaCha20Rng) -> (S::PrivateKey, CoseKey) {
        S::static_key(rng)
    }

    fn signing_key(_: &mut ChaCha20Rng) -> (Self::SigningKey, CoseKey) {
        panic!("the suite has no signatures")
    }
}

/// A private key of one of the two kinds.
pub enum Private<S: CipherSuite> {
    Static(S::PrivateKey),
    Signing(S::SigningKey),
}

/// What a neighbour keeps, and how it names what it says.
pub struct Neighbour<S: CipherSuite> {
    pub method: Method,
    pub private: Private<S>,
    pub ccs: Vec<u8>,
    pub kid: Vec<u8>,
    /// Whether its messages have the credential itself in place of its name.
    pub by_value: bool,
    pub connection: ConnectionId,
    pub ead: Vec<u8>,
}

impl<S: Keys> Neighbour<S> {
    pub fn new(method: Method, kid: &[u8], rng: &mut ChaCha20Rng) -> Self {
        let (private, key) = match method {
            Method::StaticKeys => {
                let (private, key) = S::static_key(rng);
                (Private::Static(private), key)
            }
            Method::Signatures => {
                let (private, key) = S::signing_key(rng);
                (Private::Signing(private), key)
            }
        };
        let mut room = [0; 256];
        let ccs = Ccs { subject: None, kid: Some(kid), key }.emit(&mut room).expect("room").to_vec();
        let connection = ConnectionId::new(&[0x0a]).expect("short");
        Self { method, private, ccs, kid: kid.into(), by_value: false, connection, ead: vec![] }
    }

    pub fn own(&self) -> OwnCredential<'_, S> {
        OwnCredential {
            id: if self.by_value { CredentialId::Ccs(&self.ccs) } else { CredentialId::Kid(&self.kid) },
            credential: Credential::ccs(&self.ccs).expect("a Claims Set"),
            key: match &self.private {
                Private::Static(key) => OwnKey::Static(key),
                Private::Signing(key) => OwnKey::Signing(key),
            },
        }
    }

    /// How others know it.
    pub fn known(&self) -> PeerCredential<'_, S> {
        PeerCredential::from_ccs(&self.ccs, self.method).expect("a key of the suite")
    }

    pub fn ead(&self) -> Ead<'_> {
        Ead::new(&self.ead).expect("items")
    }

    pub fn begin(&self, rng: &mut ChaCha20Rng) -> (AwaitingMessage2<S>, Vec<u8>) {
        let opening =
            Opening { method: self.method, passed_over: &[], connection: self.connection, ead_1: self.ead() };
        let mut room = [0; 256];
        let (waiting, message_1) =
            initiator::begin(&opening, &mut S::default(), rng, &mut room).expect("room");
        (waiting, message_1.to_vec())
    }

    pub fn answer(
        &self,
        message_1: &[u8],
        rng: &mut ChaCha20Rng,
    ) -> Result<(AwaitingMessage3<S>, Vec<u8>), Refused> {
        let offer = Offer { methods: &[self.method], suites: &[S::NUMBER], understood: &[] };
        let suite = &mut S::default();
        let agreed = Message1::parse(message_1, &offer)?.ephemeral(suite, rng)?.agree(suite)?;
        let mut room = [0; 512];
        let (waiting, message_2) =
            agreed.authenticate(self.connection, &self.own(), self.ead(), suite, rng, &mut room)?;
        Ok((waiting, message_2.to_vec()))
    }

    /// Checks message_2 and makes message_3.
    pub fn finish(
        &self,
        waiting: &AwaitingMessage2<S>,
        message_2: &[u8],
        peer: &PeerCredential<S>,
        rng: &mut ChaCha20Rng,
    ) -> Result<(initiator::Completed, Vec<u8>), Refused> {
        let suite = &mut S::default();
        let received = waiting.read_message_2(message_2.to_vec(), &[], suite)?;
        let verified = received.verify_peer(peer, suite)?;
        let mut room = [0; 512];
        let (completed, message_3) = verified.message_3(&self.own(), self.ead(), suite, rng, &mut room)?;
        Ok((completed, message_3.to_vec()))
    }
}

/// Checks message_3.
pub fn accept<S: Keys>(
    waiting: &AwaitingMessage3<S>,
    message_3: &[u8],
    peer: &PeerCredential<S>,
) -> Result<responder::Completed, Refused> {
    let suite = &mut S::default();
    waiting.read_message_3(message_3.to_vec(), &[], suite)?.verify_peer(peer, suite)
}

/// Two neighbours that know each other.
pub struct Pair<S: CipherSuite> {
    pub rng: ChaCha20Rng,
    pub initiator: Neighbour<S>,
    pub responder: Neighbour<S>,
}

impl<S: Keys> Pair<S> {
    pub fn new(method: Method, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let initiator = Neighbour::new(method, &[0x01], &mut rng);
        let responder = Neighbour::new(method, &[0x02], &mut rng);
        Self { rng, initiator, responder }
    }

    /// The three messages on their way through `carry`, which gets each message's number.
    pub fn shake_hands(
        &mut self,
        mut carry: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<[Session; 2], Refused> {
        let Self { rng, initiator, responder } = self;
        let (at_initiator, mut message_1) = initiator.begin(rng);
        carry(1, &mut message_1);
        let (at_responder, mut message_2) = responder.answer(&message_1, rng)?;
        carry(2, &mut message_2);
        let (at_initiator, mut message_3) =
            initiator.finish(&at_initiator, &message_2, &responder.known(), rng)?;
        carry(3, &mut message_3);
        let at_responder = accept(&at_responder, &message_3, &initiator.known())?;
        Ok([at_initiator.into_session(), at_responder.into_session()])
    }
}

pub fn exported(session: &Session, label: u16, context: &[u8], len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    session.exporter(label, context, &mut out).expect("a length below the limit");
    out
}
