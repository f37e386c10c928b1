//! What the inbox has accepted stays, whatever happens to the process.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use motemix_os::store::inbox::Arrival;
use motemix_os::store::{Accepted, Doubt, Held, Inbox, Quota, StoreProblem};

const AT: Duration = Duration::from_millis(1_700_000_000_123);

fn digest(number: u32) -> [u8; 16] {
    let mut digest = [0; 16];
    digest[..4].copy_from_slice(&number.to_be_bytes());
    digest
}

#[test]
fn a_message_is_new_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.db");
    let mut inbox = Inbox::open(&path).unwrap();
    assert_eq!(inbox.accept(digest(1), AT, b"21.5").unwrap(), Accepted::New);
    assert_eq!(inbox.accept(digest(1), AT, b"21.5").unwrap(), Accepted::AlreadyHere);
    drop(inbox);

    let mut inbox = Inbox::open(&path).unwrap();
    assert_eq!(inbox.accept(digest(1), AT, b"21.5").unwrap(), Accepted::AlreadyHere);
    assert_eq!(inbox.count().unwrap(), 1);
    let messages = inbox.recent(10).unwrap();
    assert_eq!((messages[0].number, messages[0].received_at, &*messages[0].data), (1, AT, &b"21.5"[..]));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_inbox_without_bytes_is_not_taken_for_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.db");
    Inbox::open(&path).unwrap().accept(digest(1), AT, b"21.5").unwrap();
    fs::write(&path, "").unwrap();
    let refused = Inbox::open(&path).unwrap_err().to_string();
    assert!(refused.contains("inbox.db: it is empty") && refused.contains("motemix adopt"), "{refused}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}

/// Its node tells so, once, and goes on.
#[test]
fn an_inbox_that_its_node_did_not_leave_is_noticed_when_the_node_opens_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (path, earlier) = (at("inbox.db"), at("earlier"));
    let take = |number| {
        let (mut inbox, doubt) = Inbox::open_own(&path).unwrap();
        assert_eq!(inbox.accept(digest(number), AT, b"21.5").unwrap(), Accepted::New);
        doubt
    };
    let mut said = Vec::new();
    for number in 0..3 {
        said.push(take(number));
    }
    fs::copy(&path, &earlier).unwrap();
    // Others look into it, and remove messages.
    assert_eq!(Inbox::open(&path).unwrap().remove_all_but(1).unwrap(), 2);
    said.push(take(3));
    assert_eq!(said, [None; 4]);
    // Another file with the same bytes.
    let replace = |from: &Path| {
        fs::copy(from, at("copy")).unwrap();
        fs::rename(at("copy"), &path).unwrap();
    };
    replace(&path);
    assert_eq!([take(4), take(5)], [Some(Doubt::Copied), None]);
    // Earlier bytes in the same file.
    fs::copy(&earlier, &path).unwrap();
    assert_eq!([take(3), take(4)], [Some(Doubt::Older { has: 3, had: 6 }), None]);
    fs::remove_file(&path).unwrap();
    assert_eq!([take(0), take(1)], [Some(Doubt::Gone), None]);
    fs::remove_file(at("inbox.db.mark")).unwrap();
    assert_eq!([take(2), take(3)], [Some(Doubt::Unmarked), None]);
    // One that is made anew while the node runs is told then.
    let (mut inbox, _) = Inbox::open_own(&path).unwrap();
    fs::remove_file(&path).unwrap();
    inbox.reopen().unwrap();
    drop(inbox);
    assert_eq!([take(0), take(1)], [None; 2]);
}

#[test]
fn a_batch_knows_its_own_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let mut inbox = Inbox::open(folder.path().join("inbox.db")).unwrap();
    let arrivals = [1, 2, 1, 3].map(|number| Arrival { digest: digest(number), received_at: AT, data: b"x" });
    let mut outcomes = Vec::new();
    inbox.accept_many(&arrivals, |index, outcome| outcomes.push((index, outcome))).unwrap();
    let expected = [Accepted::New, Accepted::New, Accepted::AlreadyHere, Accepted::New];
    assert_eq!(outcomes, expected.into_iter().enumerate().collect::<Vec<_>>());
    assert_eq!(inbox.count().unwrap(), 3);
}

