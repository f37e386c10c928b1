//! The mode `edhoc`: what an observer sees, what a stranger gets, and when keys change.

use super::{Flood, Keys, PATIENCE, Router, sensor};
use crate::program::{Run, motemix};
use std::collections::BTreeSet;
use std::io::Write;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

const LENGTH: usize = 512;

type Seen = Arc<Mutex<Vec<(bool, Vec<u8>)>>>;

/// Passes all datagrams on, and keeps a copy of each: whether it is the sensor's, and its bytes.
fn observer(router: &str) -> (String, Seen) {
    let socket = UdpSocket::bind("[::1]:0").expect("a port");
    let (address, router) = (socket.local_addr().expect("bound"), router.parse().expect("an address"));
    let seen = Seen::default();
    let copies = Arc::clone(&seen);
    thread::spawn(move || {
        let (mut buffer, mut sensor) = ([0; 2048], None);
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            let is_sensors = from != router;
            copies.lock().expect("nobody panicked").push((is_sensors, buffer[..len].to_vec()));
            if is_sensors {
                sensor = Some(from);
            }
            let to = if is_sensors { Some(router) } else { sensor };
            // Whoever has ended hears nothing.
            let _ = to.map(|to| socket.send_to(&buffer[..len], to));
        }
    });
    (address.to_string(), seen)
}

/// A sensor that says one line after another, with these words more.
fn says(to: &str, words: &[String], lines: &[String]) {
    let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    command.args(["link", "sensor", "--to", to]).args(words);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("piped");
    for line in lines {
        writeln!(input, "{line}").expect("it reads");
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

#[test]
fn an_observer_sees_datagrams_of_one_length_and_no_text() {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router("edhoc"));
    let (relay, seen) = observer(&router.address);
    let long = "x".repeat(488);
    let lines = ["21.5 degrees", "21.5 degrees", "", &long].map(str::to_owned);
    says(&relay, &keys.of_sensor("edhoc"), &lines);
    let heard: Vec<_> = lines.iter().map(|_| router.hears()).collect();
    assert_eq!(heard, lines);
    let seen = seen.lock().expect("nobody panicked");
    assert!(seen.len() >= 6 + 2 * lines.len(), "{}", seen.len());
    assert!(seen.iter().all(|(_, bytes)| bytes.len() == LENGTH));
    let identities = [&keys.sensor, &keys.router].map(|identity| hex::decode(&identity[2..]).expect("hex"));
    for secret in [b"21.5".as_slice(), b"xxxx", &identities[0], &identities[1]] {
        assert!(seen.iter().all(|(_, bytes)| bytes.windows(secret.len()).all(|part| part != secret)));
    }
    let protected: Vec<_> = seen.iter().map(|(_, bytes)| bytes).filter(|bytes| bytes[0] == 2).collect();
    let ciphertexts: BTreeSet<_> = protected.iter().map(|bytes| &bytes[5..]).collect();
    let distinct: BTreeSet<_> = protected.iter().collect();
    assert_eq!(ciphertexts.len(), distinct.len(), "texts that are equal look equal");
}

#[test]
fn what_cannot_work_is_said_in_one_line() {
    let keys = Keys::new();
    let long = "x".repeat(489);
    sensor("[::1]:9", &keys.of_sensor("edhoc"), &[&long]).fails(2, &["489 bytes", "488", "--length"]);
    let to_all = ["link", "sensor", "--to", "255.255.255.255:9"].map(str::to_owned);
    let to_all = to_all.into_iter().chain(keys.of_sensor("edhoc")).chain(["hello".into()]);
    motemix(to_all).fails(2, &["--to", "one router"]);
    let forgetful = words(["--key", &keys.path("sensor"), "--anybody"]);
    sensor("[::1]:9", &forgetful, &["hello"]).fails(2, &["--anybody", "--known"]);
    let both = [&keys.of_sensor("edhoc")[..], &words(["--known", "file"])].concat();
    sensor("[::1]:9", &both, &["hello"]).fails(2, &["--known", "--admit"]);
    let on_radio = [&keys.of_sensor("edhoc")[..], &words(["--radio", "line"])].concat();
    sensor("[::1]:9", &on_radio, &["hello"]).fails(2, &["--to", "fe80::"]);
    let long = [&on_radio[..], &words(["--length", "512"])].concat();
    sensor("[fe80::1]:9", &long, &["hello"]).fails(2, &["--length", "376"]);
}

#[test]
fn keys_are_renewed_and_messages_go_on() {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router("edhoc"));
    let lines: Vec<_> = (0..7).map(|number| format!("reading {number}")).collect();
    let words = [&keys.of_sensor("edhoc")[..], &words(["--renew-after", "2"])].concat();
    says(&router.address, &words, &lines);
    let heard: Vec<_> = lines.iter().map(|_| router.hears()).collect();
    assert_eq!(heard, lines);
    let said = router.ends();
    assert!(said.contains("4 handshakes answered, 4 completed, 1 neighbour"), "{said}");
}

