//! What people do with motes, and what neighbours do to them.

use std::collections::HashSet;
use std::fs;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use motemix_crypto::{Curve as _, Portable};
use motemix_directory::{DocumentWord, Epoch};
use motemix_mote::store::{MemoryFlash, Store};

use super::{Flash, Link, Mote, Port, absent, members, network, run};
use crate::shell::PATIENCE;
use crate::signed::{Authority, BEGINS, EPOCH_LEN, FIRST, to_hex};

on_both_ports! {
    motes_with_one_image_make_keys_and_write_to_each_other,
    what_a_mote_took_in_survives_a_power_cut,
    an_image_holds_no_key_and_two_motes_with_it_have_two,
    a_message_under_way_ends_with_the_node,
    a_full_inbox_turns_messages_away_until_it_is_read,
    junk_from_a_stranger_stops_nobody,
    motes_turn_to_the_next_epoch_and_say_when_there_is_none,
    a_document_that_one_mote_was_given_comes_to_the_others,
    motes_that_protect_their_links_make_keys_and_write_to_each_other,
    what_is_forged_in_a_neighbours_name_is_counted_and_stops_nobody,
    a_mote_without_room_for_keys_says_so,
}

and_on_riots_boards! {
    motes_with_one_image_make_keys_and_write_to_each_other,
    a_message_under_way_ends_with_the_node,
    junk_from_a_stranger_stops_nobody,
    motes_turn_to_the_next_epoch_and_say_when_there_is_none,
    motes_that_protect_their_links_make_keys_and_write_to_each_other,
    a_mote_without_room_for_keys_says_so,
}

fn motes_with_one_image_make_keys_and_write_to_each_other(port: &'static Port) {
    let (link, words) = (Link::of(port, 5), &port.words);
    let mut motes: Vec<_> = (0..5).map(|mote| link.start(mote)).collect();
    let members = members(&mut motes, FIRST);
    let keys: HashSet<_> = members.iter().map(|member| member.key).collect();
    assert_eq!(keys.len(), 5, "keys of motes with one image");
    for (mote, member) in members.iter().enumerate() {
        assert_eq!(member.address.to_string(), format!("[fe80::{}]:61616", mote + 1));
    }

    let authority = Authority::new(1);
    let document = authority.sign(FIRST, &members);
    motes[0].ask("motemix send node-4 too early", "error: the node does not run");
    motes[0].ask("motemix stop", words.stopped_before);
    motes[0].ask("motemix status", "the node is stopped");
    for mote in &mut motes {
        mote.ask("motemix start", "error: the clock is not set");
        mote.ask(&format!("motemix time {}", BEGINS + 10), "ok");
        mote.ask("motemix start", "error: no authority is trusted");
        mote.ask(&format!("motemix trust 1 {}", to_hex(&authority.key())), "ok");
        mote.ask("motemix start", "error: there is no network document");
        mote.give(&document, &(words.kept)(FIRST, 5));
        mote.ask("motemix start", "ok");
    }
    motes[0].ask("motemix start", words.started_before);
    motes[0].ask("motemix time 5", words.runs);
    motes[0].ask("motemix send nobody hello", &(words.no_node)("nobody"));
    motes[0].ask("motemix send node-0 hello", words.own_node);

    for (from, mote) in motes.iter_mut().enumerate() {
        for to in (0..5).filter(|to| *to != from) {
            mote.send(&format!("node-{to}"), &format!("from {from}"));
        }
        mote.until_status(&[&(words.runs_in)(FIRST), "sent 4", "acknowledged 4"]);
    }
    for (to, mote) in motes.iter_mut().enumerate() {
        let said = mote.all("motemix inbox", "ok 4 messages");
        for from in (0..5).filter(|from| *from != to) {
            assert!(said.iter().any(|line| line.ends_with(&format!(" from {from}"))), "{said:?}");
        }
        mote.ask("motemix inbox", "ok 0 messages");
    }

    motes[1].ask("motemix stop", "ok");
    motes[1].ask("motemix status", "the node is stopped");
    motes[1].ask("motemix start", "ok");
    motes[1].send("node-0", "back again");
    motes[0].ask("motemix inbox", " back again");
}

