//! Readings on their way from a device to whoever checks them, and what happens to them there.

use motemix_object::{
    Algorithm, Audience, Credential, Decimal, Freshness, Identity, KeyId, OVERHEAD, ObjectError, Order, Path,
    Policy, PrivateKey, PublicKey, Record, Reserved, SealedReading, Sealer, Signer as _, Stale,
    UnverifiedRegistration, Verified, register, senml_len, write_pack,
};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;

/// What is left for a message in a packet of the profile `mote`.
const MOTE_PAYLOAD: usize = 103;
const CELLAR: &str = "cellar";

struct Device {
    key: PrivateKey,
    identity: Identity,
}

impl Device {
    fn new(seed: u64) -> Self {
        Self::with(Algorithm::Ed25519, seed)
    }

    fn with(algorithm: Algorithm, seed: u64) -> Self {
        let key = PrivateKey::generate(algorithm, &mut ChaCha20Rng::seed_from_u64(seed));
        let identity = Credential::new(key.public_key(), &[]).unwrap().identity().unwrap();
        Self { key, identity }
    }

    fn public(&self) -> PublicKey {
        self.key.public_key()
    }

    fn credential(&self) -> Credential<'static> {
        Credential::new(self.key.public_key(), &[]).unwrap()
    }

    fn seal(&mut self, path: Path, sequence: u64, senml: &[u8]) -> Vec<u8> {
        let audience = Audience::new(CELLAR).unwrap();
        let mut sealer = Sealer { signer: &mut self.key, identity: self.identity, path, audience };
        let mut out = [0; 256];
        let len = sealer.seal(Reserved::promised(sequence), senml, &mut out).unwrap();
        out[..len].to_vec()
    }
}

fn open<'b>(
    bytes: &'b [u8],
    device: &Device,
    sequence: u64,
    audience: &str,
) -> Result<Verified<'b>, ObjectError> {
    let audience = Audience::new(audience).unwrap();
    SealedReading::parse(bytes)?.verify(&device.public(), &device.identity, sequence, audience)
}

fn temperature(time: Option<u64>) -> Vec<u8> {
    let value = Decimal::new(-125, 1).unwrap();
    let mut out = [0; 64];
    let len = write_pack(time, &[Record { name: "t", unit: Some("Cel"), value }], &mut out).unwrap();
    out[..len].to_vec()
}

#[test]
fn a_temperature_with_its_time_and_signature_fills_one_packet_of_a_mote() {
    let mut device = Device::new(1);
    for path in [Path::Direct, Path::Anonymous] {
        let senml = temperature(Some(1_763_000_000));
        let reading = device.seal(path, 0x1_2345_6789, &senml);
        assert_eq!(senml.len(), 22);
        assert_eq!(reading.len(), MOTE_PAYLOAD);
        assert_eq!(reading.len(), senml.len() + OVERHEAD);
        assert_eq!(open(&reading, &device, 0x1_2345_6789, CELLAR).unwrap().senml(), senml);
    }
}

#[test]
fn the_length_that_fits_is_the_longest_that_does() {
    let mut device = Device::new(15);
    for room in OVERHEAD..700 {
        let fits = senml_len(room);
        let sealed = |device: &mut Device, len: usize| {
            let audience = Audience::default();
            let mut sealer =
                Sealer { signer: &mut device.key, identity: device.identity, path: Path::Direct, audience };
            sealer.seal(Reserved::promised(1), &vec![0; len], &mut vec![0; room])
        };
        assert!(sealed(&mut device, fits).is_ok(), "{fits} in {room}");
        // Where the head of the string grows, a byte stays free.
        assert!(sealed(&mut device, fits + 2).is_err(), "{fits} in {room}");
    }
}

#[test]
fn both_algorithms_sign_what_the_other_does_not_check() {
    let (mut one, mut other) = (Device::with(Algorithm::Ed25519, 2), Device::with(Algorithm::Es256, 3));
    for device in [&mut one, &mut other] {
        let reading = device.seal(Path::Direct, 5, &temperature(None));
        assert!(open(&reading, device, 5, CELLAR).is_ok());
    }
    let reading = one.seal(Path::Direct, 5, &temperature(None));
    let checked = SealedReading::parse(&reading).unwrap().verify(
        &other.public(),
        &one.identity,
        5,
        Audience::new(CELLAR).unwrap(),
    );
    assert_eq!(checked.unwrap_err(), ObjectError::Signature);
}

