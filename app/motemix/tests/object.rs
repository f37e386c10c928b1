//! Signed readings, as users sign and check them: with files, pipes and a running network.

#[path = "object/commands.rs"]
mod commands;
#[path = "object/hostile.rs"]
mod hostile;
#[path = "object/jws.rs"]
mod jws;
#[path = "object/links.rs"]
mod links;
mod program;
#[path = "../../../net/neighbour/tests/peers/python.rs"]
#[expect(dead_code, reason = "other crates ask other peers")]
mod python;
#[path = "object/vanished.rs"]
mod vanished;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use motemix_object::{Algorithm, KeyId, OtherKind, SealedReading};
use motemix_readings::jws::MAX_JWS_LEN;
use motemix_readings::keys::DeviceKey;
use program::{Run, motemix};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;

/// `[{-3: 1763000000, 0: "t", 1: "Cel", 2: 4([-1, 215])}]`
const SENML: &str = "81a4221a69153ec0006174016343656c02c482 2018d7";

/// A device, a server that is to believe it, and their files.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        let serial = [(OtherKind::Serial, b"A-17".to_vec())];
        DeviceKey::create(desk.path("mote.key"), Algorithm::Ed25519, &serial).unwrap();
        fs::write(desk.path("reading.cbor"), hex::decode(SENML.replace(' ', "")).unwrap()).unwrap();
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The file of the key's counter.
    fn counter(&self) -> PathBuf {
        self.path(&format!("mote.key.{}.counter", &self.identity()[..8]))
    }

    fn identity(&self) -> String {
        DeviceKey::load(self.path("mote.key")).unwrap().identity().to_string()
    }

    fn object(&self, words: &[&str]) -> Run {
        let words = words.iter().map(|word| match word.strip_prefix('@') {
            Some(file) => self.text(file),
            None => (*word).to_owned(),
        });
        motemix(std::iter::once("object".to_owned()).chain(words))
    }

    /// A message in a file of this name.
    fn message(&self, name: &str, words: &[&str]) {
        fs::write(self.path(name), self.object(words).succeeds()).unwrap();
    }

    fn verify(&self, message: &str, more: &[&str]) -> Run {
        let message = format!("@{message}");
        self.object(&[&["verify", "--devices", "@devices.db", message.as_str()], more].concat())
    }

    fn authorise(&self) {
        let list = format!("identity,place,purpose\n{},cellar,temperature\n", self.identity());
        fs::write(self.path("kit.csv"), list).unwrap();
        let said = self.object(&["authorise", "--devices", "@devices.db", "@kit.csv"]).succeeds();
        assert_eq!(said, "1 device is put into the list\n");
    }
}

#[test]
fn a_device_is_authorised_shows_its_key_and_is_believed_once() {
    let desk = Desk::new();
    desk.message("introduction", &["introduce", "@mote.key"]);
    desk.verify("introduction", &[]).fails(2, &["no such list", "motemix object authorise"]);
    desk.object(&["authorise", "--devices", "@devices.db", "--first-use", "0"]).succeeds();
    desk.verify("introduction", &[]).fails(1, &["not believed", "motemix object authorise"]);
    desk.authorise();
    let said = desk.verify("introduction", &[]).succeeds();
    assert!(said.starts_with("cellar temperature ") && said.ends_with(": has shown its key\n"), "{said}");
    desk.message("reading", &["sign", "@mote.key", "@reading.cbor"]);
    let said = desk.verify("reading", &[]).succeeds();
    assert!(said.ends_with(" (reading 0): t 21.5 Cel\n"), "{said}");
    desk.verify("reading", &[]).fails(1, &["not believed: cellar temperature", "it arrived before"]);
    let devices = desk.object(&["devices", "--devices", "@devices.db", "--json"]).succeeds();
    let devices: Value = serde_json::from_str(&devices).unwrap();
    let device = &devices["devices"][0];
    assert_eq!(
        (&device["state"], &device["next"], &device["readings"]),
        (&"known".into(), &1.into(), &1.into())
    );
}