fn a_message_under_way_ends_with_the_node(port: &'static Port) {
    let link = Link::of(port, 5);
    let mut motes = network(&link, &Authority::new(1));
    for mote in &mut motes[1..] {
        mote.kill();
    }
    motes[0].ask("motemix send node-1 one", "sent 0");
    motes[0].ask("motemix send node-1 two", "sent 1");
    motes[0].ask("motemix send node-1 three", "error: as many messages are in flight");
    let said = motes[0].all("motemix stop", "discarded 1");
    assert!(said.iter().any(|line| line.contains("discarded 0")), "{said:?}");
    motes[0].ask("motemix status", "the node is stopped");
}

fn what_a_mote_took_in_survives_a_power_cut(port: &'static Port) {
    let link = Link::of(port, 5);
    let authority = Authority::new(1);
    // Neighbours reach the third mote through a listener.
    let listener = Listener::before(&link, 2);
    let mut heard = link.udp_ports();
    heard[2] = listener.port;
    let motes = (0..5)
        .map(|mote| match mote {
            2 => link.start(mote),
            _ => link.start_among(mote, &heard),
        })
        .collect();
    let mut motes = run(motes, &authority);
    let key = motes[2].member(2, FIRST).key;
    for from in [0, 1, 3, 4] {
        motes[from].send("node-2", &format!("unread from {from}"));
    }
    motes[0].send("node-4", "somebody forwards this");
    // Nobody sends to it any more, and what it is told last tells that it took in all before.
    for from in [0, 1, 3, 4] {
        motes[from].ask("motemix stop", "ok");
    }
    // A mote asks its neighbours for the next document, too, which is no packet.
    let is_packet = |datagram: &Vec<u8>| DocumentWord::parse(datagram).is_none();
    let datagrams: Vec<_> = listener.all().into_iter().filter(is_packet).collect();
    motes[2].until_status(&["dropped wrong-length 1"]);

    motes[2].kill();
    motes[2] = link.start(2);
    assert_eq!(motes[2].member(2, FIRST).key, key);
    let said = motes[2].all("motemix inbox", "ok 4 messages");
    assert!(said.iter().any(|line| line.ends_with(" unread from 3")), "{said:?}");
    motes[2].ask("motemix start", "error: the clock is not set");
    motes[2].ask(&format!("motemix time {}", BEGINS + 20), "ok");
    motes[2].ask("motemix start", "ok");
    assert!(datagrams.len() >= 4, "{}", datagrams.len());
    let stranger = UdpSocket::bind("[::1]:0").expect("a port");
    // As many as are read in vain of one neighbour at once, from the first to the last.
    let some = datagrams.iter().step_by(datagrams.len().div_ceil(4));
    for (before, datagram) in some.enumerate() {
        stranger.send_to(datagram, ("::1", link.udp_ports()[2])).expect("it leaves");
        motes[2].until_status(&[&format!("dropped replayed {}", before + 1)]);
    }
    motes[2].until_status(&["delivered 0", "forwarded 0"]);
    motes[2].ask("motemix inbox", "ok 0 messages");
    for others in [0, 1, 3, 4] {
        motes[others].ask("motemix start", "ok");
    }
    motes[2].send("node-0", "back again");
}

/// Hands on what neighbours send to a mote, and remembers it.
struct Listener {
    port: u16,
    heard: Receiver<Vec<u8>>,
}

impl Listener {
    /// No packet, and so no neighbour's.
    const LAST: [u8; 1] = [0];

