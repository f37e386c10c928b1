//! Brokers' stores in a stream of a real NATS server (Debian's `nats-server`).

mod behind;
mod put_back;
mod servers;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use behind::behind;
use motemix_broker::state::{Signed, Topic, TopicId, Value};
use motemix_broker::store::{Retention, Store as _, StoreError};
use motemix_broker::{Change, Moment, State};
use motemix_broker_nats::{JetStream, Settings};
use servers::Servers;

fn settings(servers: &Servers, seed: u64) -> Settings {
    Settings::new("building", servers.addresses(), seed)
}

fn open(settings: &Settings, folder: &Path) -> JetStream {
    JetStream::open(settings, folder, Retention::default()).expect("a store")
}

fn topic(name: &str) -> Change {
    let topic = Topic {
        name: name.into(),
        topic_type: None,
        content_format: None,
        expires: None,
        max_subscribers: None,
        observer_check: 86_400,
        device: None,
        owner: None,
    };
    Change::Topic(TopicId(name.into()), Some(Arc::new(topic)))
}

fn value(name: &str, number: u64, len: usize) -> Change {
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(len.max(8), 0x2a);
    let value = Value {
        published: Moment::from_millis(1_795_564_800_000 + number),
        content_format: Some(42),
        payload: payload.into(),
        signed: Signed::Unchecked,
    };
    Change::Value(TopicId(name.into()), Some(Arc::new(value)))
}

fn state(changes: impl IntoIterator<Item = Change>) -> State {
    let mut state = State::default();
    for change in changes {
        state.apply(change);
    }
    state
}

/// The news, once there is some.
fn news(store: &mut JetStream) -> Vec<Change> {
    let begin = Instant::now();
    loop {
        let news = store.news().expect("news");
        if !news.is_empty() {
            return news;
        }
        assert!(begin.elapsed() < Duration::from_mins(3), "nobody tells");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_was_committed_is_there_in_the_same_folder_and_in_a_new_one() {
    let servers = Servers::start(1);
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = open(&settings(&servers, 1), folder.path());
    assert_eq!(store.load().unwrap(), State::default());
    store.commit(&[topic("a"), value("a", 1, 10)]).unwrap();
    store.commit(&[value("a", 2, 10)]).unwrap();
    // More than a message carries.
    store.commit(&[value("a", 3, 400_000), topic("b"), value("b", 4, 400_000)]).unwrap();
    let expected = state([topic("a"), value("a", 3, 400_000), topic("b"), value("b", 4, 400_000)]);
    assert_eq!(store.load().unwrap(), expected);
    drop(store);

    for folder in [&folder, &other] {
        let mut again = open(&settings(&servers, 2), folder.path());
        assert_eq!(again.load().unwrap(), expected);
        let history = again.history(&TopicId("a".into()), 10, None).unwrap();
        let numbers: Vec<_> = history.iter().map(|value| value.payload[7]).collect();
        assert_eq!(numbers, [3, 2, 1]);
        // It is told of nothing that it began with.
        assert_eq!(again.news().unwrap(), []);
    }
}

#[test]
fn two_brokers_see_what_the_other_stored_and_neither_stores_without_that() {
    let servers = Servers::start(1);
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut one = open(&settings(&servers, 1), one.path());
    let mut two = open(&settings(&servers, 2), two.path());
    one.commit(&[topic("a"), value("a", 1, 10)]).unwrap();

    // The second was not told yet, or was and has not looked.
    assert!(matches!(two.commit(&[topic("a"), value("a", 7, 10)]), Err(StoreError::Behind)));
    assert_eq!(news(&mut two), [topic("a"), value("a", 1, 10)]);
    two.commit(&[value("a", 2, 10)]).unwrap();

    assert_eq!(news(&mut one), [value("a", 2, 10)]);
    assert_eq!(one.load().unwrap(), two.load().unwrap());
    // Its own changes are no news.
    assert_eq!(two.news().unwrap(), []);
}

#[test]
fn old_messages_go_when_there_is_a_snapshot_and_who_was_away_begins_with_it() {
    let servers = Servers::start(1);
    let (one, two, new) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut often = settings(&servers, 1);
    often.snapshot_every = 10;
    let mut store = open(&often, one.path());
    store.commit(&[topic("gone"), topic("a"), value("gone", 1, 10)]).unwrap();
    // It was there at the beginning, and then away; its topic is deleted meanwhile.
    let mut away = open(&settings(&servers, 2), two.path());
    assert_eq!(away.load().unwrap().topics().len(), 2);
    let mut left = open(&settings(&servers, 2), new.path());
    drop(away);
    store
        .commit(&[Change::Value(TopicId("gone".into()), None), Change::Topic(TopicId("gone".into()), None)])
        .unwrap();
    for number in 2..40 {
        store.commit(&[value("a", number, 10)]).unwrap();
    }
    let expected = state([topic("a"), value("a", 39, 10)]);

    for _ in 0..2 {
        let mut away = open(&settings(&servers, 2), two.path());
        assert_eq!(away.load().unwrap(), expected);
    }
    // One that went on and looks late.
    let mut known = left.load().unwrap();
    while known != expected {
        for change in news(&mut left) {
            known.apply(change);
        }
    }
    assert_eq!(left.load().unwrap(), expected);
    left.commit(&[value("a", 40, 10)]).unwrap();
    assert_eq!(news(&mut store), [value("a", 40, 10)]);
}

/// Does something as a program that reaches the servers.
fn as_somebody<T>(servers: &Servers, work: impl AsyncFnOnce(async_nats::Client) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = async_nats::connect(servers.addresses()).await.expect("a server");
        work(client).await
    })
}