#[test]
fn a_sensor_that_was_restarted_gets_new_keys_and_no_second_place() {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router("edhoc"));
    for text in ["one", "two", "three"] {
        sensor(&router.address, &keys.of_sensor("edhoc"), &[text]).succeeds();
        assert_eq!(router.hears(), text);
    }
    let said = router.ends();
    assert!(said.contains("3 handshakes answered, 3 completed, 1 neighbour"), "{said}");
}

#[test]
fn what_was_recorded_is_worth_nothing_later() {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router("edhoc"));
    let (relay, seen) = observer(&router.address);
    says(&relay, &keys.of_sensor("edhoc"), &["once".to_owned()]);
    assert_eq!(router.hears(), "once");
    let stranger = UdpSocket::bind("[::1]:0").expect("a port");
    let recorded: Vec<_> = seen.lock().expect("nobody panicked").clone();
    for (_, bytes) in recorded.iter().filter(|(is_sensors, _)| *is_sensors) {
        stranger.send_to(bytes, &router.address).expect("sent");
    }
    // What comes after them comes after them.
    sensor(&router.address, &keys.of_sensor("edhoc"), &["twice"]).succeeds();
    assert_eq!(router.hears(), "twice");
    let said = router.ends();
    assert!(said.contains("2 handshakes answered, 2 completed"), "{said}");
    for reason in [
        "dropped: first message with a wrong or old cookie",
        "dropped: no message that a handshake waits for",
        "dropped: no handshake before",
    ] {
        assert!(said.contains(reason), "{reason}: {said}");
    }
}

#[test]
fn a_flood_of_first_messages_holds_no_state() {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router("edhoc"));
    let flood = UdpSocket::bind("[::1]:0").expect("a port");
    let mut first = [0; LENGTH];
    first[..5].copy_from_slice(&[1, 0, 46, 3, 0]);
    let mut hello = [0; LENGTH];
    hello[..4].copy_from_slice(&[1, 0, 1, 1]);
    for number in 0..1000_u32 {
        first[4..8].copy_from_slice(&number.to_be_bytes());
        for datagram in [&hello, &first] {
            flood.send_to(datagram, &router.address).expect("sent");
        }
    }
    sensor(&router.address, &keys.of_sensor("edhoc"), &["hello"]).succeeds();
    assert_eq!(router.hears(), "hello");
    let said = router.ends();
    assert!(said.contains("1 handshake answered, 1 completed, 1 neighbour"), "{said}");
    let dropped = " dropped: first message with a wrong or old cookie";
    let line = said.lines().find(|line| line.ends_with(dropped)).unwrap_or_else(|| panic!("{said}"));
    let count: u32 = line.split(' ').nth(1).and_then(|count| count.parse().ok()).expect("a count");
    // The system may lose some.
    assert!((1..=1000).contains(&count), "{line}");
}