    fn before(link: &Link, mote: usize) -> Self {
        let socket = UdpSocket::bind("[::1]:0").expect("a port");
        let (port, to) = (socket.local_addr().expect("bound").port(), link.udp_ports()[mote]);
        let (sender, heard) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok(len) = socket.recv(&mut buffer) {
                let _ = socket.send_to(&buffer[..len], ("::1", to));
                // It hands on for as long as the process lives, whether anybody still wants to know or not.
                let _ = sender.send(buffer[..len].to_vec());
            }
        });
        Self { port, heard }
    }

    /// All that was sent to the mote. One more datagram follows, and is the last.
    fn all(self) -> Vec<Vec<u8>> {
        let socket = UdpSocket::bind("[::1]:0").expect("a port");
        socket.send_to(&Self::LAST, ("::1", self.port)).expect("it leaves");
        let next = || self.heard.recv_timeout(PATIENCE).expect("the listener hears it");
        std::iter::repeat_with(next).take_while(|datagram| *datagram != Self::LAST).collect()
    }
}

fn an_image_holds_no_key_and_two_motes_with_it_have_two(port: &'static Port) {
    let image = (port.link)("image", &["-s"]);
    let link = Link::of(port, 2);
    let keys = [0, 1].map(|mote| link.start_image(&image, mote, &link.udp_ports()).member(mote, FIRST).key);
    assert_ne!(keys[0], keys[1]);
    let image = fs::read(image).expect("the image");
    let flashes = [0, 1].map(|mote| fs::read(link.flash(mote)).expect("its flash"));
    for (mote, key) in keys.iter().enumerate() {
        let seed = seed_in(&port.flash, &flashes[mote], *key);
        for secret in [*key, seed] {
            assert!(!holds(&image, &secret) && !holds(&image, to_hex(&secret).as_bytes()), "mote {mote}");
            assert!(!holds(&flashes[1 - mote], &secret));
        }
        // The search finds what is there.
        assert!(holds(&flashes[mote], &seed));
        // What is in the flash of one is neither in the image nor in the flash of the other. Eight
        // bytes in a row are no coincidence; those in which little is written are.
        let told = |window: &&[u8]| window.iter().collect::<HashSet<_>>().len() >= 7;
        let mut windows = 0;
        for window in flashes[mote].windows(8).filter(told) {
            assert!(!holds(&image, window) && !holds(&flashes[1 - mote], window), "mote {mote}");
            windows += 1;
        }
        // A seed at least.
        assert!(windows > 24, "{windows}");
    }
}

fn holds(bytes: &[u8], sought: &[u8]) -> bool {
    bytes.windows(sought.len()).any(|window| window == sought)
}

/// The seed that a mote with this public key keeps in its flash.
fn seed_in(port: &Flash, flash: &[u8], key: [u8; 32]) -> [u8; 32] {
    let whole = &flash[..flash.len() / 4096 * 4096];
    let mut memory = MemoryFlash::<_, 4096>::erased(vec![0; whole.len()]);
    embedded_storage::nor_flash::NorFlash::write(&mut memory, 0, whole).expect("it fits");
    let mut store = Store::open(memory, port.limits.layout(0)).expect("a mote's store");
    let ratchet = store.ratchet().expect("it is read").expect("a key");
    let secret = ratchet.mix_secret(FIRST).expect("a key of that epoch");
    assert_eq!(Portable::public_key(&secret).0, key);
    *ratchet.expose_seed()
}