#[test]
fn a_changed_byte_is_refused_wherever_it_is() {
    let mut device = Device::new(4);
    let reading = device.seal(Path::Anonymous, 9, &temperature(Some(1_763_000_000)));
    for at in 0..reading.len() {
        for bit in 0..8 {
            let mut changed = reading.clone();
            changed[at] ^= 1 << bit;
            assert!(open(&changed, &device, 9, CELLAR).is_err(), "byte {at}, bit {bit}");
        }
    }
}

/// The same object by other bytes, as RFC 8949 and RFC 9052 allow them.
#[derive(Clone, Debug)]
struct Envelope {
    tag: Vec<u8>,
    /// How many bytes the length of each head has: array, protected header, payload, signature.
    lengths: [usize; 4],
    is_indefinite: bool,
    /// In how many pieces payload and signature are.
    in_pieces: bool,
    unprotected: Vec<u8>,
    is_high: bool,
    behind: Vec<u8>,
}

/// The order of the group of P-256, big-endian.
const ORDER: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";

impl Envelope {
    const USUAL: Self = Self {
        tag: Vec::new(),
        lengths: [0; 4],
        is_indefinite: false,
        in_pieces: false,
        unprotected: Vec::new(),
        is_high: false,
        behind: Vec::new(),
    };

    /// The reading in this form: the signature holds for it as before, to whom all forms are one.
    fn around(&self, reading: &[u8], senml: &[u8]) -> Vec<u8> {
        // Algorithm and key id, which has a head of one byte.
        let protected = &reading[2..13];
        let mut signature = reading[reading.len() - 64..].to_vec();
        if self.is_high {
            negate(&mut signature[32..]);
        }
        let [array, header, payload, last] = self.lengths;
        let mut out = self.tag.clone();
        out.extend(if self.is_indefinite { vec![0x9f] } else { head(0x80, 4, array) });
        out.extend(string(protected, header, false));
        out.extend(if self.unprotected.is_empty() { vec![0xa0] } else { self.unprotected.clone() });
        out.extend(string(senml, payload, self.in_pieces));
        out.extend(string(&signature, last, self.in_pieces));
        out.extend(if self.is_indefinite { vec![0xff] } else { Vec::new() });
        out.extend(&self.behind);
        out
    }
}

fn negate(s: &mut [u8]) {
    let mut borrow = 0;
    for (digit, order) in s.iter_mut().zip(hex::decode(ORDER).unwrap()).rev() {
        let difference = i32::from(order) - i32::from(*digit) - borrow;
        (*digit, borrow) = (difference.rem_euclid(256) as u8, i32::from(difference < 0));
    }
}

/// A head whose length has `bytes` bytes: none, 1, 2, 4 or 8, or as many as it needs.
fn head(kind: u8, len: usize, bytes: usize) -> Vec<u8> {
    let needed = if len < 24 {
        0
    } else if len < 256 {
        1
    } else {
        2
    };
    let bytes = bytes.max(needed);
    let long = (len as u64).to_be_bytes();
    match bytes {
        0 => vec![kind | len as u8],
        _ => [&[kind | (24 + bytes.ilog2() as u8)], &long[8 - bytes..]].concat(),
    }
}

fn string(bytes: &[u8], length: usize, in_pieces: bool) -> Vec<u8> {
    let piece = |piece: &[u8]| [head(0x40, piece.len(), length), piece.to_vec()].concat();
    if !in_pieces {
        return piece(bytes);
    }
    let (first, second) = bytes.split_at(bytes.len() / 2);
    [vec![0x5f], piece(first), piece(second), vec![0xff]].concat()
}

