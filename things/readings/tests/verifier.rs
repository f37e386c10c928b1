//! Devices and whoever believes their readings, from the label on the device to its last reading.

use motemix_object::{
    Algorithm, Audience, Credential, Identity, Path, Policy, PrivateKey, Reserved, Sealer, Signer as _,
    Stale, register, retire,
};
use motemix_os::store::Message;
use motemix_readings::devices::{Admitted, MAX_DEVICES, Verdict};
use motemix_readings::{Accepted, Devices, Refusal, Verifier};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use std::time::Duration;

const PACK: &[u8] = b"\x81\xa2\x00\x61t\x02\x15";

struct Sensor {
    key: PrivateKey,
    next: u64,
}

impl Sensor {
    fn new(seed: u64) -> Self {
        Self { key: PrivateKey::generate(Algorithm::Ed25519, &mut ChaCha20Rng::seed_from_u64(seed)), next: 0 }
    }

    fn credential(&self) -> Credential<'static> {
        Credential::new(self.key.public_key(), &[]).unwrap()
    }

    fn identity(&self) -> Identity {
        self.credential().identity().unwrap()
    }

    fn introduction(&self) -> Vec<u8> {
        let mut out = [0; 256];
        let len = self.credential().encode(&mut out).unwrap();
        out[..len].to_vec()
    }

    fn registration(&mut self, whole: bool) -> Vec<u8> {
        let (mut out, credential) = ([0; 256], self.credential());
        let len = register(&mut self.key, &credential, whole, self.next, audience(), &mut out).unwrap();
        out[..len].to_vec()
    }

    fn reading(&mut self, path: Path) -> Vec<u8> {
        self.sealed(path, PACK)
    }

    fn sealed(&mut self, path: Path, pack: &[u8]) -> Vec<u8> {
        let mut out = [0; 256];
        let number = Reserved::promised(self.next);
        self.next += 1;
        let identity = self.identity();
        let mut sealer = Sealer { signer: &mut self.key, identity, path, audience: audience() };
        let len = sealer.seal(number, pack, &mut out).unwrap();
        out[..len].to_vec()
    }
}

fn audience() -> Audience<'static> {
    Audience::new("plant").unwrap()
}

struct Server {
    folder: tempfile::TempDir,
    verifier: Verifier,
}

impl Server {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let verifier = Self::begin(&folder);
        Self { folder, verifier }
    }

    fn begin(folder: &tempfile::TempDir) -> Verifier {
        Verifier::new(Devices::open(folder.path().join("devices.db")).unwrap(), Policy::WINDOW)
    }

    /// As after `kill -9`: nothing is left but the file.
    fn restart(&mut self) {
        self.verifier = Self::begin(&self.folder);
    }

    fn authorise(&mut self, sensor: &Sensor, place: &str) {
        let devices = self.verifier.devices();
        devices.authorise(sensor.identity().short(), place, "temperature", Admitted::ByList).unwrap();
    }

    fn gets(&mut self, message: &[u8]) -> Result<Accepted, Refusal> {
        self.verifier.look_at(message, audience(), 1_763_000_000)
    }

    /// Looks at the messages of an inbox.
    fn judges(&mut self, messages: &[Message]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        self.verifier.judge(messages, audience(), |_, verdict| verdicts.push(verdict)).unwrap();
        verdicts
    }

    fn believes(&mut self, message: &[u8]) -> bool {
        matches!(self.gets(message), Ok(Accepted::Reading { .. }))
    }
}

