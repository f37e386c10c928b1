//! Stand-alone SURBs: making one, replying with it, opening the reply.

use motemix_crypto::{Portable, Secret};
use motemix_sphinx::{Mote, Profile, Surb, SurbKeys};

use crate::packets::{DATA, HOPS, ID, pass, path};
use crate::trial::{Expected, Operation, Trial};

type OnMote = Mote<Portable>;

const WAY: std::ops::Range<usize> = 0..HOPS / 2;
const SEED: [u8; 32] = [0x53; 32];

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "make a SURB",
        secret: "seed",
        expected: Expected::Secret,
        run: |trial| {
            let (keys, encoded) = create(trial.secret(SEED));
            [&encoded[..], &keys.header_id().0, &keys.delay().factor().to_be_bytes()].concat()
        },
    },
    Operation {
        name: "reply by a SURB",
        secret: "its group element, routing info, MAC and seed; the reply",
        expected: Expected::Secret,
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
        run: |trial| open(trial, &|_| ()),
    },
    Operation {
        name: "refuse a reply by a SURB that was changed",
        secret: "seed",
        expected: Expected::Disclosed,
        run: |trial| open(trial, &|payload| payload[9] ^= 1),
    },
];

fn create(seed: Secret<32>) -> (SurbKeys<OnMote>, Vec<u8>) {
    let mut encoded = vec![0; Surb::<OnMote>::encoded_len(WAY.len())];
    let (keys, _) = Surb::create(&path()[WAY], seed, &mut encoded).expect("a sound path");
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
    let opened = keys.open(payload).map(|reply| [&reply.id.0, reply.data].concat());
    opened.unwrap_or_else(|| b"refused".to_vec())
}