#[test]
fn news_of_what_nobody_stored_is_passed_over_and_counted() {
    let servers = Servers::start(1);
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut one = open(&settings(&servers, 1), one.path());
    let mut two = open(&settings(&servers, 2), two.path());
    one.commit(&[topic("a"), value("a", 1, 10)]).unwrap();
    assert_eq!(news(&mut two).len(), 2);
    let mut told = 0;
    for sequence in [u64::MAX, 7] {
        as_somebody(&servers, async |client| {
            let mut headers = async_nats::HeaderMap::new();
            headers.insert("Nats-Sequence", sequence.to_string().as_str());
            let subject = "motemix-stored.building.changes";
            client.publish_with_headers(subject, headers, "".into()).await.expect("published");
            client.flush().await.expect("sent");
        });
        told += 1;
        while two.counters().false_news < told {
            assert_eq!(two.news().unwrap(), []);
            std::thread::sleep(Duration::from_millis(5));
        }
        // It stores, and hears of what others store.
        two.commit(&[value("a", 2, 10)]).unwrap();
        while one.load().unwrap() != two.load().unwrap() {
            one.news().unwrap();
        }
        one.commit(&[value("a", 3, 10)]).unwrap();
        assert_eq!(news(&mut two), [value("a", 3, 10)]);
    }
}

#[test]
fn a_stream_does_not_grow_beyond_its_bound() {
    let servers = Servers::start(1);
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let few = Retention { bytes: 1 << 20, ..Retention::default() };
    let mut store = JetStream::open(&settings(&servers, 1), folder.path(), few).unwrap();
    store.commit(&[topic("a")]).unwrap();
    // Twenty million bytes.
    for number in 0..200 {
        store.commit(&[value("a", number, 100_000)]).unwrap();
    }
    let (bytes, most) = as_somebody(&servers, async |client| {
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream("motemix-building").await.expect("the stream");
        let info = stream.get_info().await.expect("what it has");
        (info.state.bytes, info.config.max_bytes)
    });
    assert!(bytes < 4 << 20, "{bytes}");
    assert_eq!(most, 4 << 20);
    assert!(store.counters().bytes <= 1 << 20, "{:?}", store.counters());
    let mut again = JetStream::open(&settings(&servers, 2), other.path(), few).unwrap();
    assert_eq!(again.load().unwrap(), state([topic("a"), value("a", 199, 100_000)]));
}

#[test]
fn a_copy_without_bytes_is_read_again_and_one_that_was_put_back_reads_on() {
    let servers = Servers::start(1);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("broker.sqlite");
    let mut store = open(&settings(&servers, 1), folder.path());
    store.commit(&[topic("a")]).unwrap();
    drop(store);
    std::fs::copy(&copy, folder.path().join("earlier")).unwrap();
    let mut store = open(&settings(&servers, 2), folder.path());
    store.commit(&[topic("b")]).unwrap();
    drop(store);
    let deeds: [&dyn Fn(); 3] = [
        &|| std::fs::write(&copy, "").unwrap(),
        &|| {
            std::fs::copy(folder.path().join("earlier"), &copy).unwrap();
        },
        &|| std::fs::remove_file(&copy).unwrap(),
    ];
    for (deed, seed) in deeds.into_iter().zip(3..) {
        deed();
        let mut store = open(&settings(&servers, seed), folder.path());
        assert_eq!(store.load().unwrap(), state([topic("a"), topic("b")]));
    }
}