#[test]
fn a_device_whose_label_was_scanned_shows_its_key_and_is_believed() {
    let (mut server, mut sensor) = (Server::new(), Sensor::new(1));
    assert!(matches!(server.gets(&sensor.introduction()), Err(Refusal::Unknown)));
    server.authorise(&sensor, "cellar");
    assert!(matches!(server.gets(&sensor.reading(Path::Direct)), Err(Refusal::NoKey(_))));
    // Both fit a packet of a mote; one message that has both does not.
    assert!(sensor.introduction().len() <= 103 && sensor.registration(false).len() <= 103);
    assert!(matches!(server.gets(&sensor.registration(false)), Err(Refusal::NoKey(_))));
    assert!(matches!(server.gets(&sensor.introduction()), Ok(Accepted::Introduced { .. })));
    assert!(matches!(server.gets(&sensor.registration(false)), Ok(Accepted::Registered { sequence: 1, .. })));
    for path in [Path::Direct, Path::Anonymous, Path::Direct] {
        match server.gets(&sensor.reading(path)).unwrap() {
            Accepted::Reading { device, senml, .. } => {
                assert_eq!((device.place.as_str(), senml.as_slice()), ("cellar", PACK));
            }
            other => panic!("{other:?}"),
        }
    }
    let device = server.verifier.devices().device(sensor.identity().short()).unwrap().unwrap();
    assert_eq!((device.accepted, device.heard_at), (3, Some(1_763_000_000)));
}

#[test]
fn what_was_believed_before_a_restart_is_not_believed_after_it() {
    let (mut server, mut sensor) = (Server::new(), Sensor::new(2));
    server.authorise(&sensor, "cellar");
    server.gets(&sensor.registration(true)).unwrap();
    let readings: Vec<_> = (0..4).map(|_| sensor.reading(Path::Anonymous)).collect();
    assert!(server.believes(&readings[1]));
    server.restart();
    assert!(matches!(server.gets(&readings[1]), Err(Refusal::Stale(_, Stale::Replayed))));
    assert!(server.believes(&readings[3]) && server.believes(&readings[0]) && server.believes(&readings[2]));
    server.restart();
    assert!(readings.iter().all(|reading| !server.believes(reading)));
}

#[test]
fn a_device_that_went_on_while_nobody_listened_registers_again() {
    let (mut server, mut sensor) = (Server::new(), Sensor::new(3));
    server.authorise(&sensor, "cellar");
    server.gets(&sensor.registration(true)).unwrap();
    sensor.next = 5_000;
    assert!(matches!(server.gets(&sensor.reading(Path::Direct)), Err(Refusal::Stale(_, Stale::FarAhead))));
    // On an anonymous path nobody can tell whose it is.
    assert!(matches!(server.gets(&sensor.reading(Path::Anonymous)), Err(Refusal::Unknown)));
    server.gets(&sensor.registration(false)).unwrap();
    assert!(
        server.believes(&sensor.reading(Path::Anonymous)) && server.believes(&sensor.reading(Path::Direct))
    );
}

#[test]
fn a_sequence_that_was_rolled_back_after_a_power_cut_is_refused() {
    let (mut server, mut sensor) = (Server::new(), Sensor::new(4));
    server.authorise(&sensor, "cellar");
    server.gets(&sensor.registration(true)).unwrap();
    for _ in 0..100 {
        assert!(server.believes(&sensor.reading(Path::Direct)));
    }
    // A device that reserves no numbers begins again.
    sensor.next = 0;
    assert!(matches!(server.gets(&sensor.reading(Path::Direct)), Err(Refusal::Stale(_, Stale::Late))));
    assert!(matches!(server.gets(&sensor.registration(true)), Err(Refusal::Stale(_, Stale::Late))));
}

#[test]
fn two_devices_whose_identities_begin_alike_are_both_believed() {
    let (mut server, mut one) = (Server::new(), Sensor::new(5));
    server.authorise(&one, "cellar");
    server.gets(&one.registration(true)).unwrap();
    // Somebody who wants the cellar's readings refused puts an identity beside it that begins with
    // the same bytes, as 2³² tries make one.
    let mut alike = one.identity().short();
    alike[15] ^= 1;
    server.verifier.devices().authorise(alike, "attic", "", Admitted::ByList).unwrap();
    assert!(server.believes(&one.reading(Path::Direct)));
}