fn envelope() -> impl Strategy<Value = Envelope> {
    let tag = prop_oneof![
        4 => Just(""), 1 => Just("d2"), 1 => Just("d812"), 1 => Just("d90012"), 1 => Just("da00000012"),
        1 => Just("d9d9f7"), 1 => Just("d2d2"),
    ];
    let unprotected = prop_oneof![
        4 => Just(""), 1 => Just("a0"), 1 => Just("b800"), 1 => Just("bfff"), 1 => Just("a10127"),
        1 => Just("a10126"), 1 => Just("a10446000000000000"), 1 => Just("a16161f6"), 1 => Just("a1182000"),
    ];
    let length = prop_oneof![4 => Just(0_usize), 1 => Just(1), 1 => Just(2), 1 => Just(4), 1 => Just(8)];
    let rarely = || prop::bool::weighted(0.2);
    let behind = prop_oneof![4 => Just(vec![]), 1 => prop::collection::vec(any::<u8>(), 1..4)];
    let lengths = prop::array::uniform4(length);
    (tag, lengths, rarely(), rarely(), unprotected, rarely(), behind).prop_map(
        |(tag, lengths, is_indefinite, in_pieces, unprotected, is_high, behind)| Envelope {
            tag: hex::decode(tag).unwrap(),
            lengths,
            is_indefinite,
            in_pieces,
            unprotected: hex::decode(unprotected).unwrap(),
            is_high,
            behind,
        },
    )
}

#[test]
fn a_reading_has_one_form_whatever_rfc_8949_and_rfc_9052_allow() {
    let usual = || Envelope::USUAL;
    let tagged = |tag: &[u8]| Envelope { tag: tag.to_vec(), ..usual() };
    let unprotected = |header: &[u8]| Envelope { unprotected: header.to_vec(), ..usual() };
    let mut forms = vec![
        tagged(b"\xd2"),
        tagged(b"\xd8\x12"),
        unprotected(b"\xb8\x00"),
        unprotected(b"\xbf\xff"),
        // The algorithm a second time, another one, a key id, and what nobody knows.
        unprotected(b"\xa1\x01\x27"),
        unprotected(b"\xa1\x01\x26"),
        unprotected(b"\xa1\x04\x41k"),
        unprotected(&[&b"\xa1\x61x\x59\x02\x00"[..], &[0; 512]].concat()),
        Envelope { is_indefinite: true, ..usual() },
        Envelope { in_pieces: true, ..usual() },
        Envelope { behind: vec![0], ..usual() },
    ];
    for (at, bytes) in (0..4).flat_map(|at| [1, 2, 4, 8].map(|bytes| (at, bytes))) {
        let mut lengths = [0; 4];
        lengths[at] = bytes;
        forms.push(Envelope { lengths, ..usual() });
    }
    let senml = temperature(Some(1_763_000_000));
    for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
        let mut device = Device::with(algorithm, 17);
        let reading = device.seal(Path::Direct, 9, &senml);
        assert_eq!(usual().around(&reading, &senml), reading);
        let high = (algorithm == Algorithm::Es256).then(|| Envelope { is_high: true, ..usual() });
        for form in forms.iter().chain(&high) {
            let other = form.around(&reading, &senml);
            // The heads of a signature's 64 bytes and of one byte of length are the shortest.
            assert_eq!(open(&other, &device, 9, CELLAR).is_ok(), other == reading, "{form:?}");
        }
    }
    // The key id in front of the algorithm, a map without a length, long heads: the signature
    // covers all of it, and a signer has one form as well.
    let mut device = Device::new(18);
    for header in
        ["a2044100 0127", "bf0127044100ff", "a201270458 0100", "a201380704 4100", "a10127", "a2012704 40"]
    {
        let header = hex::decode(header.replace(' ', "")).unwrap();
        let object = [&[0x84][..], &string(&header, 0, false), &[0xa0], &string(&senml, 0, false)].concat();
        let mut signature = [0; 64];
        device.key.sign(&[&object], &mut signature).unwrap();
        let object = [&object[..], &string(&signature, 0, false)].concat();
        let (parsed, is_usual) = (motemix_object::Sign1::parse(&object), header == [0xa1, 1, 0x27]);
        assert_eq!(parsed.is_ok(), is_usual, "{header:02x?}");
    }
}