#[test]
fn handshakes_that_one_address_begins_from_all_ports_keep_nobody_out() {
    // Method 3, suite 2, the x-coordinate of the curve's generator, and the name of a connection.
    let message_1 = "03025820 6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296 00";
    let message_1 = hex::decode(message_1.replace(' ', "")).expect("digits");
    let keys = Keys::new();
    let router = Router::listening("127.0.0.1:0", &keys.of_router("edhoc"));
    // Each port asks for a cookie, and begins a handshake with it.
    let (answer, answered) = channel();
    let _flood = Flood::of("127.0.0.9", 200, &router.address, move |socket| {
        let mut datagram = [0; LENGTH];
        while let Ok(len) = socket.recv(&mut datagram) {
            // Whoever waits may have enough of them.
            if let [1, 0, 9, 2, rest @ ..] = &datagram[..len] {
                let begins = [&[1, 0, 46, 3], &rest[..8], &message_1, &[0; LENGTH - 49]].concat();
                let _ = socket.send(&begins);
            } else {
                let _ = answer.send(());
            }
        }
        let mut hello = [0; LENGTH];
        hello[..4].copy_from_slice(&[1, 0, 1, 1]);
        let _ = socket.send(&hello);
    });
    // More than there are places.
    for _ in 0..40 {
        answered.recv_timeout(PATIENCE).expect("an answer");
    }
    for number in 0..5 {
        sensor(&router.address, &keys.of_sensor("edhoc"), &[&number.to_string()]).succeeds();
        assert_eq!(router.hears(), number.to_string());
    }
}

#[test]
fn strangers_are_refused_in_one_line_at_both_ends() {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router("edhoc"));
    let stranger = keys.of("stranger", &keys.router, "edhoc");
    let identity = motemix(["link", "identity", &keys.path("stranger")]).succeeds().trim().to_owned();
    let of_sensor = format!("--admit {identity}");
    sensor(&router.address, &stranger, &["hello"]).fails(1, &[&router.address, "confirm", &of_sensor]);
    // The sensor does not take this router for the one that it knows.
    let other = keys.of("sensor", &identity, "edhoc");
    let of_router = format!("not admitted; if that is a neighbour, start again with --admit {}", keys.router);
    sensor(&router.address, &other, &["hello"]).fails(1, &[&router.address, &of_router]);
    assert!(router.printed.try_recv().is_err());
    let said = router.ends();
    let of_stranger = format!(
        "says it is {identity}, which is not admitted; if that is a neighbour, start again with {of_sensor}"
    );
    assert_eq!(said.matches(&of_stranger).count(), 1, "{said}");
    assert!(said.contains(" dropped: not admitted"), "{said}");
}

#[test]
fn who_was_met_first_is_kept_and_another_key_is_refused() {
    let keys = Keys::new();
    let (routers, sensors) = (keys.path("routers.txt"), keys.path("sensors.txt"));
    let of_router = |key| words(["--key", &keys.path(key), "--anybody", "--known", &sensors]);
    let of_sensor = |key| words(["--key", &keys.path(key), "--anybody", "--known", &routers]);
    let mut router = Router::start(&of_router("router"));
    let address = router.address.clone();
    let met = sensor(&address, &of_sensor("sensor"), &["one"]);
    met.succeeds();
    sensor(&address, &of_sensor("sensor"), &["two"]).succeeds();
    assert_eq!([router.hears(), router.hears()], ["one", "two"]);
    let line = std::fs::read_to_string(&routers).expect("kept");
    assert_eq!(line, format!("{address} {}\n", keys.router));
    let line = std::fs::read_to_string(&sensors).expect("kept");
    assert_eq!(line, format!("::1 {}\n", keys.sensor));
    // Another sensor at the address of the first.
    sensor(&address, &of_sensor("other"), &["three"]).fails(1, &["confirm"]);
    // The router's key has changed.
    router.kill();
    let said: Vec<_> = router.said.iter().collect();
    let refused = format!("but {} was met there first", keys.sensor);
    assert_eq!(said.iter().filter(|line| line.contains(&refused)).count(), 1, "{said:?}");
    let router = Router::listening(&address, &of_router("another"));
    let refused = format!("but {} was met there first", keys.router);
    let remove = format!("remove the line `{address} {}` from {routers}", keys.router);
    sensor(&address, &of_sensor("sensor"), &["four"]).fails(1, &[&refused, &remove]);
    router.hears_nothing_more();
    std::fs::write(&routers, "here nobody\n").expect("written");
    sensor(&address, &of_sensor("sensor"), &["five"]).fails(2, &[&routers, "line 1", "66 hex digits"]);
}