#[test]
fn first_use_has_as_many_places_as_somebody_gave() {
    let mut server = Server::new();
    server.verifier.devices().set_places_on_first_use(1).unwrap();
    let [mut first, second] = [6, 7].map(Sensor::new);
    // A forged registration takes no place.
    let mut forged = first.registration(true);
    *forged.last_mut().unwrap() ^= 1;
    assert!(matches!(server.gets(&forged), Err(Refusal::Signature(_))));
    server.gets(&first.registration(true)).unwrap();
    assert!(matches!(server.gets(&second.introduction()), Err(Refusal::Unknown)));
    assert!(server.believes(&first.reading(Path::Direct)));
    let admitted: Vec<_> =
        server.verifier.devices().all().unwrap().iter().map(|device| device.admitted).collect();
    assert_eq!(admitted, [Admitted::OnFirstUse]);
}

#[test]
fn a_successor_takes_the_place_and_the_retired_device_is_believed_no_more() {
    let (mut server, mut old, mut new) = (Server::new(), Sensor::new(8), Sensor::new(9));
    server.authorise(&old, "cellar");
    server.gets(&old.registration(true)).unwrap();
    let mut out = [0; 512];
    let (before, after) = (old.credential(), new.credential());
    let len = retire(&mut old.key, &before, &mut new.key, &after, &mut out).unwrap();
    // Somebody else's key can be no successor, because that key has to agree.
    let mut stolen = out;
    stolen[len - 1] ^= 1;
    assert!(server.gets(&stolen[..len]).is_err());
    assert!(matches!(server.gets(&out[..len]), Ok(Accepted::Succeeded { .. })));
    assert!(matches!(server.gets(&old.reading(Path::Direct)), Err(Refusal::Retired(_))));
    assert!(matches!(server.gets(&old.registration(true)), Err(Refusal::Retired(_))));
    match server.gets(&new.reading(Path::Anonymous)).unwrap() {
        Accepted::Reading { device, .. } => assert_eq!(device.place, "cellar"),
        other => panic!("{other:?}"),
    }
    // Shown again, or with another successor, it changes nothing.
    assert!(matches!(server.gets(&out[..len]), Ok(Accepted::Succeeded { .. })));
    let mut third = Sensor::new(10);
    let after = third.credential();
    let len = retire(&mut old.key, &before, &mut third.key, &after, &mut out).unwrap();
    assert!(matches!(server.gets(&out[..len]), Err(Refusal::Retired(_))));
}

/// What `old` and `new` sign when the key of one gives way to that of the other.
fn retirement(old: &mut Sensor, new: &mut Sensor) -> Vec<u8> {
    let mut out = [0; 512];
    let (before, after) = (old.credential(), new.credential());
    let len = retire(&mut old.key, &before, &mut new.key, &after, &mut out).unwrap();
    out[..len].to_vec()
}

#[test]
fn a_successor_counts_from_its_own_beginning_however_far_the_old_key_had_counted() {
    for counted in [1, 500, 50_000] {
        let (mut server, mut old, mut new) = (Server::new(), Sensor::new(11), Sensor::new(12));
        server.authorise(&old, "cellar");
        old.next = counted - 1;
        server.gets(&old.registration(true)).unwrap();
        let last = old.reading(Path::Direct);
        assert!(server.believes(&last));
        let held_back = old.reading(Path::Anonymous);
        server.gets(&retirement(&mut old, &mut new)).unwrap();
        let first = [Path::Anonymous, Path::Direct].map(|path| new.reading(path));
        assert!(first.iter().all(|reading| server.believes(reading)), "{counted}");
        server.restart();
        // Neither of the new key nor of the old one anything is believed again.
        assert!(first.iter().all(|reading| !server.believes(reading)));
        for reading in [last, held_back] {
            assert!(matches!(server.gets(&reading), Err(Refusal::Retired(_))), "{counted}");
        }
    }
}

#[test]
fn a_successor_that_was_heard_before_is_not_believed_twice() {
    let (mut server, mut old, mut new) = (Server::new(), Sensor::new(13), Sensor::new(14));
    for sensor in [&mut old, &mut new] {
        server.authorise(sensor, "cellar");
        server.gets(&sensor.registration(true)).unwrap();
    }
    let heard: Vec<_> = (0..5).map(|_| new.reading(Path::Direct)).collect();
    assert!(heard.iter().all(|reading| server.believes(reading)));
    server.gets(&retirement(&mut old, &mut new)).unwrap();
    assert!(heard.iter().all(|reading| !server.believes(reading)));
    assert!(server.believes(&new.reading(Path::Direct)));
}