#[test]
fn bytes_pass_through_pipes() {
    let desk = Desk::new();
    desk.authorise();
    let program = motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix"));
    let (key, devices, reading) = (desk.text("mote.key"), desk.text("devices.db"), desk.text("reading.cbor"));
    let piped = |command: String| Run::by(Command::new("bash").args(["-o", "pipefail", "-c", &command]));
    piped(format!(
        "'{program}' object register '{key}' --raw | '{program}' object verify --devices '{devices}'"
    ))
    .succeeds();
    let said = piped(format!(
        "'{program}' object sign '{key}' --path anonymous --audience plant --raw < '{reading}' \
         | '{program}' object verify --devices '{devices}' --audience plant --json"
    ));
    let said: Value = serde_json::from_str(&said.succeeds()).unwrap();
    assert_eq!((&said["kind"], &said["place"]), (&"reading".into(), &"cellar".into()));
    assert_eq!((&said["senml"][0]["v"], &said["sequence"]), (&21.5.into(), &0.into()));
}

#[test]
fn what_means_nothing_is_neither_signed_nor_believed() {
    let desk = Desk::new();
    desk.authorise();
    desk.message("registration", &["register", "@mote.key"]);
    desk.verify("registration", &[]).succeeds();
    let number = fs::read_to_string(desk.counter()).ok();
    fs::write(desk.path("mote.card"), motemix(["id", "show", "--card", &desk.text("mote.key")]).succeeds())
        .unwrap();
    for (senml, words) in [
        (&br#"[{"bver":11,"n":"t","v":1}]"#[..], "version 11"),
        (br#"[{"n":"a b","v":1}]"#, "\"a b\" is no name"),
        (br#"[{"n":"t"}]"#, "neither a value nor a sum"),
        (br#"{"temperature":33.06}"#, "not SenML in JSON: not an array of records"),
        (b"\xef\xbb\xbf{}", "not SenML in JSON: not an array of records"),
        (b"\x81\xa1\x00\x61t", "neither a value nor a sum"),
        (b"\x81\xa2\x00\x61t\x02\xf9\x7e\x00", "label \"v\": a number beyond the range"),
    ] {
        fs::write(desk.path("senml"), senml).unwrap();
        desk.object(&["sign", "@mote.key", "@senml"]).fails(2, &["senml: ", words]);
        desk.object(&["sign", "@mote.key", "@senml", "--format", "jws"]).fails(2, &["senml: ", words]);
        desk.object(&["command", "@mote.key", "@senml", "--device", "@mote.card"])
            .fails(2, &["senml: ", words]);
    }
    // No number was used.
    assert_eq!(fs::read_to_string(desk.counter()).ok(), number);
    // Another program signs what it likes: it is told what is wrong with it.
    let mut key = DeviceKey::load(desk.path("mote.key")).unwrap();
    let (identity, audience) = (key.identity(), motemix_object::Audience::default());
    let mut sealer = motemix_object::Sealer {
        signer: key.signer(),
        identity,
        path: motemix_object::Path::Direct,
        audience,
    };
    let mut out = [0; 200];
    let number = motemix_object::Reserved::promised(0);
    let len = sealer.seal(number, b"\x81\xa2\x00\x63a b\x02\x15", &mut out).unwrap();
    fs::write(desk.path("reading"), &out[..len]).unwrap();
    let words =
        ["not believed: cellar temperature", "the device signed what means nothing", "\"a b\" is no name"];
    desk.verify("reading", &[]).fails(1, &words);
    // Maps without a length, and a file of Windows.
    desk.message("registration", &["register", "@mote.key", "--next", "5"]);
    desk.verify("registration", &[]).succeeds();
    for (senml, said) in [
        (&b"\x81\xbf\x00\x61t\x02\x18\x2a\xff"[..], "t 42\n"),
        (b"\xef\xbb\xbf[{\"n\":\"t\",\"v\":7}]\r\n", "t 7\n"),
    ] {
        fs::write(desk.path("senml"), senml).unwrap();
        desk.message("reading", &["sign", "@mote.key", "@senml"]);
        let believed = desk.verify("reading", &[]).succeeds();
        assert!(believed.ends_with(said), "{believed}");
    }
}

#[test]
fn several_messages_are_checked_a_line_each_and_a_wrong_audience_is_named() {
    let desk = Desk::new();
    desk.authorise();
    let mut lines = desk.object(&["register", "@mote.key", "--audience", "plant"]).succeeds();
    for _ in 0..2 {
        lines += &desk.object(&["sign", "@mote.key", "@reading.cbor", "--audience", "plant"]).succeeds();
    }
    lines += "\nall is well\n";
    let jws = ["sign", "@mote.key", "@reading.cbor", "--audience", "plant", "--format", "jws"];
    lines += &desk.object(&jws).succeeds();
    let data = desk.object(&["sign", "@mote.key", "@reading.cbor", "--audience", "plant"]).succeeds();
    let lines = format!("{lines}{{\"number\":7,\"data_hex\":\"{}\"}}\n", data.trim());
    fs::write(desk.path("lines"), &lines).unwrap();
    let run = desk.verify("lines", &["--audience", "plant", "--json"]);
    assert_eq!(run.status(), 2, "{}", run.stderr());
    let said: Vec<Value> = run.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<_> = said.iter().filter_map(|said| said["sequence"].as_u64()).collect();
    assert_eq!((said.len(), &numbers[..]), (5, &[0, 1, 2, 3][..]), "{}", run.stdout());
    for words in ["lines, line 5: it is a text and no signed object", "1 of 6 messages are not believed"] {
        assert!(run.stderr().contains(words), "{}", run.stderr());
    }
    let again = desk.verify("lines", &["--audience", "plant"]);
    assert!(again.stderr().contains("lines, line 2: not believed"), "{}", again.stderr());

    desk.message("reading", &["sign", "@mote.key", "@reading.cbor", "--audience", "plant"]);
    let words = ["the signature does not hold", "another audience", "\"net\" (--audience)"];
    desk.verify("reading", &["--audience", "net"]).fails(1, &words);
    desk.verify("reading", &[]).fails(1, &["no audience was named here (--audience)"]);
    desk.verify("reading", &["--audience", "plant"]).succeeds();
    // Anybody may send anything to an inbox: what nobody has signed is passed over, and said to be.
    let of_inbox = |bytes: &[u8]| format!("{{\"data_hex\":\"{}\"}}\n", hex::encode(bytes));
    let signed = desk.object(&["sign", "@mote.key", "@reading.cbor", "--audience", "plant"]).succeeds();
    let texts = of_inbox("all is well".as_bytes()) + &of_inbox(&fs::read(desk.path("reading.cbor")).unwrap());
    fs::write(desk.path("inbox"), texts.clone() + &of_inbox(&hex::decode(signed.trim()).unwrap())).unwrap();
    let run = desk.verify("inbox", &["--audience", "plant"]);
    assert_eq!((run.status(), run.stdout().lines().count()), (0, 1), "{}", run.stderr());
    for words in
        ["line 1: passed over: it is a text", "line 2: passed over: it is SenML that nobody has signed"]
    {
        assert!(run.stderr().contains(words), "{}", run.stderr());
    }
    fs::write(desk.path("inbox"), &texts).unwrap();
    let run = desk.verify("inbox", &["--audience", "plant"]);
    assert_eq!(run.status(), 2);
    assert!(run.stderr().ends_with("nothing was checked: no message here is signed\n"), "{}", run.stderr());
    // Bytes have no lines.
    let raw: Vec<u8> = lines.lines().take(3).flat_map(|line| hex::decode(line).unwrap()).collect();
    fs::write(desk.path("raw"), raw).unwrap();
    desk.verify("raw", &["--audience", "plant"]).fails(2, &["several messages in lines", "--raw"]);
}

#[test]
fn a_reading_in_json_is_signed_in_cbor_with_the_digits_it_has() {
    let desk = Desk::new();
    desk.authorise();
    desk.message("registration", &["register", "@mote.key"]);
    desk.verify("registration", &[]).succeeds();
    fs::write(desk.path("reading.json"), r#"[{"n":"t","u":"Cel","v":21.10},{"n":"ok","vb":true}]"#).unwrap();
    desk.message("reading", &["sign", "@mote.key", "@reading.json"]);
    let said = desk.verify("reading", &[]).succeeds();
    assert!(said.ends_with("t 21.1 Cel, ok true\n"), "{said}");
    fs::write(desk.path("bad.json"), "[\n{\"n\":\"t\",\"v\":1},\n{\"n\":\"t\" \"v\":2}]").unwrap();
    desk.object(&["sign", "@mote.key", "@bad.json"]).fails(2, &["line 3"]);
}

#[test]
fn a_reading_for_somebody_else_and_one_that_was_changed_are_not_believed() {
    let desk = Desk::new();
    desk.authorise();
    desk.message("registration", &["register", "@mote.key"]);
    desk.verify("registration", &[]).succeeds();
    desk.message("reading", &["sign", "@mote.key", "@reading.cbor", "--audience", "attic"]);
    desk.verify("reading", &["--audience", "plant"]).fails(1, &["the signature does not hold"]);
    let mut text = fs::read_to_string(desk.path("reading")).unwrap();
    let at = text.len() - 2;
    text.replace_range(at..=at, if text.as_bytes()[at] == b'0' { "1" } else { "0" });
    fs::write(desk.path("changed"), text).unwrap();
    desk.verify("changed", &["--audience", "attic"]).fails(1, &["the signature does not hold"]);
    desk.verify("reading", &["--audience", "attic"]).succeeds();
}

#[test]
fn a_counter_from_a_backup_is_noticed_and_the_remedy_works() {
    let desk = Desk::new();
    desk.authorise();
    desk.message("registration", &["register", "@mote.key"]);
    desk.verify("registration", &[]).succeeds();
    for _ in 0..80 {
        desk.message("reading", &["sign", "@mote.key", "@reading.cbor"]);
        desk.verify("reading", &[]).succeeds();
    }
    fs::remove_file(desk.counter()).unwrap();
    desk.object(&["sign", "@mote.key", "@reading.cbor"])
        .fails(1, &[".counter", "it is gone", "used again", "mote.key --next N"]);
    desk.object(&["register", "@mote.key"]).fails(2, &[".counter", "it is gone"]);
    // A number that somebody mistook is noticed by whoever believes the device.
    desk.message("registration", &["register", "@mote.key", "--next", "0"]);
    desk.verify("registration", &[]).fails(1, &[]);
    desk.message("reading", &["sign", "@mote.key", "@reading.cbor"]);
    desk.verify("reading", &[]).fails(1, &["its number is below one that arrived before"]);
    desk.message("registration", &["register", "@mote.key", "--next", "80"]);
    desk.verify("registration", &[]).succeeds();
    desk.message("reading", &["sign", "@mote.key", "@reading.cbor"]);
    desk.verify("reading", &[]).succeeds();
    // A list shows the least number that it would believe; a counter that is further stays there.
    let said = desk.object(&["register", "@mote.key", "--next", "10"]);
    assert!(said.stderr().contains(".counter: 81 comes next already, and stays"), "{}", said.stderr());
    fs::write(desk.path("registration"), said.succeeds()).unwrap();
    assert!(desk.verify("registration", &[]).succeeds().contains("its next reading is 81"));
}

#[test]
fn a_key_that_follows_counts_from_its_own_beginning_and_nothing_of_the_old_one_is_believed_again() {
    let desk = Desk::new();
    desk.authorise();
    desk.message("registration", &["register", "@mote.key"]);
    desk.verify("registration", &[]).succeeds();
    for number in 0..3 {
        let name = format!("old-{number}");
        desk.message(&name, &["sign", "@mote.key", "@reading.cbor"]);
        desk.verify(&name, &[]).succeeds();
    }
    // Signed with the old key, and held back.
    desk.message("held-back", &["sign", "@mote.key", "@reading.cbor"]);
    motemix(["id", "rotate", &desk.text("mote.key"), "--statement", &desk.text("statement")]).succeeds();
    desk.verify("statement", &[]).succeeds();

    // Also if a reading is lost meanwhile, and the list is opened anew for each.
    for number in 0..3 {
        desk.message("new", &["sign", "@mote.key", "@reading.cbor"]);
        if number != 1 {
            let said = desk.verify("new", &[]).succeeds();
            assert!(said.contains(&format!("(reading {number})")), "{said}");
        }
        desk.verify("statement", &[]).succeeds();
    }
    desk.verify("new", &[]).fails(1, &["it arrived before"]);
    for old in ["old-0", "old-2", "held-back", "registration"] {
        desk.verify(old, &[]).fails(1, &["not believed", "has taken its place"]);
    }
}

#[test]
fn a_wrong_line_of_a_list_is_named_and_nothing_changes() {
    let desk = Desk::new();
    desk.authorise();
    let identity = desk.identity();
    let good = "00112233445566778899aabbccddeeff";
    for (text, words) in [
        ("", &["line 1", "identity,place,purpose"][..]),
        ("name,place,purpose\n", &["line 1"]),
        ("identity,place,purpose\n", &["no device"]),
        (
            &format!("identity,place,purpose\n{good},attic,humidity\nxyz,a,b\n"),
            &["line 3", "32 or 64 hex digits"],
        ),
        (&format!("identity,place,purpose\n{good},attic\n"), &["line 2", "commas"]),
        (&format!("identity,place,purpose\n{good},a,b\n\n{good},c,d\n"), &["line 4", "earlier line"]),
        ("identity,place,purpose\n\"00", &["line 2"]),
        (&format!("identity,place,purpose\n{good},{},\n", "x".repeat(200)), &["128 bytes"]),
    ] {
        fs::write(desk.path("bad.csv"), text).unwrap();
        desk.object(&["authorise", "--devices", "@devices.db", "@bad.csv"]).fails(2, words);
    }
    fs::write(desk.path("bad.csv"), b"identity,place,purpose\n\xff\xfe").unwrap();
    desk.object(&["authorise", "--devices", "@devices.db", "@bad.csv"]).fails(2, &["bad.csv"]);
    desk.object(&["authorise", "--devices", "@devices.db", "@none.csv"])
        .fails(2, &["none.csv", "check the path"]);
    let devices = desk.object(&["devices", "--devices", "@devices.db"]).succeeds();
    assert!(devices.contains(&identity[..32]) && devices.lines().count() == 2, "{devices}");
    // The text of a QR code, and digits in groups.
    let grouped = "0011 2233 4455 6677 8899 aabb ccdd eeff";
    let scanned =
        format!("identity,place,purpose\nMOTEMIX:ID:{},cellar,\n{grouped},attic,\n", identity.to_uppercase());
    fs::write(desk.path("scanned.csv"), scanned).unwrap();
    let said = desk.object(&["authorise", "--devices", "@devices.db", "@scanned.csv"]).succeeds();
    assert_eq!(said, "1 device is put into the list; 1 is there already\n");
}

#[test]
fn what_is_no_message_or_no_reading_ends_in_one_line() {
    let desk = Desk::new();
    desk.authorise();
    fs::write(desk.path("empty"), "\n").unwrap();
    desk.verify("empty", &[]).fails(2, &["empty: it is empty"]);
    fs::write(desk.path("junk"), "hello").unwrap();
    desk.verify("junk", &[]).fails(2, &["junk: it is a text and no signed object", "`motemix inbox --json`"]);
    for bytes in [&b"8400"[..], &[0x84; 90], &[0x82, 0x06, 0x58]] {
        fs::write(desk.path("junk"), bytes).unwrap();
        desk.verify("junk", &[]).fails(2, &["junk: no signed object", "byte", "copy all of it"]);
        desk.object(&["sign", "@mote.key", "@junk"]).fails(2, &["junk", "SenML"]);
    }
    // What could not be signed took no number.
    assert!(!desk.counter().exists());
    desk.object(&["sign", "@nobody.key", "@reading.cbor"]).fails(2, &["nobody.key"]);
    fs::write(desk.path("long"), vec![0; MAX_JWS_LEN + 1]).unwrap();
    desk.verify("long", &[]).fails(2, &["long", "1400276 bytes"]);
    desk.object(&["sign", "@mote.key", "@long"]).fails(2, &["long", "65536 bytes"]);
    fs::write(desk.counter(), "5\n").unwrap();
    desk.object(&["sign", "@mote.key", "@reading.cbor"]).fails(1, &[".counter", "not a counter"]);
}

#[test]
fn whoever_takes_one_message_for_another_is_told_what_it_is() {
    let desk = Desk::new();
    desk.authorise();
    fs::write(desk.path("open.json"), r#"[{"n":"valve","vb":true}]"#).unwrap();
    fs::write(desk.path("mote.card"), motemix(["id", "show", "--card", &desk.text("mote.key")]).succeeds())
        .unwrap();
    desk.message("reading", &["sign", "@mote.key", "@reading.cbor"]);
    desk.message("pairing", &["pair", "@mote.key", "--device", "@mote.card"]);
    desk.message("command", &["command", "@mote.key", "@open.json", "--device", "@mote.card"]);
    for (name, words) in [
        ("pairing", "it is a pairing; the device opens it with `motemix id pair`"),
        ("command", "it is a command; the device checks it with `motemix object obey`"),
        ("reading", "it is a reading; `motemix object verify` checks it"),
        ("open.json", "nobody has signed"),
        ("mote.card", "it is a file about a device"),
        ("mote.key", "it is a file about a device"),
    ] {
        if name != "reading" {
            desk.verify(name, &[]).fails(2, &[name, words]);
        }
        if name != "command" {
            desk.object(&["obey", "@mote.key", &format!("@{name}")]).fails(2, &[name, words]);
        }
        if name != "pairing" {
            let refused = motemix(["id", "pair", &desk.text("mote.key"), &desk.text(name)]);
            refused.fails(2, &[name, words]);
        }
    }
    desk.object(&["sign", "@mote.card", "@open.json"]).fails(2, &["mote.card", "has no secret", "key"]);
    desk.object(&["sign", "@open.json", "@open.json"]).fails(2, &["open.json", "no device's key"]);
    // A typing error makes no list.
    desk.object(&["verify", "--devices", "@other.db", "@reading"]).fails(2, &["other.db", "no such list"]);
    assert!(!desk.path("other.db").exists());
}

#[test]
fn an_installers_list_without_an_end_is_not_read_to_its_end() {
    let desk = Desk::new();
    let words = ["authorise", "--devices", "@devices.db", "/dev/zero"];
    desk.object(&words).fails(2, &["/dev/zero", "longer than 1048576 bytes"]);
}

#[test]
fn trust_on_first_use_says_what_it_is_worth() {
    let desk = Desk::new();
    let said = desk.object(&["authorise", "--devices", "@devices.db", "--first-use", "1"]).succeeds();
    assert!(said.contains("whoever that is") && said.contains("compare"), "{said}");
    desk.message("registration", &["register", "@mote.key"]);
    desk.verify("registration", &[]).succeeds();
    let devices = desk.object(&["devices", "--devices", "@devices.db"]).succeeds();
    assert!(devices.contains("first use") && !devices.contains("will be trusted"), "{devices}");
    desk.object(&["authorise", "--devices", "@devices.db", "--remove", &desk.identity()]).succeeds();
    desk.verify("registration", &[]).fails(1, &["not believed"]);
}

/// Signs until it is killed; the numbers of what it has printed.
fn numbers_until_killed(key: &Path, reading: &Path, after: std::time::Duration) -> Vec<u16> {
    let program = motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix"));
    let (key, reading) = (key.display(), reading.display());
    let command = format!("while true; do '{program}' object sign '{key}' '{reading}'; done");
    // The loop and the program in it are one group.
    let signing = Command::new("bash")
        .args(["-c", &command])
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    rustix::process::kill_process_group(Pid::from_child(&signing), Signal::KILL).unwrap();
    let said = signing.wait_with_output().unwrap().stdout;
    let lines = String::from_utf8(said).unwrap();
    let numbers = lines.lines().filter_map(|line| {
        let bytes = hex::decode(line).ok()?;
        SealedReading::parse(&bytes).ok().map(|reading| KeyId::low(&reading.key_id()))
    });
    numbers.collect()
}

#[test]
fn no_number_is_used_twice_whenever_the_program_is_killed() {
    let desk = Desk::new();
    let mut seen = std::collections::BTreeSet::new();
    // A machine that has much else to do prints few in so short a time.
    for round in 0..100_u64 {
        if round >= 12 && seen.len() > 12 {
            break;
        }
        let after = std::time::Duration::from_millis(40 + 17 * round);
        for number in numbers_until_killed(&desk.path("mote.key"), &desk.path("reading.cbor"), after) {
            assert!(seen.insert(number), "{number} twice");
        }
    }
    assert!(seen.len() > 12, "{}", seen.len());
}

#[test]
fn a_receiver_believes_the_motes_of_its_network_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("demo");
    let dir = network.to_str().unwrap();
    let words = ["demo", "--seconds", "4", "--mean-delay", "10ms", "--json", "--keep", dir];
    let summary: Value = serde_json::from_str(&motemix(words).succeeds()).unwrap();
    assert!(summary["sent"].as_u64() > Some(8), "{summary}");
    assert_eq!((&summary["believed"], &summary["not_believed"]), (&summary["sent"], &0.into()));
    let receiver = format!("{dir}/nodes/receiver/node.toml");
    let inbox = || {
        let said =
            motemix(["inbox", "--config", &receiver, "--verify", "--last", "1000", "--json"]).succeeds();
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let (first, again) = (inbox(), inbox());
    assert_eq!(first, again);
    assert_eq!(first.len() as u64, summary["sent"].as_u64().unwrap());
    for message in &first {
        assert_eq!(message["believed"], true, "{message}");
        assert!(message["place"].as_str().unwrap().starts_with("mote-"), "{message}");
        assert_eq!(message["senml"][0]["n"], "load", "{message}");
    }
    // Another list knows none of them.
    let other = folder.path().join("other.db");
    let other = other.to_str().unwrap();
    let words = ["inbox", "--config", &receiver, "--verify", "--devices", other];
    motemix(words).fails(2, &["other.db", "motemix object authorise"]);
    motemix(["object", "authorise", "--devices", other, "--first-use", "0"]).succeeds();
    let shown = motemix(words).succeeds();
    assert!(shown.contains("not believed: no device of the list sent this"), "{shown}");
}