proptest! {
    #[test]
    fn a_mutated_envelope_is_refused_or_is_byte_for_byte_the_original(
        is_es256: bool,
        long in prop_oneof![2 => Just(false), 1 => Just(true)],
        form in envelope(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<u8>()), 0..3),
    ) {
        let mut device = Device::with(if is_es256 { Algorithm::Es256 } else { Algorithm::Ed25519 }, 19);
        let senml = if long { vec![0x81; 200] } else { temperature(None) };
        let mut out = [0; 512];
        let audience = Audience::new(CELLAR).unwrap();
        let mut sealer =
            Sealer { signer: &mut device.key, identity: device.identity, path: Path::Anonymous, audience };
        let len = sealer.seal(Reserved::promised(9), &senml, &mut out).unwrap();
        let reading = &out[..len];
        let form = Envelope { is_high: form.is_high && is_es256, ..form };
        let mut mutated = form.around(reading, &senml);
        for (at, kind, byte) in edits {
            let at = at.index(mutated.len());
            match kind {
                0 => mutated[at] = byte,
                1 => mutated.insert(at, byte),
                _ => {
                    mutated.remove(at);
                }
            }
        }
        if open(&mutated, &device, 9, CELLAR).is_ok() {
            prop_assert_eq!(&mutated[..], reading);
        }
    }
}

#[test]
fn a_signature_holds_for_one_device_one_number_one_audience_and_one_purpose() {
    let mut device = Device::new(5);
    let audience = Audience::new(CELLAR).unwrap();
    let reading = device.seal(Path::Direct, 70_000, &temperature(None));
    assert!(open(&reading, &device, 70_000, CELLAR).is_ok());
    // The same low bits, another number.
    assert!(open(&reading, &device, 70_000 + 0x1_0000, CELLAR).is_err());
    assert!(open(&reading, &device, 70_000, "attic").is_err());
    let same_key = Device { identity: Device::new(6).identity, ..Device::new(5) };
    assert!(open(&reading, &same_key, 70_000, CELLAR).is_err());
    // A registration is no reading, though the device signed both.
    let mut out = [0; 256];
    let credential = device.credential();
    let len = register(&mut device.key, &credential, false, 7, audience, &mut out).unwrap();
    assert!(SealedReading::parse(&out[..len]).is_err());
    assert!(UnverifiedRegistration::parse(&reading).is_err());
}

#[test]
fn two_readings_of_one_device_have_nothing_in_common_that_others_do_not_have() {
    let (mut one, mut other) = (Device::new(7), Device::new(8));
    let senml = temperature(None);
    let [first, second] = [100, 101].map(|number| one.seal(Path::Anonymous, number, &senml));
    let foreign = other.seal(Path::Anonymous, 55, &senml);
    let same = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a == b).collect::<Vec<_>>();
    let (linked, unlinked) = (same(&first, &second), same(&first, &foreign));
    // What all readings of this content have: envelope, algorithm, lengths, SenML. A few of the
    // bytes that are drawn at random are the same by chance.
    let fixed = OVERHEAD - KeyId::LEN - 64 + senml.len();
    for found in [&linked, &unlinked] {
        let count = found.iter().filter(|same| **same).count();
        assert!((fixed..fixed + 5).contains(&count), "{count} of {fixed}");
    }
    // On a direct path they say who sent them.
    let [first, second] = [100, 101].map(|number| one.seal(Path::Direct, number, &senml));
    let ids = [&first, &second].map(|reading| SealedReading::parse(reading).unwrap().key_id());
    assert!(ids.iter().all(|id| id.names(&one.identity) && !id.names(&other.identity)));
}