#[test]
fn a_stream_that_was_put_back_is_told_from_what_was_copied_also_when_it_went_on() {
    let mut servers = Servers::start(1);
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut seed = 0;
    let mut commit = |servers: &Servers, folder: &Path, name: &str| {
        seed += 1;
        open(&settings(servers, seed), folder).commit(&[topic(name)]).unwrap();
    };
    let refused = |servers: &Servers, says: &str| {
        let refused = JetStream::open(&settings(servers, 99), folder.path(), Retention::default());
        let said = refused.unwrap_err().to_string();
        assert!(said.contains(says) && said.contains("motemix adopt"), "{said}");
    };
    commit(&servers, folder.path(), "a");
    servers.kill(0);
    servers.back_up();
    servers.begin(0);
    // More than a start writes, as each refusal begins with a message as well.
    for name in ["b", "c", "d", "e"] {
        commit(&servers, folder.path(), name);
    }
    servers.kill(0);
    servers.put_back();
    servers.begin(0);
    refused(&servers, "and the copy in the folder is of");
    for name in ["f", "g", "h", "i"] {
        commit(&servers, other.path(), name);
    }
    refused(&servers, "is not the one that was copied");
}

/// Ends what waits for it, also where a story fails: it would go on for ever.
struct Ending<'s>(&'s AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A snapshot of many messages is too late whenever the other broker stores between them.
#[test]
fn a_stream_with_snapshots_that_come_too_late_does_not_fill() {
    let servers = Servers::start(1);
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let few = Retention { bytes: 8 << 20, ..Retention::default() };
    let with = |seed: usize| {
        JetStream::open(&settings(&servers, seed as u64), folders[seed].path(), few).expect("a store")
    };
    let mut large = with(0);
    let names: Vec<_> = (0..70).map(|number| format!("t{number}")).collect();
    for name in &names {
        large.commit(&[topic(name), value(name, 0, 100_000)]).unwrap();
    }
    let mut small = with(1);
    let ended = AtomicBool::new(false);
    let commit = |store: &mut JetStream, change: Change| {
        while let Err(problem) = store.commit(std::slice::from_ref(&change)) {
            assert!(matches!(problem, StoreError::Behind), "{problem}");
            store.news().expect("news");
        }
    };
    std::thread::scope(|scope| {
        let _ending = Ending(&ended);
        scope.spawn(|| {
            for number in 0.. {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                commit(&mut small, value("t0", number, 10));
            }
        });
        for number in 0..60 {
            commit(&mut large, value("t1", number, 100_000));
        }
    });
    assert_eq!(with(2).load().unwrap().topics().len(), names.len());
}

#[test]
fn a_folder_of_another_stream_and_a_stream_of_another_folder_are_told_apart() {
    let (servers, others) = (Servers::start(1), Servers::start(1));
    let folder = tempfile::tempdir().unwrap();
    drop(open(&settings(&servers, 1), folder.path()));
    let refused = JetStream::open(&settings(&others, 1), folder.path(), Retention::default());
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("broker.sqlite") && said.contains("choose another folder"), "{said}");
    let mut wrong = settings(&servers, 1);
    wrong.name = "a.b".to_owned();
    let said = JetStream::open(&wrong, folder.path(), Retention::default()).unwrap_err().to_string();
    assert!(said.contains("a.b") && said.contains("letters"), "{said}");
    let mut nobody = Settings::new("x", ["127.0.0.1:1"], 1);
    (nobody.patience, nobody.start) = (Duration::from_secs(1), Duration::from_secs(3));
    let said = JetStream::open(&nobody, folder.path(), Retention::default()).unwrap_err().to_string();
    assert!(said.contains("127.0.0.1:1") && said.contains("start a server"), "{said}");
}