#[test]
fn only_the_newest_digests_are_remembered_but_all_messages_stay() {
    let folder = tempfile::tempdir().unwrap();
    let mut inbox = Inbox::open(folder.path().join("inbox.db")).unwrap().with_window(4);
    for number in 0..10 {
        inbox.accept(digest(number), AT, b"x").unwrap();
    }
    assert_eq!(inbox.accept(digest(6), AT, b"x").unwrap(), Accepted::AlreadyHere);
    assert_eq!(inbox.accept(digest(5), AT, b"x").unwrap(), Accepted::New);
    assert_eq!(inbox.count().unwrap(), 11);
    assert_eq!(
        inbox.recent(3).unwrap().iter().map(|message| message.number).collect::<Vec<_>>(),
        [9, 10, 11]
    );
}

#[test]
fn an_inbox_that_is_taken_away_takes_nothing_until_it_is_opened_anew() {
    let take_away: [fn(&Path); 3] = [
        |file| fs::remove_file(file).unwrap(),
        |file| fs::rename(file, file.with_extension("away")).unwrap(),
        |file| fs::remove_file(file.with_extension("db-wal")).unwrap(),
    ];
    for take_away in take_away {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inbox.db");
        let mut inbox = Inbox::open(&path).unwrap().with_quota(Quota { messages: 3, ..Quota::NONE });
        inbox.accept(digest(1), AT, b"21.5").unwrap();
        inbox.look().unwrap();

        take_away(&path);
        assert!(matches!(inbox.look().unwrap_err().problem, StoreProblem::Lost));
        let error = inbox.accept(digest(2), AT, b"21.6").unwrap_err();
        assert!(error.to_string().contains("removed, replaced or cut short"), "{error}");

        inbox.reopen().unwrap();
        assert_ne!(inbox.accept(digest(2), AT, b"21.6").unwrap(), Accepted::NoRoom);
        let more = [3, 4, 5].map(|number| inbox.accept(digest(number), AT, b"21.6").unwrap());
        assert_eq!(more[2], Accepted::NoRoom, "its quota is the same");
        drop(inbox);
        assert_eq!(Inbox::open(&path).unwrap().recent(1).unwrap()[0].data, b"21.6");
    }
}

#[test]
fn an_inbox_whose_folder_was_away_is_opened_again_when_it_is_back() {
    let outside = tempfile::tempdir().unwrap();
    let (folder, away) = (outside.path().join("state"), outside.path().join("away"));
    fs::create_dir(&folder).unwrap();
    let mut inbox = Inbox::open(folder.join("inbox.db")).unwrap();
    inbox.accept(digest(1), AT, b"21.5").unwrap();

    fs::rename(&folder, &away).unwrap();
    assert!(inbox.look().is_err() && inbox.reopen().is_err());
    fs::rename(&away, &folder).unwrap();
    assert!(matches!(inbox.look().unwrap_err().problem, StoreProblem::Lost), "it is not open");
    assert!(inbox.accept(digest(2), AT, b"21.6").is_err());

    inbox.reopen().unwrap();
    inbox.accept(digest(2), AT, b"21.6").unwrap();
    let kept: Vec<_> = inbox.recent(9).unwrap().into_iter().map(|message| message.data).collect();
    assert_eq!(kept, [b"21.5", b"21.6"]);
}

#[test]
fn an_inbox_that_was_cut_is_not_taken_for_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.db");
    let mut inbox = Inbox::open(&path).unwrap();
    for number in 0..100 {
        inbox.accept(digest(number), AT, &[7; 1000]).unwrap();
    }
    drop(inbox);
    let mut inbox = Inbox::open(&path).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(8192).unwrap();
    assert!(inbox.accept(digest(200), AT, b"x").is_err());
    assert!(matches!(inbox.look().unwrap_err().problem, StoreProblem::Lost));
    let error = inbox.reopen().unwrap_err();
    assert!(matches!(error.problem, StoreProblem::Damaged(_)), "{error}");
    assert!(inbox.look().is_err() && inbox.accept(digest(201), AT, b"x").is_err());
}

