//! Mail that is kept whatever happens to the process, and what happens when there is no room.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use motemix_loopix::files::MailboxLimits;
use motemix_loopix::role::{Mailboxes, StoreRefusal};
use motemix_loopix::runtime::SqliteMailboxes;
use motemix_os::store::StoreProblem;
use rand_core::{Rng as _, SeedableRng as _};
use tokio::sync::Notify;

const USERS: [&str; 3] = ["Ann", "Bob", "Cay"];
const PACKET_LEN: usize = 2079;

fn open(path: &Path, limits: MailboxLimits) -> SqliteMailboxes {
    SqliteMailboxes::open(path, limits, Arc::new(Notify::new())).unwrap()
}

/// A packet that says which one it is.
fn packet(number: u64) -> Vec<u8> {
    let mut packet = number.to_be_bytes().to_vec();
    packet.resize(PACKET_LEN, number as u8);
    packet
}

fn numbers(mailboxes: &mut SqliteMailboxes, user: &str, limit: usize) -> Vec<u64> {
    let stored = mailboxes.oldest(user, limit).unwrap();
    stored
        .iter()
        .map(|stored| {
            let number = u64::from_be_bytes(*stored.packet.first_chunk().unwrap());
            assert_eq!(stored.packet, packet(number), "a packet was changed");
            number
        })
        .collect()
}

#[test]
fn mailboxes_that_vanished_hand_nothing_out_a_second_time() {
    let deeds: [fn(&Path, &Path); 4] = [
        |path, _| fs::write(path, "").unwrap(),
        |path, _| fs::remove_file(path).unwrap(),
        |path, backup| {
            fs::copy(backup, path).unwrap();
        },
        |path, backup| fs::rename(backup, path).unwrap(),
    ];
    for deed in deeds {
        let folder = tempfile::tempdir().unwrap();
        let [path, backup] = ["mailboxes.db", "backup"].map(|name| folder.path().join(name));
        let mut mailboxes = open(&path, MailboxLimits::default());
        mailboxes.store("Ann", &packet(1)).unwrap();
        mailboxes.finish().unwrap();
        drop(mailboxes);
        fs::copy(&path, &backup).unwrap();
        let mut mailboxes = open(&path, MailboxLimits::default());
        let fetched = mailboxes.oldest("Ann", 1).unwrap()[0].id;
        mailboxes.remove("Ann", &[fetched]).unwrap();
        mailboxes.finish().unwrap();
        drop(mailboxes);
        deed(&path, &backup);
        let refused = SqliteMailboxes::open(&path, MailboxLimits::default(), Arc::new(Notify::new()));
        let refused = refused.err().expect("it is not what was left");
        assert!(matches!(refused.problem, StoreProblem::Doubtful { .. }), "{refused}");
    }
}

#[test]
fn mail_comes_back_in_order_and_only_to_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mailboxes.db");
    let mut mailboxes = open(&path, MailboxLimits::default());
    for number in 0..10 {
        mailboxes.store(USERS[number as usize % 2], &packet(number)).unwrap();
    }
    assert_eq!(mailboxes.len(), 10);
    mailboxes.finish().unwrap();
    assert_eq!(numbers(&mut mailboxes, "Ann", 3), [0, 2, 4]);
    assert_eq!(numbers(&mut mailboxes, "Cay", 3), [0_u64; 0]);

    let ids: Vec<_> = mailboxes.oldest("Ann", 2).unwrap().iter().map(|stored| stored.id).collect();
    // Somebody else's, and some that were never there, are passed over.
    mailboxes.remove("Bob", &ids).unwrap();
    mailboxes.remove("Ann", &[-1, 1000]).unwrap();
    assert_eq!(mailboxes.len(), 10);
    mailboxes.remove("Ann", &ids).unwrap();
    mailboxes.remove("Ann", &ids).unwrap();
    assert_eq!(mailboxes.len(), 8);
    // At once, and not only when the disk has done it.
    assert_eq!(numbers(&mut mailboxes, "Ann", 3), [4, 6, 8]);
    mailboxes.finish().unwrap();
    drop(mailboxes);

    let mut mailboxes = open(&path, MailboxLimits::default());
    assert_eq!(mailboxes.len(), 8);
    assert_eq!(numbers(&mut mailboxes, "Ann", 10), [4, 6, 8]);
    assert_eq!(numbers(&mut mailboxes, "Bob", 10), [1, 3, 5, 7, 9]);
}

