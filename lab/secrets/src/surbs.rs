//! Stand-alone SURBs: making one, replying with it, opening the reply.

use std::ops::Range;

use motemix_crypto::wide_block::WideBlockKeys;
use motemix_crypto::{Portable, Secret, hash};
use motemix_sphinx::{Mote, Profile, Surb, SurbKeys};

use crate::packets::{DATA, HOPS, ID, change_tag, pass, path};
use crate::trial::{Expected, Operation, Trial};

type OnMote = Mote<Portable>;

const WAY: Range<usize> = 0..HOPS / 2;
const SEED: [u8; 32] = [0x53; 32];

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "make a SURB",
        secret: "seed",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let (keys, encoded) = create(trial.secret(SEED));
            [&encoded[..], &keys.header_id().0, &keys.delay().factor().to_be_bytes()].concat()
        },
    },
    Operation {
        name: "reply by a SURB",
        secret: "its group element, routing info, MAC and seed; the reply",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let (_, mut encoded) = create(Secret::new(SEED));
            // The first two bytes name the node to send to.
            trial.mark(&mut encoded[2..]);
            let (mut data, mut packet) = (DATA.to_vec(), OnMote::packet());
            trial.mark(&mut data);
            let surb = Surb::<OnMote>::parse(&encoded).expect("just made");
            surb.reply(ID, &data, &mut packet).expect("short enough");
            packet.to_vec()
        },
    },
    Operation {
        name: "open a reply by a SURB",
        secret: "seed, reply",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| open(trial, &|_| ()),
    },
    Operation {
        name: "refuse a reply by a SURB that was changed",
        secret: "seed",
        expected: Expected::Disclosed,
        variants: 1,
        run: |trial| open(trial, &|payload| payload[9] ^= 1),
    },
    Operation {
        name: "refuse a reply by a SURB with one wrong byte in its integrity tag",
        secret: "seed",
        expected: Expected::Disclosed,
        variants: 16,
        run: |trial| {
            // A path of one hop: the reply is under the SURB's own keys alone.
            let (_, encoded) = create_for(0..1, Secret::new(SEED));
            let mut packet = OnMote::packet();
            let surb = Surb::<OnMote>::parse(&encoded).expect("just made");
            surb.reply(ID, DATA, &mut packet).expect("short enough");
            let surb_seed = encoded.last_chunk::<16>().expect("a SURB ends with its seed");
            let surb_key = hash::blake2s_256(surb_seed, b"motemix/1 surb");
            let reply_keys = WideBlockKeys::derive(surb_key.expose(), b"motemix/rply");
            change_tag::<OnMote>(&reply_keys, &mut packet, trial.variant());
            let (keys, _) = create_for(0..1, trial.secret(SEED));
            opened(&keys, &mut packet[OnMote::GEOMETRY.payload()])
        },
    },
];

fn create(seed: Secret<32>) -> (SurbKeys<OnMote>, Vec<u8>) {
    create_for(WAY, seed)
}

fn create_for(way: Range<usize>, seed: Secret<32>) -> (SurbKeys<OnMote>, Vec<u8>) {
    let mut encoded = vec![0; Surb::<OnMote>::encoded_len(way.len())];
    let (keys, _) = Surb::create(&path()[way], seed, &mut encoded).expect("a sound path");
    (keys, encoded)
}

fn open(trial: &Trial, change: &dyn Fn(&mut [u8])) -> Vec<u8> {
    let (_, encoded) = create(Secret::new(SEED));
    let mut packet = OnMote::packet();
    Surb::<OnMote>::parse(&encoded).expect("just made").reply(ID, DATA, &mut packet).expect("short enough");
    for mix in 0..WAY.len() - 1 {
        pass::<OnMote>(mix, &mut packet);
    }
    let payload = &mut packet[OnMote::GEOMETRY.payload()];
    change(payload);
    let (keys, _) = create(trial.secret(SEED));
    opened(&keys, payload)
}

fn opened(keys: &SurbKeys<OnMote>, payload: &mut [u8]) -> Vec<u8> {
    let opened = keys.open(payload).map(|reply| [&reply.id.0, reply.data].concat());
    opened.unwrap_or_else(|| b"refused".to_vec())
}
