//! What was committed is there, whatever happens.

mod building;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use building::*;
use motemix_broker::state::{Signed, Topic, TopicId, Value};
use motemix_broker::store::{Retention, Sqlite};
use motemix_broker::{Broker, Change, Moment, Store as _};
use motemix_coap::Method;
use motemix_coap::Request;

/// A folder for the child, and that this process is the child.
const FOLDER: &str = "MOTEMIX_BROKER_TEST_FOLDER";

fn value(number: u64, seconds: u64) -> Value {
    Value {
        published: START.plus_secs(seconds),
        content_format: Some(60),
        payload: Arc::from(number.to_be_bytes()),
        signed: Signed::Unchecked,
    }
}

/// A topic, as changes.
fn topic(name: &str) -> (TopicId, Vec<Change>) {
    let mut building = Building::new(policy(), &[]);
    let request = post(&[(0, Property::Text(name)), (2, Property::Text("core.ps.data"))]);
    let (response, settled) = building.ask(&local(), 1, request);
    (TopicId(response.location_path[1].as_str().into()), settled.feed)
}

fn number_of(value: &Value) -> u64 {
    u64::from_be_bytes((*value.payload).try_into().unwrap())
}

#[test]
fn a_process_that_is_killed_loses_nothing_that_it_had_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for kill_after in [1, 7, 40] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "publishes_until_it_is_killed", "--ignored", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let numbers =
            lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("stored ")?.parse::<u64>().ok());
        let mut seen = 0;
        for number in numbers {
            acknowledged = number;
            seen += 1;
            if seen == kill_after {
                // SIGKILL; what it had already said is still in the pipe.
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(seen >= kill_after, "it published {seen}");

        let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
        let state = store.load().unwrap();
        let newest = number_of(state.values().next().unwrap().1);
        // The one after it may have been committed and not said.
        assert!((acknowledged..=acknowledged + 1).contains(&newest), "{newest}, said {acknowledged}");
        let (id, _) = topic("room");
        let history = store.history(&id, 1000, None).unwrap();
        let numbers: Vec<u64> = history.iter().rev().map(number_of).collect();
        let first = newest + 1 - numbers.len() as u64;
        assert_eq!(numbers, (first..=newest).collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "the process that the test above kills"]
fn publishes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut store = Sqlite::open(folder.as_ref(), Retention::default()).unwrap();
    let state = store.load().unwrap();
    let (id, made) = topic("room");
    if state.topics().len() == 0 {
        store.commit(&made).unwrap();
    }
    let next = state.value(&id).map_or(0, |value| number_of(value) + 1);
    // Its end is the kill; this bound is for a parent that is gone.
    for number in next..next + 1_000_000 {
        store.commit(&[Change::Value(id.clone(), Some(Arc::new(value(number, 0))))]).unwrap();
        let mut out = std::io::stdout();
        if writeln!(out, "stored {number}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

#[test]
fn a_topic_keeps_so_many_values_and_none_that_is_too_old() {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention { values: 5, seconds: 100, ..Retention::default() };
    let mut store = Sqlite::open(folder.path(), retention).unwrap();
    let (id, made) = topic("room");
    store.commit(&made).unwrap();
    let publish = |store: &mut Sqlite, number, seconds| {
        store.commit(&[Change::Value(id.clone(), Some(Arc::new(value(number, seconds))))]).unwrap();
    };
    let kept = |store: &mut Sqlite| {
        let values = store.history(&id, 100, None).unwrap();
        values.iter().map(number_of).collect::<Vec<_>>()
    };
    (0..8).for_each(|number| publish(&mut store, number, number));
    assert_eq!(kept(&mut store), [7, 6, 5, 4, 3]);
    // It knows so after a restart as well.
    drop(store);
    let mut store = Sqlite::open(folder.path(), retention).unwrap();
    publish(&mut store, 8, 8);
    assert_eq!(kept(&mut store), [8, 7, 6, 5, 4]);
    publish(&mut store, 9, 106);
    store.tidy(START.plus_secs(106), Duration::ZERO).unwrap();
    assert_eq!(kept(&mut store), [9, 8, 7, 6]);
    // Nothing is published any more: the newest stays.
    store.tidy(START.plus_secs(10_000), Duration::from_secs(10_000)).unwrap();
    assert_eq!(kept(&mut store), [9]);
    // A page of it, older than another.
    publish(&mut store, 10, 107);
    let page = store.history(&id, 1, Some(START.plus_secs(107))).unwrap();
    assert_eq!(page.iter().map(number_of).collect::<Vec<_>>(), [9]);
    // What is deleted has no history.
    store.commit(&[Change::Value(id.clone(), None)]).unwrap();
    assert_eq!(kept(&mut store), [0; 0]);
    publish(&mut store, 11, 108);
    assert_eq!(kept(&mut store), [11]);
}

/// A topic that a device made, of which there are many.
fn topic_by(name: &str, owner: Option<&Device>) -> (TopicId, Change) {
    let (id, made) = topic(name);
    let [Change::Topic(_, Some(topic))] = &made[..] else { panic!("{made:?}") };
    let topic = Topic { owner: owner.map(|device| device.identity), ..Topic::clone(topic) };
    (id.clone(), Change::Topic(id, Some(Arc::new(topic))))
}

fn of_length(len: usize, millis: u64) -> Value {
    Value { published: START.plus_millis(millis), payload: vec![7; len].into(), ..value(0, 0) }
}

fn publish(store: &mut Sqlite, id: &TopicId, value: Value) {
    store.commit(&[Change::Value(id.clone(), Some(Arc::new(value)))]).unwrap();
}

#[test]
fn who_publishes_much_loses_his_own_oldest_values_and_the_file_does_not_grow() {
    let folder = tempfile::tempdir().unwrap();
    let (quiet, loud) = (Device::new(1), Device::new(2));
    let retention = Retention {
        bytes_of_a_device: 1 << 20,
        bytes_of_others: 1 << 20,
        bytes: 2 << 20,
        ..Retention::default()
    };
    let mut store = Sqlite::open(folder.path(), retention).unwrap();
    let (hall, made) = topic_by("hall", Some(&quiet));
    store.commit(&[made]).unwrap();
    (0..20).for_each(|number| publish(&mut store, &hall, of_length(100, number)));
    let loud: Vec<TopicId> = (0..4)
        .map(|number| {
            let (id, made) = topic_by(&format!("loud/{number}"), Some(&loud));
            store.commit(&[made]).unwrap();
            id
        })
        .collect();
    let mut sizes = Vec::new();
    for number in 0..600 {
        publish(&mut store, &loud[number as usize % 4], of_length(10_000, 1_000 + number));
        if number % 200 == 199 {
            sizes.push(std::fs::metadata(folder.path().join(Sqlite::FILE)).unwrap().len());
        }
    }
    // Six million bytes were published.
    assert_eq!(sizes[1], sizes[2], "{sizes:?}");
    assert!(sizes[2] < 3 << 20, "{sizes:?}");
    let counters = store.counters();
    assert!(counters.bytes <= (1 << 20) + 20 * 400, "{counters:?}");
    assert!((500..600).contains(&counters.removed), "{counters:?}");
    assert_eq!(store.history(&hall, 100, None).unwrap().len(), 20, "the quiet one's stay");
    // The oldest of all his topics went, and what is left is the same after a restart.
    let left: Vec<Vec<u64>> = loud
        .iter()
        .map(|id| {
            let values = store.history(id, 1000, None).unwrap();
            values.iter().map(|value| value.published.as_millis() - START.as_millis() - 1_000).collect()
        })
        .collect();
    assert!(left.iter().all(|numbers| numbers.len().abs_diff(left[0].len()) <= 1), "{left:?}");
    drop(store);
    let mut store = Sqlite::open(folder.path(), retention).unwrap();
    publish(&mut store, &loud[0], of_length(10_000, 2_000));
    assert!(store.counters().bytes <= 1 << 20, "{:?}", store.counters());
}

#[test]
fn of_all_together_who_has_the_most_gives_way_and_the_newest_of_each_topic_stays() {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention { bytes: 1 << 18, ..Retention::default() };
    let mut store = Sqlite::open(folder.path(), retention).unwrap();
    let (hall, made) = topic_by("hall", None);
    store.commit(&[made]).unwrap();
    (0..20).for_each(|number| publish(&mut store, &hall, of_length(100, number)));
    // So many keys that each is far below its own bound.
    for number in 0..50 {
        let (id, made) = topic_by(&format!("room/{number}"), Some(&Device::new(number)));
        store.commit(&[made]).unwrap();
        for time in 0..4 {
            publish(&mut store, &id, of_length(2000, 100 + u64::from(number) * 10 + time));
        }
    }
    assert_eq!(store.history(&hall, 100, None).unwrap().len(), 20);
    assert!(store.counters().bytes <= 1 << 18, "{:?}", store.counters());
    // The newest of each topic are there.
    assert_eq!(store.load().unwrap().values().count(), 51);
    assert!(store.counters().removed >= 130, "{:?}", store.counters());
    // What the file did not take is not counted either.
    let counters = store.counters();
    let lock = rusqlite::Connection::open(folder.path().join(Sqlite::FILE)).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let value = Change::Value(hall.clone(), Some(Arc::new(of_length(100, 9_000))));
    store.commit(&[value]).unwrap_err();
    assert_eq!(store.counters(), counters);
}

#[test]
fn a_clock_that_is_a_month_ahead_takes_no_history_away_before_somebody_can_notice() {
    const HOUR: Duration = Duration::from_hours(1);
    const DAY: u64 = 24 * 3600;
    let folder = tempfile::tempdir().unwrap();
    let open = || Sqlite::open(folder.path(), Retention::default()).unwrap();
    let mut store = open();
    let (id, made) = topic("room");
    store.commit(&made).unwrap();
    (0..10).for_each(|day| publish(&mut store, &id, value(day, day * DAY)));
    let at = |day: u64| START.plus_secs(day * DAY);
    let kept = |store: &mut Sqlite| store.history(&id, 100, None).unwrap().len();
    store.tidy(at(10), Duration::ZERO).unwrap();

    // A month ahead, also for what is published then, and when the broker is started again.
    store.tidy(at(45), HOUR).unwrap();
    publish(&mut store, &id, value(10, 45 * DAY));
    assert_eq!(kept(&mut store), 11);
    assert_eq!(store.counters().clock_ahead, 34 * DAY);
    drop(store);
    let mut store = open();
    store.tidy(at(45), Duration::ZERO).unwrap();
    assert_eq!(kept(&mut store), 11);
    // It is set right: all is there.
    store.tidy(at(11), HOUR).unwrap();
    assert_eq!((kept(&mut store), store.counters().clock_ahead), (11, 0));

    // A broker that was off for a month makes up for it in a day or two.
    for _ in 0..34 {
        store.tidy(at(45), HOUR).unwrap();
    }
    assert_eq!((kept(&mut store), store.counters().clock_ahead), (1, 0));
    // A clock that began at 1970 was never right.
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
    store.tidy(Moment::from_millis(1), Duration::ZERO).unwrap();
    store.tidy(at(0), HOUR).unwrap();
    assert_eq!(store.counters().clock_ahead, 0);
}

#[test]
fn a_broker_that_comes_back_has_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::new(1);
    let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
    store.commit(&[device.registration()]).unwrap();
    let mut broker = Broker::new(policy(), store.load().unwrap());
    let mut requests = Vec::new();
    for number in 0..20 {
        let name = format!("room/{number}");
        requests.push(post(&[
            (0, Property::Text(&name)),
            (2, Property::Text("core.ps.data")),
            (3, Property::Number(60)),
            (5, Property::Date(START.as_secs() + 1000 + number)),
            (8, Property::Bytes(&[number as u8])),
        ]));
    }
    for batch in requests.chunks(7) {
        for request in batch {
            broker.handle(START, &local(), 0_u8, relation(&local(), 1), request.clone());
        }
        store.commit(broker.changes()).unwrap();
        for answer in broker.stored().answers {
            let id = &answer.response.location_path[1];
            if id.starts_with(['0', '1', '2', '3']) {
                let delete = Request::new(Method::Delete, &["ps", id]);
                broker.handle(START, &local(), 0, relation(&local(), 1), delete);
            }
        }
        store.commit(broker.changes()).unwrap();
        broker.stored();
    }
    assert!((1..20).contains(&broker.state().topics().len()));
    drop(store);
    let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
    assert_eq!(store.load().unwrap(), *broker.state());
}

#[test]
fn what_somebody_wrote_into_the_file_is_found_when_it_is_loaded() {
    for (statement, says) in [
        ("UPDATE topics SET change = x'00'", "topics: not a change"),
        ("UPDATE topics SET change = x'8402'", "a change in version 2"),
        (
            "UPDATE history SET change = CAST(substr(change, 1, length(change) - 1) AS BLOB)",
            "history: not a change",
        ),
        ("UPDATE history SET change = CAST(change || x'00' AS BLOB)", "another form"),
        ("DELETE FROM topics", "history: not a change: it does not belong here"),
        (
            "INSERT INTO registrations SELECT id, change FROM topics",
            "registrations: not a change: it does not",
        ),
        ("INSERT INTO freshness SELECT CAST(id AS BLOB), change FROM topics", "freshness: not a change: it"),
        ("UPDATE topics SET id = 'other'", "under another name"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
        let (id, made) = topic("room");
        store.commit(&made).unwrap();
        store.commit(&[Change::Value(id, Some(Arc::new(value(1, 0))))]).unwrap();
        drop(store);
        let connection = rusqlite::Connection::open(folder.path().join(Sqlite::FILE)).unwrap();
        connection.execute(statement, []).unwrap();
        drop(connection);
        let loaded = Sqlite::open(folder.path(), Retention::default()).and_then(|mut store| store.load());
        let said = loaded.unwrap_err().to_string();
        assert!(said.contains("broker.sqlite") && said.contains(says), "{said} has not {says}");
        assert!(!said.contains('\n'), "{said}");
    }
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(Sqlite::FILE);
    std::fs::write(&file, b"not a database, and longer than the header of one would have to be").unwrap();
    let said = Sqlite::open(folder.path(), Retention::default()).unwrap_err().to_string();
    assert!(said.contains("broker.sqlite"), "{said}");
    assert!(std::fs::read(&file).unwrap().starts_with(b"not a database"));
}

#[test]
fn only_its_owner_reads_what_is_stored() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("state");
    let mut store = Sqlite::open(&inside, Retention::default()).unwrap();
    store.commit(&topic("room").1).unwrap();
    let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(inside.clone()), 0o700);
    assert_eq!(mode(inside.join(Sqlite::FILE)), 0o600);
}