#[test]
fn an_id_is_never_used_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mailboxes.db");
    let mut seen = BTreeSet::new();
    for round in 0..4 {
        let mut mailboxes = open(&path, MailboxLimits::default());
        mailboxes.store("Ann", &packet(round)).unwrap();
        mailboxes.finish().unwrap();
        let id = mailboxes.oldest("Ann", 1).unwrap()[0].id;
        assert!(seen.insert(id), "{id} came again");
        mailboxes.remove("Ann", &[id]).unwrap();
        mailboxes.finish().unwrap();
    }
}

#[test]
fn a_full_mailbox_refuses_and_so_do_all_of_them_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mailboxes.db");
    let limits = MailboxLimits::new(3, 5 * PACKET_LEN as u64);
    let mut mailboxes = open(&path, limits);
    for number in 0..3 {
        mailboxes.store("Ann", &packet(number)).unwrap();
    }
    assert_eq!(mailboxes.store("Ann", &packet(3)), Err(StoreRefusal::Full));
    mailboxes.store("Bob", &packet(4)).unwrap();
    mailboxes.store("Bob", &packet(5)).unwrap();
    assert_eq!(mailboxes.store("Cay", &packet(6)), Err(StoreRefusal::Full));
    mailboxes.finish().unwrap();
    drop(mailboxes);

    // A restart does not make room; taking mail does.
    let mut mailboxes = open(&path, limits);
    assert_eq!(mailboxes.store("Ann", &packet(7)), Err(StoreRefusal::Full));
    assert_eq!(mailboxes.store("Cay", &packet(8)), Err(StoreRefusal::Full));
    let first = mailboxes.oldest("Ann", 1).unwrap()[0].id;
    mailboxes.remove("Ann", &[first]).unwrap();
    mailboxes.store("Ann", &packet(9)).unwrap();
    mailboxes.finish().unwrap();
    assert_eq!(numbers(&mut mailboxes, "Ann", 9), [1, 2, 9]);
}

#[test]
fn damaged_foreign_and_later_files_are_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mailboxes.db");
    let mut mailboxes = open(&path, MailboxLimits::default());
    for number in 0..200 {
        mailboxes.store("Ann", &packet(number)).unwrap();
    }
    mailboxes.finish().unwrap();
    drop(mailboxes);
    let whole = fs::read(&path).unwrap();

    let refusal = |bytes: &[u8]| {
        for rest in ["mailboxes.db-wal", "mailboxes.db-shm"] {
            let _ = fs::remove_file(folder.path().join(rest));
        }
        fs::write(&path, bytes).unwrap();
        let refused = SqliteMailboxes::open(&path, MailboxLimits::default(), Arc::new(Notify::new()));
        let error = refused.err().expect("it is refused");
        let line = error.to_string();
        assert!(!line.contains('\n') && line.contains("mailboxes.db"), "{line}");
        error.problem
    };
    let mut torn = whole.clone();
    torn[..4096].fill(0x55);
    assert!(matches!(refusal(&torn), StoreProblem::Damaged(_)));
    let mut holed = whole.clone();
    let (from, to) = (whole.len() / 4, whole.len() / 2);
    holed[from..to].fill(0);
    assert!(matches!(refusal(&holed), StoreProblem::Damaged(_)));
    assert!(matches!(refusal(&whole[..whole.len() / 2]), StoreProblem::Damaged(_)));
    assert!(matches!(refusal(&b"SQLite it is not".repeat(300)), StoreProblem::Damaged(_)));
    let mut later = whole.clone();
    later[60..64].copy_from_slice(&9_u32.to_be_bytes());
    assert!(matches!(refusal(&later), StoreProblem::Later));
    let mut foreign = whole;
    foreign[68..72].copy_from_slice(&9_u32.to_be_bytes());
    assert!(matches!(refusal(&foreign), StoreProblem::Foreign(_)));
}

#[test]
fn a_disk_that_fails_for_a_while_refuses_mail_and_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mailboxes.db");
    let mut mailboxes = open(&path, MailboxLimits::default());
    mailboxes.store("Ann", &packet(0)).unwrap();
    mailboxes.finish().unwrap();
    // Somebody holds the file for longer than anybody waits for it.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    mailboxes.store("Ann", &packet(1)).unwrap();
    assert_eq!(mailboxes.finish(), Err(StoreRefusal::Failed));
    assert_eq!(mailboxes.store("Ann", &packet(2)), Err(StoreRefusal::Failed));
    assert_eq!(mailboxes.commit(), Err(StoreRefusal::Failed));
    assert_eq!(numbers(&mut mailboxes, "Ann", 9), [0], "what is here can be taken");

    other.execute_batch("ROLLBACK").unwrap();
    mailboxes.finish().unwrap();
    mailboxes.store("Ann", &packet(3)).unwrap();
    mailboxes.finish().unwrap();
    assert_eq!(numbers(&mut mailboxes, "Ann", 9), [0, 1, 3]);
}

