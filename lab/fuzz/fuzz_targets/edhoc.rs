//! Two neighbours run EDHOC while a stranger sends whatever it likes to each of its steps, and
//! alters messages: the ciphertext of message_2 has no tag, so whatever it wants stands behind it.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_crypto::{Curve, Secret};
use motemix_fuzz::{Damage, Toy, fuzz_target};
use motemix_neighbour::edhoc::cipher_suite::Ed25519Key;
use motemix_neighbour::edhoc::initiator::{self, Opening};
use motemix_neighbour::edhoc::responder::{Message1, Offer};
use motemix_neighbour::edhoc::{
    Ccs, ConnectionId, CoseKey, Credential, CredentialId, Ead, ErrorMessage, Method, OwnCredential, OwnKey,
    PeerCredential, Refused, Session, Suite0, Suite2,
};
use motemix_neighbour::suite::P256;

type Suite = Suite0<Toy>;

#[derive(Arbitrary, Debug)]
struct Input {
    seed: u64,
    signs: bool,
    by_value: bool,
    names: [Vec<u8>; 2],
    data: Vec<u8>,
    damage: [Option<Damage>; 4],
    /// Goes over CIPHERTEXT_2, so that it reaches the plaintext.
    mask: Vec<u8>,
    raw: Vec<u8>,
}

fuzz_target!(|input: Input| {
    read_anything(&input.raw);
    // Names and data may be too long, or no data at all: then there is no handshake.
    if let Ok(([one, other], altered)) = handshake(&input) {
        assert!(!altered);
        assert_eq!(one.transcript(), other.transcript());
        let keys = [one, other].map(|session| {
            let mut key = [0; 16];
            session.exporter(33_000, &input.raw, &mut key).map(|()| key)
        });
        assert_eq!(keys[0], keys[1]);
    }
});

fn read_anything(raw: &[u8]) {
    let offer =
        Offer { methods: &[Method::StaticKeys, Method::Signatures], suites: &[2, 0], understood: &[1, 2, 3] };
    if let Ok(message_1) = Message1::parse(raw, &offer) {
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        if message_1.suite() == 2 {
            let _ = message_1.ephemeral(&mut Suite2(P256), &mut rng);
        } else {
            let _ =
                message_1.ephemeral(&mut Suite::new(), &mut rng).map(|step| step.agree(&mut Suite::new()));
        }
    }
    if let Ok(error) = ErrorMessage::parse(raw) {
        let mut room = vec![0; raw.len()];
        assert_eq!(error.emit(&mut room), Ok(raw), "there is one form only");
    }
    let _ = CredentialId::from_header(raw);
    let _ = Credential::ccs(raw);
    let _ = Ead::new(raw).map(|ead| ead.items().count());
    if let Ok(ccs) = Ccs::parse(raw) {
        let mut room = vec![0; raw.len()];
        let written = ccs.emit(&mut room).expect("no longer than it was");
        assert_eq!(Ccs::parse(written), Ok(ccs));
    }
}

/// One side: its keys and credential.
struct Side {
    fixed: Secret<32>,
    signing: Ed25519Key,
    ccs: Vec<u8>,
}

impl Side {
    fn new(byte: u8, method: Method) -> Self {
        let (fixed, signing) = (Secret::new([byte; 32]), Ed25519Key::new(Secret::new([byte; 32])));
        let key = match method {
            Method::StaticKeys => CoseKey::X25519(Toy::public_key(&fixed).0),
            Method::Signatures => CoseKey::Ed25519(signing.verifying_key()),
        };
        let mut room = [0; 64];
        let ccs = Ccs { subject: None, kid: Some(&[byte]), key }.emit(&mut room).expect("room").to_vec();
        Self { fixed, signing, ccs }
    }

    fn own<'a>(&'a self, name: &'a [u8], by_value: bool, method: Method) -> OwnCredential<'a, Suite> {
        OwnCredential {
            id: if by_value { CredentialId::Ccs(&self.ccs) } else { CredentialId::Kid(name) },
            credential: Credential::ccs(&self.ccs).expect("its own"),
            key: match method {
                Method::StaticKeys => OwnKey::Static(&self.fixed),
                Method::Signatures => OwnKey::Signing(&self.signing),
            },
        }
    }
}

/// The sessions at both ends, and whether any message arrived altered.
fn handshake(input: &Input) -> Result<([Session; 2], bool), Refused> {
    let mut rng = ChaCha20Rng::seed_from_u64(input.seed);
    let suite = &mut Suite::new();
    let method = if input.signs { Method::Signatures } else { Method::StaticKeys };
    let sides = [Side::new(1, method), Side::new(2, method)];
    let peers: [PeerCredential<Suite>; 2] =
        sides.each_ref().map(|side| PeerCredential::from_ccs(&side.ccs, method).expect("its own"));
    let [c_i, c_r] = input.names.each_ref().map(|name| ConnectionId::new(name));
    let data = Ead::new(&input.data)?;
    let mut altered = false;
    let mut room = [[0; 600]; 4];
    let [room_1, room_2, room_3, room_4] = &mut room;

    let opening = Opening { method, passed_over: &[], connection: c_i?, ead_1: data };
    let (at_initiator, message_1) = initiator::begin(&opening, suite, &mut rng, room_1)?;
    let _ = at_initiator.read_message_2(input.raw.clone(), &[], suite);
    let sent = message_1;
    let message_1 = carried(sent, &input.damage[0]);
    altered |= sent != message_1;
    let offer = Offer { methods: &[method], suites: &[0], understood: &[] };
    let agreed = Message1::parse(&message_1, &offer)?.ephemeral(suite, &mut rng)?.agree(suite)?;
    let own = sides[1].own(&input.names[1], input.by_value, method);
    let (at_responder, message_2) = agreed.authenticate(c_r?, &own, data, suite, &mut rng, room_2)?;
    let _ = at_responder.read_message_3(input.raw.clone(), &[], suite);

    let sent = message_2;
    let mut message_2 = carried(sent, &input.damage[1]);
    let ciphertext = message_2.iter_mut().skip(35);
    ciphertext.zip(&input.mask).for_each(|(byte, mask)| *byte ^= mask);
    altered |= sent != message_2;
    let received = at_initiator.read_message_2(message_2, &[], suite)?;
    let _ = (received.id(), received.ead_2().items().count());
    let verified = received.verify_peer(&peers[1], suite)?;
    let own = sides[0].own(&input.names[0], input.by_value, method);
    let (at_initiator, message_3) = verified.message_3(&own, data, suite, &mut rng, room_3)?;
    assert!(at_initiator.read_message_4(&mut input.raw.clone(), &[], suite).is_err());

    let sent = message_3;
    let message_3 = carried(sent, &input.damage[2]);
    altered |= sent != message_3;
    let received = at_responder.read_message_3(message_3, &[], suite)?;
    let _ = (received.id(), received.ead_3().items().count());
    let (at_responder, message_4) = received.verify_peer(&peers[0], suite)?.message_4(data, suite, room_4)?;
    let sent = message_4;
    let mut message_4 = carried(sent, &input.damage[3]);
    altered |= sent != message_4;
    assert_eq!(at_initiator.read_message_4(&mut message_4, &[], suite)?, data);
    Ok(([at_initiator.into_session(), at_responder], altered))
}

fn carried(message: &[u8], damage: &Option<Damage>) -> Vec<u8> {
    let mut message = message.to_vec();
    if let Some(damage) = damage {
        damage.apply(&mut message);
    }
    message
}