#[test]
fn a_replayed_reading_is_refused_and_so_is_one_far_ahead() {
    let mut device = Device::new(9);
    for policy in [Policy::STRICT, Policy::WINDOW] {
        let mut fresh = Freshness::starting_at(40);
        let reading = device.seal(Path::Direct, 41, &temperature(None));
        let verified = open(&reading, &device, 41, CELLAR).unwrap();
        assert_eq!(fresh.check(41, policy), Ok(()));
        fresh.admit(&verified, policy).unwrap();
        assert_eq!(fresh.admit(&verified, policy), Err(Stale::Replayed));
        assert_eq!(fresh.check(42 + u64::from(policy.threshold), policy), Ok(()));
        assert_eq!(fresh.check(43 + u64::from(policy.threshold), policy), Err(Stale::FarAhead));
    }
}

#[test]
fn the_last_number_of_all_is_accepted_once_at_most() {
    let mut device = Device::new(4);
    let reading = device.seal(Path::Direct, u64::MAX, &temperature(None));
    let verified = open(&reading, &device, u64::MAX, CELLAR).unwrap();
    let mut fresh = Freshness::starting_at(u64::MAX - 1);
    let accepted = (0..3).filter(|_| fresh.admit(&verified, Policy::WINDOW).is_ok()).count();
    assert!(accepted <= 1, "{accepted} times");
}

#[test]
fn a_window_takes_what_mixes_put_in_another_order_and_a_strict_rule_does_not() {
    let mut device = Device::new(10);
    let mut accepted = [Policy::STRICT, Policy::WINDOW].map(|policy| {
        let mut fresh = Freshness::starting_at(0);
        let order = [3, 1, 2, 0, 70, 5, 69, 68];
        order.map(|number| {
            let reading = device.seal(Path::Direct, number, &temperature(None));
            fresh.admit(&open(&reading, &device, number, CELLAR).unwrap(), policy)
        })
    });
    assert_eq!(accepted[0].iter().filter(|result| result.is_ok()).count(), 2);
    // 5 is 65 below 70: the window ends before it.
    assert_eq!(accepted[1].iter_mut().position(|result| result.is_err()), Some(5));
    assert_eq!(accepted[1].iter().filter(|result| result.is_ok()).count(), 7);
}

/// A reading every mean delay of a mix, through three of them: what a strict rule loses.
#[test]
fn behind_three_poisson_mixes_a_strict_rule_loses_more_than_a_third() {
    let (mut random, readings) = (ChaCha20Rng::seed_from_u64(11), 20_000_u32);
    let mut delay = || -((f64::from(random.next_u32()) + 1.0) / 4_294_967_296.0).ln();
    let mut arrivals: Vec<(f64, u32)> =
        (0..readings).map(|number| (f64::from(number) + delay() + delay() + delay(), number)).collect();
    arrivals.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut highest = None;
    let lost = arrivals.iter().filter(|(_, number)| {
        let is_late = highest.is_some_and(|highest| *number < highest);
        highest = highest.max(Some(*number));
        is_late
    });
    let in_a_thousand = lost.count() * 1000 / arrivals.len();
    assert!((360..400).contains(&in_a_thousand), "{in_a_thousand}");
}

#[test]
fn low_bits_tell_the_number_across_their_wrap() {
    for next in [0_u64, 1, 0x7fff, 0x8000, 0xfffe, 0x1_0000, 0x1_7fff, 0x5_0000_0000] {
        let fresh = Freshness::starting_at(next);
        for number in next.saturating_sub(64)..next + 200 {
            assert_eq!(
                fresh.nearest(KeyId::direct(&Device::new(1).identity, number).low()),
                number,
                "{next}"
            );
        }
    }
}

#[test]
fn an_anonymous_reading_is_found_by_its_key_id_within_the_threshold() {
    let device = Device::new(12);
    let fresh = Freshness::starting_at(1000);
    let found = |number| {
        fresh.sequence_of(&device.identity, KeyId::rotating(&device.identity, number), Policy::WINDOW)
    };
    for number in [936, 1000, 1001, 2024] {
        assert_eq!(found(number), Some(number));
    }
    for number in [935, 2025] {
        assert_eq!(found(number), None);
    }
}