/// Somebody has edited the file, and left its last line without an end.
#[test]
fn a_list_of_whom_was_met_first_that_lost_its_bytes_trusts_nobody() {
    let keys = Keys::new();
    let known = keys.path("routers.txt");
    std::fs::write(&known, "").expect("written");
    let words = words(["--mode", "edhoc", "--key", &keys.path("sensor"), "--anybody", "--known", &known]);
    sensor("[::1]:9", &words, &["hello"]).fails(2, &["routers.txt", "it is empty", "--known"]);
}

#[test]
fn whoever_is_met_is_kept_below_a_line_without_an_end() {
    let keys = Keys::new();
    let known = keys.path("routers.txt");
    let before = format!("[::1]:9 {}", keys.sensor);
    std::fs::write(&known, &before).expect("written");
    let mut router = Router::start(&keys.of_router("edhoc"));
    let words = words(["--mode", "edhoc", "--key", &keys.path("sensor"), "--anybody", "--known", &known]);
    sensor(&router.address, &words, &["one"]).succeeds();
    let line = format!("{} {}", router.address, keys.router);
    assert_eq!(std::fs::read_to_string(&known).expect("kept"), format!("{before}\n{line}\n"));
    sensor(&router.address, &words, &["two"]).succeeds();
    assert_eq!([router.hears(), router.hears()], ["one", "two"]);
    router.kill();
}

/// What the program does where no file may be longer than a kibibyte or two, as on a disk that is full.
fn on_a_full_disk(words: &[String]) -> Command {
    let mut command = Command::new("sh");
    // Blocks of 512 or 1,024 bytes. A write beyond fails, and does not end the program.
    command.args([
        "-c",
        "ulimit -f 2; trap '' XFSZ; exec \"$@\"",
        "sh",
        motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")),
    ]);
    command.args(words);
    command
}