fn a_full_inbox_turns_messages_away_until_it_is_read(port: &'static Port) {
    // As MOTEMIX_MOTE, but it remembers more messages and more packets, so that nothing else is
    // full earlier.
    let limits = format!("-D{}=4,8192,256,2,4,3,16,1536,15", port.limits);
    let image = (port.link)("inbox", &["-g", &limits]);
    let link = Link::of(port, 5);
    let motes = (0..5).map(|mote| link.start_image(&image, mote, &link.udp_ports())).collect();
    let mut motes = run(motes, &Authority::new(1));
    // What is left of the replay filter is there for what is left of the epoch.
    for mote in &mut motes {
        mote.ask("motemix stop", "ok");
        mote.ask(&format!("motemix time {}", BEGINS + EPOCH_LEN - 240), "ok");
        mote.ask("motemix start", "ok");
    }
    // As long as a line at the shell may be.
    let text = "x".repeat(85);
    let sent_line = (port.words.sent_to)("node-0");
    let (mut sent, mut rounds, mut under_way, mut is_full) = (0, 0, [0; 5], false);
    while !is_full {
        for from in (1..5).filter(|from| under_way[*from] < 2).collect::<Vec<_>>() {
            let said = motes[from].all(&format!("motemix send node-0 {text}"), &sent_line);
            sent += 1;
            under_way[from] += 1;
            under_way[from] -= said.iter().filter(|line| line.contains("acknowledged")).count();
        }
        rounds += 1;
        assert!(rounds < 100, "the inbox has room for {sent} messages, {under_way:?}");
        for from in (1..5).filter(|from| under_way[*from] > 0).collect::<Vec<_>>() {
            let came = motes[from].until_within(Duration::from_millis(500), "acknowledged");
            under_way[from] -= usize::from(came.is_some());
        }
        is_full = motes[0].until_within(Duration::from_millis(1), "messages are turned away").is_some();
    }
    let inbox = |mote: &mut Mote| {
        mote.all("motemix inbox", " messages").iter().filter(|line| line.ends_with(&text)).count()
    };
    let mut printed = inbox(&mut motes[0]);
    assert!(printed > 30, "{printed}");
    for from in 1..5 {
        for _ in 0..under_way[from] {
            motes[from].until("acknowledged");
        }
    }
    printed += inbox(&mut motes[0]);
    assert_eq!(printed, sent, "messages that were acknowledged");
}

fn junk_from_a_stranger_stops_nobody(port: &'static Port) {
    let link = Link::of(port, 5);
    let mut motes = network(&link, &Authority::new(1));
    let udp_port = link.udp_ports()[0];
    let is_over = Arc::new(AtomicBool::new(false));
    let is_over_too = Arc::clone(&is_over);
    let flood = thread::spawn(move || {
        let stranger = UdpSocket::bind("[::1]:0").expect("a port");
        let mut sent = 0_usize;
        while sent < 1300 || !is_over_too.load(Ordering::Relaxed) {
            // Every length around that of a packet, and some far beyond.
            let len = if sent % 100 == 99 { 60_000 } else { sent % 600 };
            let junk: Vec<u8> = (0..len).map(|at| (at * 31 + sent) as u8).collect();
            let _ = stranger.send_to(&junk, ("::1", udp_port));
            sent += 1;
            thread::sleep(Duration::from_micros(500));
        }
        sent
    });
    for text in ["one", "two", "three"] {
        motes[0].send("node-3", text);
        motes[3].send("node-0", text);
    }
    is_over.store(true, Ordering::Relaxed);
    let sent = flood.join().expect("the flood ends");
    println!("{sent} datagrams of junk");
    let said = motes[0].until_status(&[&(port.words.runs_in)(FIRST)]);
    assert!(said.iter().any(|line| line.starts_with("dropped wrong-length ")), "{said:?}");
    motes[0].ask("motemix inbox", "ok 3 messages");
}

/// An authority whose network protects what passes between neighbours.
fn of_protected_links() -> Authority {
    let mut authority = Authority::new(1);
    authority.parameters.protected_links = true;
    authority
}

fn motes_that_protect_their_links_make_keys_and_write_to_each_other(port: &'static Port) {
    let link = Link::of(port, 5);
    let mut motes = network(&link, &of_protected_links());
    for (from, mote) in motes.iter_mut().enumerate() {
        for to in (0..5).filter(|to| *to != from) {
            mote.send(&format!("node-{to}"), &format!("from {from}"));
        }
        mote.until_status(&["sent 4", "acknowledged 4"]);
    }
    for (to, mote) in motes.iter_mut().enumerate() {
        let said = mote.all("motemix inbox", "ok 4 messages");
        for from in (0..5).filter(|from| *from != to) {
            assert!(said.iter().any(|line| line.ends_with(&format!(" from {from}"))), "{said:?}");
        }
    }
    // Whoever was restarted has no keys, and its neighbours do not know that.
    motes[1].kill();
    motes[1] = link.start(1);
    motes[1].ask(&format!("motemix time {}", BEGINS + 20), "ok");
    motes[1].ask("motemix start", "ok");
    motes[0].send("node-1", "are you there");
    motes[1].ask("motemix inbox", " are you there");
    motes[1].send("node-0", "back again");
}