#[test]
fn a_reading_that_was_held_back_still_says_when_it_was_made() {
    let mut device = Device::new(16);
    let senml = temperature(Some(1_763_000_000));
    let reading = device.seal(Path::Anonymous, 3, &senml);
    // Whoever holds it back can make the number wait, and not the time in it.
    assert_eq!(open(&reading, &device, 3, CELLAR).unwrap().senml(), senml);
    let at = reading.windows(4).position(|bytes| bytes == 1_763_000_000_u32.to_be_bytes()).unwrap();
    let mut later = reading.clone();
    later[at + 3] ^= 1;
    assert!(open(&later, &device, 3, CELLAR).is_err());
}

#[test]
fn a_device_that_is_far_ahead_registers_again_and_nobody_takes_it_back() {
    let mut device = Device::new(13);
    let (audience, credential) = (Audience::new(CELLAR).unwrap(), device.credential());
    let mut fresh = Freshness::starting_at(0);
    assert_eq!(fresh.check(90_000, Policy::WINDOW), Err(Stale::FarAhead));
    let mut out = [0; 256];
    for whole in [false, true] {
        let len = register(&mut device.key, &credential, whole, 90_000, audience, &mut out).unwrap();
        // Without the key it is a packet of a mote as well.
        assert_eq!(len <= MOTE_PAYLOAD, !whole, "{len}");
        let registration = UnverifiedRegistration::parse(&out[..len]).unwrap();
        assert_eq!(registration.short_identity().unwrap(), device.identity.short());
        let known = (!whole).then(|| device.public());
        let verified = registration.verify(&device.identity, known.as_ref(), audience).unwrap();
        fresh.register(verified.sequence).unwrap();
        assert_eq!(fresh.check(90_000, Policy::WINDOW), Ok(()));
    }
    // Recorded and shown again, when readings have arrived since.
    let len = register(&mut device.key, &credential, false, 90_000, audience, &mut out).unwrap();
    let reading = device.seal(Path::Direct, 90_003, &temperature(None));
    fresh.admit(&open(&reading, &device, 90_003, CELLAR).unwrap(), Policy::WINDOW).unwrap();
    let again = UnverifiedRegistration::parse(&out[..len]).unwrap();
    let again = again.verify(&device.identity, Some(&device.public()), audience).unwrap();
    assert_eq!(fresh.register(again.sequence), Err(Stale::Late));
}

proptest! {
    #[test]
    fn no_number_is_accepted_twice(
        numbers in prop::collection::vec(0_u64..300, 1..200),
        strict in any::<bool>(),
    ) {
        let policy = Policy { order: if strict { Order::Strict } else { Order::Window }, threshold: 100 };
        let mut device = Device::new(14);
        let mut fresh = Freshness::starting_at(0);
        let mut seen = std::collections::BTreeSet::new();
        for number in numbers {
            let reading = device.seal(Path::Direct, number, b"\x81\xa0");
            let verified = open(&reading, &device, number, CELLAR).unwrap();
            let said = fresh.check(number, policy);
            prop_assert_eq!(fresh.admit(&verified, policy), said);
            // What was kept and read again goes on the same way.
            prop_assert_eq!(Freshness::from_words(fresh.to_words()), fresh);
            if said.is_ok() {
                prop_assert!(seen.insert(number), "{} twice", number);
            }
        }
    }

    #[test]
    fn whatever_arrives_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..160)) {
        let _ = SealedReading::parse(&bytes);
        let _ = UnverifiedRegistration::parse(&bytes);
    }
}

#[test]
fn a_registration_that_overtakes_readings_lets_each_of_them_in_once() {
    let mut fresh = Freshness::starting_at(10);
    fresh.register(14).unwrap();
    for number in 10..14 {
        assert_eq!(fresh.check(number, Policy::WINDOW), Ok(()), "{number}");
        assert_eq!(fresh.check(number, Policy::STRICT), Err(Stale::Late), "{number}");
    }
    assert_eq!(fresh.check(9, Policy::WINDOW), Err(Stale::Replayed));
    // Further on, what was left out does not come in any more.
    fresh.register(14 + 64).unwrap();
    assert_eq!(fresh.check(13, Policy::WINDOW), Err(Stale::Late));
    assert_eq!(fresh.check(77, Policy::WINDOW), Err(Stale::Replayed));
}