#[test]
fn what_is_no_message_of_a_device_is_refused() {
    let mut server = Server::new();
    for message in [&b""[..], b"hello", PACK, &[0x84; 103], &[0xff; 103]] {
        assert!(matches!(server.gets(message), Err(Refusal::Malformed(_))));
    }
}

#[test]
fn what_a_device_signed_that_means_nothing_is_not_believed_and_its_number_is_used() {
    let (mut server, mut sensor) = (Server::new(), Sensor::new(17));
    server.authorise(&sensor, "cellar");
    server.gets(&sensor.registration(true)).unwrap();
    // Version 11, the name `a b`, a record without a value, no SenML at all.
    let packs = [
        &b"\x81\xa3\x20\x0b\x00\x61t\x02\x15"[..],
        b"\x81\xa2\x00\x63a b\x02\x15",
        b"\x81\xa1\x00\x61t",
        b"x",
    ];
    for pack in packs {
        for path in [Path::Direct, Path::Anonymous] {
            let reading = sensor.sealed(path, pack);
            let refused = server.gets(&reading).unwrap_err();
            assert!(matches!(refused, Refusal::Senml(..)), "{refused}");
            assert!(refused.device().is_some() && refused.to_string().contains("SenML"), "{refused}");
            assert!(matches!(server.gets(&reading), Err(Refusal::Stale(..))));
        }
    }
    assert!(server.believes(&sensor.reading(Path::Direct)));
}