/// The child accepts messages and says so, one after the other, until it is killed in the middle of
/// it.
#[test]
fn every_accepted_message_survives_being_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.db");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "child_that_accepts_until_it_is_killed"])
        .env("INBOX", &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut accepted = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(number) = line.rsplit_once("accepted ").and_then(|(_, number)| number.parse::<u32>().ok())
        {
            accepted = accepted.max(number);
            if number == 25 {
                // SIGKILL; what the child has printed by then is read to the end.
                child.kill().unwrap();
            }
        }
    }
    child.wait().unwrap();

    let mut inbox = Inbox::open(&path).unwrap();
    assert!(accepted >= 25);
    assert!(inbox.count().unwrap() >= u64::from(accepted));
    for number in 1..=accepted {
        assert_eq!(inbox.accept(digest(number), AT, b"again").unwrap(), Accepted::AlreadyHere, "{number}");
    }
}

#[test]
#[ignore = "run by every_accepted_message_survives_being_killed"]
fn child_that_accepts_until_it_is_killed() {
    let Some(path) = std::env::var_os("INBOX") else { return };
    let mut inbox = Inbox::open(path).unwrap();
    for number in 1..u32::MAX {
        inbox.accept(digest(number), AT, b"reading").unwrap();
        println!("accepted {number}");
    }
}

#[test]
fn a_damaged_file_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.db");
    fs::write(&path, [0x5a; 8192]).unwrap();
    let error = Inbox::open(&path).unwrap_err();
    assert!(matches!(error.problem, StoreProblem::Damaged(_)), "{error:?}");
    let line = error.to_string();
    assert!(line.contains("inbox.db: damaged (") && line.ends_with("restore it from a backup"), "{line}");
}

#[test]
fn damage_that_shows_later_is_an_error_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.db");
    let mut inbox = Inbox::open(&path).unwrap();
    for number in 0..200 {
        inbox.accept(digest(number), AT, &[7; 200]).unwrap();
    }
    drop(inbox);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0x5a);
    fs::write(&path, bytes).unwrap();

    let mut inbox = Inbox::open(&path).unwrap();
    let error = inbox.accept(digest(1000), AT, b"x").unwrap_err();
    assert!(matches!(error.problem, StoreProblem::Damaged(_)), "{error:?}");
    assert!(inbox.recent(5).is_err());
}

#[test]
fn another_program_s_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE messages (text)").unwrap();
    let error = Inbox::open(&path).unwrap_err();
    assert!(matches!(error.problem, StoreProblem::Foreign(_)), "{error:?}");
}

#[test]
fn a_quota_refuses_what_is_new_and_knows_what_is_here() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.db");
    let quota = Quota { messages: 3, bytes: 10 };
    let mut inbox = Inbox::open(&path).unwrap().with_quota(quota);
    assert_eq!(inbox.accept(digest(1), AT, b"1234").unwrap(), Accepted::New);
    assert_eq!(inbox.accept(digest(2), AT, b"1234567").unwrap(), Accepted::NoRoom, "bytes");
    assert_eq!(inbox.accept(digest(3), AT, b"12").unwrap(), Accepted::New);
    assert_eq!(inbox.accept(digest(4), AT, b"12").unwrap(), Accepted::New);
    assert_eq!(inbox.accept(digest(5), AT, b"").unwrap(), Accepted::NoRoom, "messages");
    assert_eq!(inbox.accept(digest(1), AT, b"1234").unwrap(), Accepted::AlreadyHere);
    assert_eq!(inbox.held().unwrap(), Held { messages: 3, bytes: 8 });
    assert_eq!(quota.percent(inbox.held().unwrap()), 100);

    // It is counted again when it is opened, and when somebody else has removed messages.
    drop(inbox);
    let mut inbox = Inbox::open(&path).unwrap().with_quota(quota);
    assert_eq!(inbox.accept(digest(5), AT, b"").unwrap(), Accepted::NoRoom);
    assert_eq!(Inbox::open(&path).unwrap().remove_all_but(1).unwrap(), 2);
    assert_eq!(inbox.accept(digest(5), AT, b"").unwrap(), Accepted::New);
    assert_eq!(inbox.accept(digest(1), AT, b"1234").unwrap(), Accepted::AlreadyHere, "its digest stays");
    assert_eq!(inbox.held().unwrap(), Held { messages: 2, bytes: 2 });
    assert_eq!(inbox.remove_all_but(5).unwrap(), 0);
    inbox.probe().unwrap();
}