/// Lines for a file of more than two kibibytes.
fn lines_of(identity: &str) -> String {
    (1..40).map(|port| format!("[::1]:{port} {identity}")).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn a_full_disk_loses_nobody_who_was_met_and_whoever_is_new_is_not_trusted() {
    let keys = Keys::new();
    let known = keys.path("known.txt");
    let before = lines_of(&keys.sensor);
    std::fs::write(&known, &before).expect("written");
    let unchanged = || {
        assert_eq!(std::fs::read_to_string(&known).expect("kept"), before);
        let names = std::fs::read_dir(keys.folder.path()).expect("a folder");
        let names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{names:?}");
    };
    let with = |key| words(["--mode", "edhoc", "--key", &keys.path(key), "--anybody", "--known", &known]);
    let told = [&known[..], "cannot keep", "make room on its disk", "is not trusted"];
    // A sensor says so, and sends nothing.
    let mut router = Router::start(&keys.of_router("edhoc"));
    let says = [&words(["link", "sensor", "--to", &router.address])[..], &with("sensor")].concat();
    Run::by(on_a_full_disk(&says).stdin(Stdio::null())).succeeds();
    let mut child = on_a_full_disk(&says)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    writeln!(child.stdin.take().expect("piped"), "hello").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.iter().all(|word| said.contains(word)), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    unchanged();
    router.kill();
    // A router goes on, and says so once.
    let listens = [&words(["link", "router", "--json", "--listen", "[::1]:0"])[..], &with("router")].concat();
    let mut router = Router::of(&mut on_a_full_disk(&listens));
    let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    command.args(["link", "sensor", "--to", &router.address]).args(keys.of_sensor("edhoc"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    writeln!(child.stdin.take().expect("piped"), "hello").expect("it reads");
    let line = router.said.recv_timeout(PATIENCE).expect("it says so");
    assert!(told.iter().all(|word| line.contains(word)), "{line}");
    unchanged();
    // There is room again. The sensor that is still waiting has no keys.
    std::fs::write(&known, format!("[::1]:1 {}\n", keys.sensor)).expect("written");
    let text = "there is room now";
    sensor(&router.address, &keys.of_sensor("edhoc"), &[text]).succeeds();
    assert_eq!(router.hears(), text);
    let _ = (child.kill(), child.wait());
    router.kill();
    let again: Vec<_> = router.said.iter().filter(|line| line.contains("cannot keep")).collect();
    assert!(again.is_empty(), "{again:?}");
}

/// The disk fills while the file is written, and the program does not survive it.
#[test]
fn a_program_that_dies_while_it_keeps_somebody_leaves_the_file_as_it_was() {
    let keys = Keys::new();
    let known = keys.path("known.txt");
    let before = lines_of(&keys.sensor);
    std::fs::write(&known, &before).expect("written");
    let router = Router::start(&keys.of_router("edhoc"));
    let of_sensor = words(["--mode", "edhoc", "--key", &keys.path("sensor"), "--anybody", "--known", &known]);
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "ulimit -c 0; ulimit -f 2; exec \"$@\"",
        "sh",
        motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")),
    ]);
    command.args(["link", "sensor", "--to", &router.address]).args(&of_sensor);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    writeln!(child.stdin.take().expect("piped"), "hello").expect("it reads");
    assert_eq!(child.wait().expect("it ends").code(), None, "a signal has ended it");
    assert_eq!(std::fs::read_to_string(&known).expect("kept"), before);
    sensor(&router.address, &of_sensor, &["hello"]).succeeds();
    assert_eq!(router.hears(), "hello");
}

#[test]
fn what_is_no_file_keeps_nobody() {
    let keys = Keys::new();
    for (known, reason) in [("/dev/full", "not a regular file"), ("/nowhere/known.txt", "--known")] {
        let router = Router::start(&keys.of_router("edhoc"));
        let words = words(["--mode", "edhoc", "--key", &keys.path("sensor"), "--anybody", "--known", known]);
        let status = if known == "/dev/full" { 2 } else { 1 };
        sensor(&router.address, &words, &["hello"]).fails(status, &[known, reason]);
    }
}

/// A key that could not be written whole would be none, and its identity is printed only if it is kept.
#[test]
fn a_key_for_which_there_is_no_room_is_not_made() {
    let keys = Keys::new();
    let path = keys.path("new");
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "ulimit -f 0; trap '' XFSZ; exec \"$@\"",
        "sh",
        motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")),
    ]);
    let run = Run::by(command.args(["link", "identity", &path]));
    assert!(run.status() == 2 && run.stdout().is_empty() && run.stderr().contains(&path), "{}", run.stderr());
    assert!(!std::path::Path::new(&path).exists());
    assert_eq!(std::fs::read_dir(keys.folder.path()).expect("a folder").count(), 2, "nothing is left behind");
}

#[test]
fn both_sides_need_one_length() {
    let keys = Keys::new();
    let router = Router::start(&[&keys.of_router("edhoc")[..], &words(["--length", "300"])].concat());
    sensor(&router.address, &keys.of_sensor("edhoc"), &["hello"]).fails(1, &["no answer", "--length"]);
    let other = [&keys.of_sensor("edhoc")[..], &words(["--length", "300"])].concat();
    sensor(&router.address, &other, &["hello"]).succeeds();
    assert_eq!(router.hears(), "hello");
    let said = router.ends();
    assert!(said.contains(" dropped: not of --length bytes"), "{said}");
}