/// Two processes with one list, each of which gets messages at the same moment as the other.
fn at_once<'m>(
    server: &Server,
    messages: &(impl Iterator<Item = [&'m [u8]; 2]> + Clone + Sync),
) -> Vec<[bool; 2]> {
    let (begin, folder) = (&std::sync::Barrier::new(2), &server.folder);
    let believed = |which: usize| {
        let mut verifier = Server::begin(folder);
        let believes = |both: [&[u8]; 2]| {
            begin.wait();
            matches!(verifier.look_at(both[which], audience(), 1), Ok(Accepted::Reading { .. }))
        };
        messages.clone().map(believes).collect::<Vec<_>>()
    };
    let believed = &believed;
    let [one, other] = std::thread::scope(|scope| {
        [0, 1].map(|which| scope.spawn(move || believed(which))).map(|thread| thread.join().unwrap())
    });
    one.into_iter().zip(other).map(|(one, other)| [one, other]).collect()
}

#[test]
fn two_processes_with_one_list_believe_a_reading_once() {
    let (mut server, mut sensor) = (Server::new(), Sensor::new(15));
    server.authorise(&sensor, "cellar");
    server.gets(&sensor.registration(true)).unwrap();
    let readings: Vec<_> = (0..64).map(|_| sensor.reading(Path::Direct)).collect();
    for believed in at_once(&server, &readings.iter().map(|reading| [&reading[..]; 2])) {
        assert!(believed == [true, false] || believed == [false, true], "{believed:?}");
    }
}

#[test]
fn what_one_process_believed_another_does_not_forget() {
    let (mut server, mut sensor) = (Server::new(), Sensor::new(16));
    server.authorise(&sensor, "cellar");
    server.gets(&sensor.registration(true)).unwrap();
    let readings: Vec<_> = (0..64).map(|_| sensor.reading(Path::Direct)).collect();
    let pairs = readings.as_chunks::<2>().0.iter().map(|[one, other]| [&one[..], other]);
    assert!(at_once(&server, &pairs).into_iter().all(|believed| believed == [true; 2]));
    server.restart();
    let again = readings.iter().filter(|reading| server.believes(reading)).count();
    assert_eq!(again, 0, "believed twice");
}

#[test]
fn a_device_that_jumps_ahead_holds_nobody_up() {
    let (mut server, mut sensor) = (Server::new(), Sensor::new(17));
    server.authorise(&sensor, "cellar");
    server.gets(&sensor.registration(true)).unwrap();
    // Key ids of its next readings are computed, and have to go when they are of no use any more.
    assert!(server.believes(&sensor.reading(Path::Anonymous)));
    sensor.next = 1 << 50;
    server.gets(&sensor.registration(false)).unwrap();
    assert!(server.believes(&sensor.reading(Path::Anonymous)));
}

#[test]
fn a_full_list_refuses_who_is_new_and_believes_who_is_in_it() {
    let (mut server, mut old, mut new) = (Server::new(), Sensor::new(18), Sensor::new(19));
    server.authorise(&old, "cellar");
    server.gets(&old.registration(true)).unwrap();
    let mut others = 1..MAX_DEVICES as u128;
    let filled = server.verifier.devices().in_one(|devices| {
        devices.set_places_on_first_use(1)?;
        let add = |other: u128| devices.authorise(other.to_be_bytes(), "", "", Admitted::ByList).map(drop);
        others.try_for_each(add)
    });
    filled.unwrap();
    // A stranger who would be trusted on first use, and a device that has got a new key.
    let stranger = Sensor::new(20).introduction();
    let data = [stranger, retirement(&mut old, &mut new), old.reading(Path::Direct)];
    let inbox: Vec<_> = (1..)
        .zip(data)
        .map(|(number, data)| Message { number, received_at: Duration::from_secs(1), data })
        .collect();
    let verdicts = server.judges(&inbox);
    let full = |verdict: &Verdict| verdict.problem.as_ref().is_some_and(|problem| problem.contains("full"));
    assert!(full(&verdicts[0]) && full(&verdicts[1]), "{verdicts:?}");
    assert_eq!(verdicts[2].problem, None);
    // When there is room again, they are looked at again.
    server.restart();
    for other in [1_u128, 2] {
        server.verifier.devices().remove(other.to_be_bytes()).unwrap();
    }
    let verdicts = server.judges(&inbox);
    assert!(verdicts.iter().all(|verdict| verdict.problem.is_none()), "{verdicts:?}");
    assert!(server.believes(&new.reading(Path::Direct)));
}

#[test]
fn what_was_believed_of_an_inbox_that_is_gone_is_not_believed_of_the_next_one() {
    let (mut server, mut sensor) = (Server::new(), Sensor::new(21));
    server.authorise(&sensor, "cellar");
    server.gets(&sensor.registration(true)).unwrap();
    let data = sensor.reading(Path::Direct);
    let arrived =
        |seconds| Message { number: 1, received_at: Duration::from_secs(seconds), data: data.clone() };
    for _ in 0..2 {
        assert_eq!(server.judges(&[arrived(7)])[0].problem, None, "it is the same message");
    }
    // The inbox was removed; somebody sends the reading again, and it is the first of the new one.
    server.restart();
    let problem = server.judges(&[arrived(8)]).remove(0).problem;
    assert_eq!(problem.as_deref(), Some("it arrived before"));
}

#[test]
fn a_device_that_was_taken_out_and_put_in_again_is_not_believed_twice() {
    for on_first_use in [false, true] {
        let (mut server, mut sensor) = (Server::new(), Sensor::new(22));
        server.authorise(&sensor, "cellar");
        let registration = sensor.registration(true);
        server.gets(&registration).unwrap();
        let readings: Vec<_> = (0..3).map(|_| sensor.reading(Path::Direct)).collect();
        assert!(server.believes(&readings[0]) && server.believes(&readings[2]));
        server.verifier.devices().remove(sensor.identity().short()).unwrap();
        assert!(!server.believes(&readings[1]));
        server.restart();
        if on_first_use {
            server.verifier.devices().set_places_on_first_use(1).unwrap();
        } else {
            server.authorise(&sensor, "attic");
        }
        // All of it was recorded.
        let _ = server.gets(&registration);
        server.gets(&sensor.introduction()).unwrap();
        let believed: Vec<_> = readings.iter().map(|reading| server.believes(reading)).collect();
        assert_eq!(believed, [false, true, false], "the one that had not arrived");
        assert!(server.believes(&sensor.reading(Path::Anonymous)));
    }
}