/// Each of two brokers finds whenever it stores that the other one was faster.
#[test]
fn a_cluster_of_three_loses_a_server_under_load_and_no_change() {
    let mut servers = Servers::start(3);
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let mut patient = settings(&servers, 0);
    patient.patience = Duration::from_secs(30);
    assert_eq!(patient.replicas, 3);
    let mut open = |seed: u64| {
        patient.batch_seed = seed;
        open(&patient, folders[seed as usize].path())
    };
    let mut stores = [0, 1].map(&mut open);
    stores[0].commit(&[topic("a")]).unwrap();
    let mut kept = Vec::new();
    for number in 0..600 {
        // Each of them in turn: one of them leads the stream, and a store is connected to one.
        match number {
            100 => servers.kill(0),
            200 => servers.begin(0),
            300 => {
                servers.catch_up();
                servers.kill(1);
            }
            400 => servers.begin(1),
            500 => {
                servers.catch_up();
                servers.kill(2);
            }
            _ => {}
        }
        let store = &mut stores[number as usize % 2];
        for _ in 0..2 {
            if store.commit(&[value("a", number, 100)]).is_ok() {
                kept.push(number);
                break;
            }
            let _ = store.news();
        }
    }
    drop(stores);
    assert!(kept.len() > 500, "{} of 600 were stored", kept.len());
    let history = open(2).history(&TopicId("a".into()), usize::MAX, None).unwrap();
    let there: Vec<u64> = history
        .iter()
        .filter_map(|value| value.payload.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)))
        .collect();
    let lost: Vec<_> = kept.iter().filter(|number| !there.contains(number)).collect();
    assert!(lost.is_empty(), "{lost:?} are lost");
}

/// For ten seconds after it came back, the server of a cluster that is preferred as leader answers
/// for the stream although it does not lead it (`jsStreamInfoRequest` in nats-server).
#[test]
fn a_store_that_is_opened_at_a_server_which_is_behind_has_all_that_was_acknowledged() {
    let servers = Servers::start(1);
    let (one, two, new) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = open(&settings(&servers, 1), one.path());
    store.commit(&[topic("a"), value("a", 1, 10)]).unwrap();
    drop(open(&settings(&servers, 2), two.path()));
    let within = Duration::from_mins(3);
    let said = servers.ask(0, "STREAM.INFO.motemix-building", "", within).unwrap();
    for number in 2..=40 {
        store.commit(&[value("a", number, 10)]).unwrap();
    }
    drop(store);

    let behind = behind(&servers.addresses()[0], &said);
    let expected = state([topic("a"), value("a", 40, 10)]);
    // The copy in the first folder is ahead of what is said, the second goes as far, and a new one
    // has nothing.
    for (folder, seed) in [(one, 3), (two, 4), (new, 5)] {
        let settings = Settings::new("building", [behind.to_string()], seed);
        let mut store = open(&settings, folder.path());
        assert_eq!(store.load().unwrap(), expected);
        // It is as able to store as any other.
        store.commit(&[value("a", 40, 10)]).unwrap();
    }
}

/// Opens a store, which neither gives up nor is open before the last server begins, however often it
/// asks meanwhile.
fn opens_when_the_last_server_begins(servers: &mut Servers, settings: Settings, last: usize) {
    let patience = settings.patience;
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let opened = std::thread::spawn(move || {
        let mut store = open(&settings, folder.path());
        store.commit(&[topic("a")]).map_err(|problem| problem.to_string())
    });
    while begun.elapsed() < 3 * patience {
        std::thread::sleep(Duration::from_millis(50));
        assert!(!opened.is_finished(), "it gave up, or is open without a server");
    }
    servers.begin(last);
    assert_eq!(opened.join().unwrap(), Ok(()));
}

/// After a power cut all machines begin at once.
#[test]
fn a_store_waits_for_a_server_that_does_not_listen_yet() {
    let mut servers = Servers::prepare(1);
    let mut settings = settings(&servers, 1);
    settings.patience = Duration::from_millis(500);
    opens_when_the_last_server_begins(&mut servers, settings, 0);
}

#[test]
fn a_store_waits_for_a_cluster_that_has_only_begun() {
    let mut servers = Servers::prepare(3);
    servers.begin(0);
    servers.begin(1);
    let mut settings = settings(&servers, 1);
    settings.patience = Duration::from_secs(2);
    settings.start = Duration::from_secs(120);
    // Two of them have no room for three replicas, however long they are asked.
    opens_when_the_last_server_begins(&mut servers, settings, 2);
}