fn what_is_forged_in_a_neighbours_name_is_counted_and_stops_nobody(port: &'static Port) {
    let link = Link::of(port, 4);
    let mut motes = network(&link, &of_protected_links());
    // Now there are keys, but where no packet took that way.
    for to in 1..4 {
        motes[0].send(&format!("node-{to}"), "hello");
        motes[to].send("node-0", "hello");
    }
    let victim = ("::1", link.udp_ports()[0]);
    // As a datagram under a key looks, with the next number that is possible and with a far one.
    let forged = |number: u32| {
        let mut datagram = [0x5a; 296];
        datagram[0] = 2;
        datagram[1..5].copy_from_slice(&number.to_be_bytes());
        datagram
    };
    let stranger = UdpSocket::bind("[::1]:0").expect("a port");
    for number in 0..30 {
        for from in [&stranger, &link.sockets[1], &link.sockets[2]] {
            from.send_to(&forged(number * 100), victim).expect("it leaves");
        }
        // A packet that is not protected, hellos, and a message_1 with a cookie that is none.
        link.sockets[3].send_to(&[7; 280], victim).expect("it leaves");
        stranger.send_to(&[1, 0, 1, 1], victim).expect("it leaves");
        link.sockets[3].send_to(&[&[1, 0, 46, 3][..], &[9; 45]].concat(), victim).expect("it leaves");
        thread::sleep(Duration::from_millis(1));
    }
    let said = motes[0].until_status(&["link dropped stranger 60", "link dropped unprotected 30"]);
    // What nodes with keys sent each other meanwhile was none of these.
    let dropped = |why: &str| -> u32 {
        let counts = said.iter().filter_map(|line| line.strip_prefix("link dropped ")?.strip_prefix(why));
        counts.filter_map(|count| count.strip_prefix(' ')?.parse::<u32>().ok()).sum()
    };
    assert!(dropped("forged") > 0, "{said:?}");
    assert_eq!(dropped("forged") + dropped("no-key"), 60, "{said:?}");
    for to in 1..4 {
        motes[0].send(&format!("node-{to}"), "still there");
        motes[to].send("node-0", "still there");
    }
    motes[0].ask("motemix inbox", "ok 6 messages");
}

fn a_mote_without_room_for_keys_says_so(port: &'static Port) {
    let image = (port.link)("keyless", &["-g", &format!("-D{}=4,2048,32,2,4,2,16,1280,0", port.limits)]);
    let link = Link::of(port, 1);
    let mut mote = link.start_image(&image, 0, &link.udp_ports());
    let members: Vec<_> = [mote.member(0, FIRST)].into_iter().chain(absent(1..4)).collect();
    mote.introduce(&of_protected_links(), &members);
    mote.ask("motemix start", "protect their links");
    mote.introduce(&Authority::new(1), &members);
    mote.ask("motemix start", "ok");
}

/// Seconds from when a mote is told the time until what the test waits for: far more than typing
/// takes.
const SOON: u64 = 8;