/// Not a story: what the processes do that are killed in the story below.
#[test]
fn storm() {
    let Some(path) = std::env::var_os("MOTEMIX_TEST_MAILBOXES") else { return };
    let seed: u64 = std::env::var("MOTEMIX_TEST_SEED").unwrap().parse().unwrap();
    let first: u64 = std::env::var("MOTEMIX_TEST_FIRST").unwrap().parse().unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut mailboxes = open(Path::new(&path), MailboxLimits::default());
    for number in first.. {
        while mailboxes.store(USERS[number as usize % 3], &packet(number)) == Err(StoreRefusal::Full) {
            // The disk lags behind.
            mailboxes.finish().unwrap();
            for user in USERS {
                pull(&mut mailboxes, user, 1000);
            }
        }
        if rng.next_u32().is_multiple_of(4) {
            mailboxes.commit().unwrap();
        }
        if rng.next_u32().is_multiple_of(8) {
            pull(&mut mailboxes, USERS[rng.next_u32() as usize % 3], rng.next_u32() as usize % 20);
        }
    }
}

/// What is handed out counts as stored; what is removed must have been said before.
fn pull(mailboxes: &mut SqliteMailboxes, user: &str, limit: usize) {
    let stored = mailboxes.oldest(user, limit).unwrap();
    for (number, stored) in numbers(mailboxes, user, limit).into_iter().zip(&stored) {
        // Some stay, to be handed out once more.
        if number.is_multiple_of(5) {
            println!("\nstored {number}");
        } else {
            println!("\nremoving {number}");
            mailboxes.remove(user, &[stored.id]).unwrap();
        }
    }
}

/// Kills a process in the middle of storing and handing out, again and again, and looks after what
/// it said.
#[test]
fn no_stored_packet_is_lost_or_doubled_by_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mailboxes.db");
    let (mut stored, mut removing) = (BTreeSet::new(), BTreeSet::new());
    let mut first = 0;
    for seed in 0..24 {
        let mut storm = start_storm(&path, seed, first);
        let mut rng = ChaCha20Rng::seed_from_u64(1000 + seed);
        // Also while it opens the file, and in its first commits. What stays is handed out again and
        // again, and while the disk takes its time nothing else is.
        let wanted = if seed % 4 == 0 { 0 } else { 5 + rng.next_u32() % 100 };
        let mut output = BufReader::new(storm.stdout.take().unwrap()).lines();
        let mut heard = BTreeSet::new();
        while heard.len() < wanted as usize {
            heard.extend(output.next().expect("the storm goes on").ok().filter(|line| !line.is_empty()));
        }
        if wanted == 0 {
            std::thread::sleep(Duration::from_millis(u64::from(rng.next_u32() % 20)));
        }
        storm.kill().unwrap();
        assert_eq!(storm.wait().unwrap().signal(), Some(9), "it ended before it was killed");
        heard.extend(output.map_while(Result::ok));
        for line in &heard {
            let number = |line: &str| line.parse::<u64>().ok();
            stored.extend(line.strip_prefix("stored ").and_then(number));
            removing.extend(line.strip_prefix("removing ").and_then(number));
        }

        let mut mailboxes = open(&path, MailboxLimits::default());
        let mut here = BTreeSet::new();
        for user in USERS {
            let of_user = numbers(&mut mailboxes, user, usize::MAX);
            assert!(of_user.is_sorted(), "seed {seed}: {user}'s packets are out of order");
            for number in of_user {
                assert!(here.insert(number), "seed {seed}: packet {number} is here twice");
                assert_eq!(USERS[number as usize % 3], user);
            }
        }
        assert_eq!(here.len() as u64, mailboxes.len());
        for number in stored.difference(&removing) {
            assert!(here.contains(number), "seed {seed}: packet {number} was stored and is gone");
        }
        first = here
            .last()
            .copied()
            .into_iter()
            .chain(stored.last().copied())
            .chain(removing.last().copied())
            .max()
            .map_or(first, |last| last + 1);
    }
    assert!(stored.len() > 10 && removing.len() > 100, "{} {}", stored.len(), removing.len());
}

fn start_storm(path: &Path, seed: u64, first: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "storm", "--nocapture"])
        .env("MOTEMIX_TEST_MAILBOXES", path)
        .env("MOTEMIX_TEST_SEED", seed.to_string())
        .env("MOTEMIX_TEST_FIRST", first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}
