//! EDHOC with static keys: what follows when two keys have agreed, on both sides.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{CryptoRng, SeedableRng};
use motemix_crypto::{Curve, Portable, Secret};
use motemix_neighbour::edhoc::initiator::{self, Opening};
use motemix_neighbour::edhoc::responder::{Message1, Offer};
use motemix_neighbour::edhoc::{
    Ccs, CipherSuite, ConnectionId, CoseKey, Credential, CredentialId, Ead, Method, OwnCredential, OwnKey,
    PeerCredential, Refused, Suite0, WithoutSignatures,
};

use crate::trial::{Expected, Operation, Trial};

type Suite = WithoutSignatures<Suite0<Portable>>;

/// The suite, whose shared secrets are marked from some step on. From the one of the ephemeral keys
/// on, plaintexts would be marked too, which both sides read; so it is the static keys' that are.
struct Marking<'t> {
    suite: Suite,
    trial: &'t Trial,
    is_on: bool,
}

impl CipherSuite for Marking<'_> {
    const NUMBER: i16 = Suite::NUMBER;
    type PrivateKey = <Suite as CipherSuite>::PrivateKey;
    type PublicKey = <Suite as CipherSuite>::PublicKey;
    type SigningKey = <Suite as CipherSuite>::SigningKey;
    type VerifyingKey = <Suite as CipherSuite>::VerifyingKey;
    type Aes<'s>
        = <Suite as CipherSuite>::Aes<'s>
    where
        Self: 's;

    fn generate<R: CryptoRng + ?Sized>(&mut self, rng: &mut R) -> Self::PrivateKey {
        self.suite.generate(rng)
    }

    fn duplicate(private: &Self::PrivateKey) -> Self::PrivateKey {
        Suite::duplicate(private)
    }

    fn coordinate(&mut self, private: &Self::PrivateKey) -> Result<[u8; 32], Refused> {
        self.suite.coordinate(private)
    }

    fn from_coordinate(coordinate: &[u8; 32]) -> Result<Self::PublicKey, Refused> {
        Suite::from_coordinate(coordinate)
    }

    fn agree(&mut self, private: &Self::PrivateKey, peer: &Self::PublicKey) -> Result<Secret<32>, Refused> {
        let mut shared = self.suite.agree(private, peer)?;
        if self.is_on {
            self.trial.mark(shared.expose_mut());
        }
        Ok(shared)
    }

    fn sign<R: CryptoRng + ?Sized>(
        &mut self,
        key: &Self::SigningKey,
        message: &[&[u8]],
        rng: &mut R,
    ) -> Result<[u8; 64], Refused> {
        self.suite.sign(key, message, rng)
    }

    fn verify(
        &mut self,
        key: &Self::VerifyingKey,
        message: &[&[u8]],
        signature: &[u8; 64],
    ) -> Result<(), Refused> {
        self.suite.verify(key, message, signature)
    }

    fn public_key(key: &CoseKey) -> Result<Self::PublicKey, Refused> {
        Suite::public_key(key)
    }

    fn verifying_key(key: &CoseKey) -> Result<Self::VerifyingKey, Refused> {
        Suite::verifying_key(key)
    }

    fn aes(&mut self) -> Self::Aes<'_> {
        self.suite.aes()
    }
}

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "EDHOC: make message_2 with a static key",
        secret: "shared secret of the static key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| run(trial, Marked::Message2, None),
    },
    Operation {
        name: "EDHOC: check message_2, make message_3, export a key",
        secret: "shared secrets of the static keys",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| run(trial, Marked::Initiator, None),
    },
    Operation {
        name: "EDHOC: check message_3, update keys, export a key",
        secret: "shared secret of the static key",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| run(trial, Marked::Responder, None),
    },
    Operation {
        name: "EDHOC: refuse message_2 with one wrong byte in its MAC",
        secret: "shared secret of the static key",
        expected: Expected::Disclosed,
        variants: 8,
        run: |trial| run(trial, Marked::Initiator, Some(trial.variant())),
    },
];

/// Where the marks begin, and the run ends.
#[derive(Clone, Copy, PartialEq)]
enum Marked {
    Message2,
    Initiator,
    Responder,
}

/// A handshake up to what is marked. One byte of the second MAC may be changed.
fn run(trial: &Trial, marked: Marked, wrong: Option<usize>) -> Vec<u8> {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let suite = &mut Marking { suite: Suite::default(), trial, is_on: false };
    let keys = [1, 2].map(|byte| Secret::new([byte; 32]));
    let ccs = keys.each_ref().map(|key| {
        let key = CoseKey::X25519(Portable::public_key(key).0);
        let mut room = [0; 64];
        Ccs { subject: None, kid: None, key }.emit(&mut room).expect("room").to_vec()
    });
    let own = |side: usize| OwnCredential {
        id: CredentialId::Kid(&[0x01]),
        credential: Credential::ccs(&ccs[side]).expect("its own"),
        key: OwnKey::Static(&keys[side]),
    };
    let peer = |side: usize| PeerCredential::from_ccs(&ccs[side], Method::StaticKeys).expect("its own");

    let connection = ConnectionId::new(&[0x02]).expect("short");
    let opening = Opening { method: Method::StaticKeys, passed_over: &[], connection, ead_1: Ead::NONE };
    let mut rooms = [[0; 64]; 3];
    let [room_1, room_2, room_3] = &mut rooms;
    let (at_initiator, message_1) = initiator::begin(&opening, suite, &mut rng, room_1).expect("room");
    let offer = Offer { methods: &[Method::StaticKeys], suites: &[0], understood: &[] };
    let parsed = Message1::parse(message_1, &offer).expect("right");
    let agreed = parsed.ephemeral(suite, &mut rng).and_then(|step| step.agree(suite)).expect("points");
    suite.is_on = marked == Marked::Message2;
    let (at_responder, message_2) =
        agreed.authenticate(connection, &own(1), Ead::NONE, suite, &mut rng, room_2).expect("room");
    if marked == Marked::Message2 {
        return message_2.to_vec();
    }

    let mut message_2 = message_2.to_vec();
    if let Some(at) = wrong {
        // The MAC is at the end, and a keystream is all that encrypts it.
        let begin = message_2.len() - 8;
        message_2[begin + at] ^= 1;
    }
    let received = at_initiator.read_message_2(message_2, &[], suite).expect("right so far");
    suite.is_on = marked == Marked::Initiator;
    let verified = match received.verify_peer(&peer(1), suite) {
        Ok(verified) => verified,
        Err(refused) => return format!("{refused}").into_bytes(),
    };
    let (at_initiator, message_3) =
        verified.message_3(&own(0), Ead::NONE, suite, &mut rng, room_3).expect("room");
    let mut key = [0; 16];
    if marked == Marked::Initiator {
        at_initiator.into_session().exporter(40_000, b"", &mut key).expect("short");
        return [message_3, &key].concat();
    }

    let received = at_responder.read_message_3(message_3.to_vec(), &[], suite).expect("right");
    suite.is_on = true;
    let mut session = received.verify_peer(&peer(0), suite).expect("right").into_session();
    session.key_update(b"hour 1").expect("short");
    session.exporter(40_000, b"", &mut key).expect("short");
    key.to_vec()
}