fn motes_turn_to_the_next_epoch_and_say_when_there_is_none(port: &'static Port) {
    let (link, words) = (Link::of(port, 4), &port.words);
    let authority = Authority::new(1);
    let mut motes = network(&link, &authority);
    let next = Epoch(FIRST.0 + 1);
    // An authority asks while the nodes run.
    let members = members(&mut motes, next);
    let turn = BEGINS + EPOCH_LEN;
    // Long enough for any machine; the clock is set to its end below.
    let end = turn + 3600;
    let document = authority.sign_for(next, (turn, end), &members);
    for mote in &mut motes {
        mote.give(&document, &(words.kept_next)(next, turn));
        mote.ask("motemix document end", "error: a document begins with");
    }
    for mote in &mut motes {
        restart(mote, turn - SOON);
    }
    let mut said = motes[0].all("motemix send node-3 before", "acknowledged").join("\n");
    assert!(said.contains(&(words.sent_to)("node-3")), "{said}");
    for mote in &mut motes {
        // The first may have said it while it waited for the acknowledgement.
        if let Some(begins) = words.epoch_begins
            && !std::mem::take(&mut said).contains(begins)
        {
            mote.until(begins);
        }
        // The old key goes when the next epoch begins.
        while !mote.ask("motemix key 7", " ").contains("error: ") {
            thread::sleep(Duration::from_millis(200));
        }
    }
    motes[3].send("node-0", "after");
    motes[0].until_status(&[&(words.runs_in)(next), "acknowledged 1"]);

    for mote in [0, 3] {
        restart(&mut motes[mote], end - SOON);
    }
    for mote in [0, 3] {
        motes[mote].until("the network document has expired");
        motes[mote].until("the epoch has ended");
        motes[mote].ask("motemix send node-1 hello", words.expired);
        motes[mote].until_status(&[words.runs_in_no_epoch, "acknowledged 0"]);
        motes[mote].ask("motemix key 8", words.epoch_passed);
        motes[mote].ask("motemix stop", "ok");
        motes[mote].ask("motemix start", words.document.expired);
    }
    introduce_again(&mut motes[0], &authority);
}

fn a_document_that_one_mote_was_given_comes_to_the_others(port: &'static Port) {
    let (link, authority) = (Link::of(port, 4), Authority::new(1));
    let mut motes = network(&link, &authority);
    a_document_is_handed_on(&mut motes, &authority);
}

/// Somebody gives the next epoch's document to one mote, and its neighbours ask for it.
pub(crate) fn a_document_is_handed_on(motes: &mut [Mote], authority: &Authority) {
    let next = Epoch(FIRST.0 + 1);
    let members = members(motes, next);
    let turn = BEGINS + EPOCH_LEN;
    let document = authority.sign_for(next, (turn, turn + 3600), &members);
    // The nearer the end of the epoch, the more often a mote asks.
    for mote in &mut *motes {
        restart(mote, turn - 400);
    }
    // What was typed by mistake begins no document, or ends it, and keeps no neighbour's away for ten
    // minutes.
    for words in ["zz", "00", "end"] {
        motes[1].ask(&format!("motemix document {words}"), "error: ");
    }
    motes[2].ask("motemix document begin", "ok");
    motes[2].ask("motemix document 00", "ok 1");
    motes[2].ask("motemix document zz", "error: ");
    let kept = (motes[0].port.words.kept_next)(next, turn);
    motes[0].give(&document, &kept);
    for mote in &mut motes[1..] {
        let came = format!("a neighbour had the document of epoch {next}");
        assert!(mote.until_within(Duration::from_mins(6), &came).is_some(), "it comes before the epoch ends");
    }
    for mote in &mut *motes {
        restart(mote, turn - SOON);
    }
    let last = motes.len() - 1;
    if let Some(begins) = motes[0].port.words.epoch_begins {
        for mote in &mut *motes {
            mote.until(begins);
        }
    }
    motes[last].send("node-0", "in an epoch that nobody gave it");
}

fn restart(mote: &mut Mote, time: u64) {
    mote.ask("motemix stop", "ok");
    mote.ask(&format!("motemix time {time}"), "ok");
    mote.ask("motemix start", "ok");
}

/// A stopped mote takes a document of its time, whatever was before.
fn introduce_again(mote: &mut Mote, authority: &Authority) {
    let late = Epoch(FIRST.0 + 5);
    let members: Vec<_> = [mote.member(0, late)].into_iter().chain(absent(1..4)).collect();
    mote.trust(authority);
    let document = authority.sign_for(late, (BEGINS, BEGINS + EPOCH_LEN), &members);
    mote.give(&document, &(mote.port.words.kept)(late, 4));
    mote.ask("motemix start", "ok");
    mote.until_status(&[&(mote.port.words.runs_in)(late)]);
}
