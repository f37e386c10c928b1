//! Several brokers that store in one stream of NATS, killed and told of each other's updates.

mod broker_load;
#[path = "../../../things/broker-nats/tests/servers/mod.rs"]
mod servers;

use broker_load::*;
use motemix_broker::state::TopicId;
use motemix_broker::store::{Retention, Store as _};
use motemix_broker_nats::{JetStream, Settings};
use motemix_coap::Event;
use servers::Servers;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A cluster whose next leader has just come back lets clients wait for most of a minute.
const HANGS: Duration = Duration::from_mins(3);

/// Ends what waits for it, also where a story fails: whoever publishes would go on for ever.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn two_brokers_are_one_for_those_who_publish_and_observe() {
    let servers = Servers::start(1);
    let folder = tempfile::tempdir().expect("a folder");
    let url = servers.url();
    let one = Broker::start(&folder.path().join("one"), &["--store", &url]);
    let two = Broker::start(&folder.path().join("two"), &["--store", &url]);
    let (mut at_one, mut at_two) = (Client::new(one.address), Client::new(two.address));
    let topic = create(&mut at_one, "temperature");
    assert!(at_one.answer(&put(&topic, 1)).code.is_success());

    // The second one has it as well, once it has heard.
    let begin = Instant::now();
    while !at_two.answer(&put(&topic, 2)).code.is_success() {
        assert!(begin.elapsed() < Duration::from_mins(3), "the second broker knows no topic");
    }
    let mut observer = Client::new(one.address);
    observer.observe(&["ps", "data", &topic]);
    let mut heard = Vec::new();
    let begin = Instant::now();
    for number in 3..1000 {
        assert!(at_two.answer(&put(&topic, number)).code.is_success());
        if let Some(Event::Response { response, .. } | Event::Notification { response, .. }) = observer.hear()
        {
            heard.push(String::from_utf8_lossy(&response.payload).into_owned());
        }
        if heard.len() >= 4 {
            break;
        }
        assert!(begin.elapsed() < Duration::from_mins(3), "{heard:?}");
    }
    assert!(heard.len() >= 4, "{heard:?}");

    // Both publish to their clients at the same time: nobody is told to come back later.
    let (stop, counts) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 2]);
    let topics = [create(&mut at_one, "a"), create(&mut at_two, "b")];
    let published: Vec<_> = thread::scope(|scope| {
        let mut publishers = Vec::new();
        for ((broker, topic), count) in [&one, &two].into_iter().zip(&topics).zip(&counts) {
            let (address, stop) = (broker.address, &stop);
            publishers.push(scope.spawn(move || publish(address, topic, stop, count)));
        }
        let stopping = Stop(&stop);
        let begin = Instant::now();
        while counts.iter().any(|count| count.load(Ordering::Relaxed) < 50) {
            assert!(begin.elapsed() < Duration::from_mins(3), "{counts:?}");
            thread::sleep(Duration::from_millis(1));
        }
        drop(stopping);
        publishers.into_iter().map(|publisher| publisher.join().expect("a client")).collect()
    });
    for (topic, (acknowledged, begun)) in topics.iter().zip(&published) {
        // The last one may have been under way at the end.
        assert!(*begun <= acknowledged.len() as u64 + 1, "{begun} begun, {acknowledged:?}");
        let last = acknowledged.last().expect("some");
        assert!(newest(&mut at_one, topic) >= *last && newest(&mut at_two, topic) >= *last);
    }
}

/// The first line that a broker says which runs on this folder and is not told of a stream.
fn said_alone(data: &Path) -> String {
    let mut broker = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    broker.args(["broker", "--listen", "127.0.0.1:0", "--data"]).arg(data).stderr(Stdio::piped());
    let mut broker = broker.spawn().expect("it starts");
    let mut line = String::new();
    let said = BufReader::new(broker.stderr.take().expect("piped")).read_line(&mut line);
    // One that serves goes on.
    let _ = broker.kill();
    broker.wait().expect("it ends");
    said.map(|_| line).expect("it says something")
}

/// As where the line that names the stream is lost from a unit's settings.
#[test]
fn a_broker_that_is_not_told_of_its_stream_does_not_go_on_from_the_copy() {
    let servers = Servers::start(1);
    let folder = tempfile::tempdir().expect("a folder");
    let url = servers.url();
    let mut broker = Broker::start(folder.path(), &["--store", &url, "--page", "127.0.0.1:0"]);
    let page = broker.page();
    let mut client = Client::new(broker.address);
    let topic = create(&mut client, "temperature");
    assert!(client.answer(&put(&topic, 7)).code.is_success());
    // The page reads the copy that the broker has open.
    let mut stream = TcpStream::connect(page).expect("the page");
    write!(stream, "GET /api/topics/{topic}/history HTTP/1.1\r\nHost: {page}\r\nConnection: close\r\n\r\n")
        .expect("the page");
    let mut history = String::new();
    stream.read_to_string(&mut history).expect("the page");
    assert!(history.starts_with("HTTP/1.1 200") && history.contains('7'), "{history}");
    broker.kill();
    let data = broker.data();
    let said = said_alone(&data);
    assert!(said.contains("a copy of") && said.contains("`--store`") && said.contains("adopt"), "{said}");
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(data.join(format!("broker.sqlite{ending}")));
    }
    let said = said_alone(&data);
    assert!(said.contains("it is gone"), "{said}");
    // With its stream it goes on where it was.
    broker.begin();
    assert_eq!(newest(&mut client, &topic), 7);
}

#[test]
fn no_acknowledged_update_is_lost_when_brokers_and_a_server_of_the_cluster_are_killed() {
    let mut servers = Servers::start(3);
    let folder = tempfile::tempdir().expect("a folder");
    let url = servers.url();
    let mut brokers = ["one", "two"].map(|name| Broker::start(&folder.path().join(name), &["--store", &url]));
    let addresses = brokers.each_ref().map(|broker| broker.address);
    let mut client = Client::new(addresses[0]);
    let topics: Vec<_> = (0..4).map(|index| create(&mut client, &format!("t{index}"))).collect();
    let (stop, counts) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 4]);
    let until = |holds: &dyn Fn(&[u64; 4]) -> bool| {
        let begin = Instant::now();
        while !holds(&counts.each_ref().map(|count| count.load(Ordering::Relaxed))) {
            assert!(begin.elapsed() < HANGS, "nothing is acknowledged any more: {counts:?}");
            thread::sleep(Duration::from_millis(1));
        }
    };
    let under_way = |more: u64| {
        let before: u64 = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        until(&|counts| counts.iter().sum::<u64>() >= before + more);
    };
    let published: Vec<_> = thread::scope(|scope| {
        let publisher = |(index, topic): (usize, &String)| {
            let (topic, stop, count) = (topic.clone(), &stop, &counts[index]);
            scope.spawn(move || publish(addresses[index % 2], &topic, stop, count))
        };
        let publishers: Vec<_> = topics.iter().enumerate().map(publisher).collect();
        let stopping = Stop(&stop);
        for turn in 0..4 {
            under_way(20);
            brokers[turn % 2].kill();
            brokers[turn % 2].begin();
            under_way(20);
            if turn < 3 {
                servers.kill(turn);
                under_way(20);
                servers.begin(turn);
                servers.catch_up();
            }
        }
        // On a busy machine one may have waited for most of that time.
        until(&|counts| counts.iter().all(|count| *count > 10));
        drop(stopping);
        publishers.into_iter().map(|publisher| publisher.join().expect("a client")).collect()
    });
    drop(brokers);
    let settings = Settings::new("building", servers.addresses(), 3);
    let retention = Retention { values: 1_000_000, ..Retention::default() };
    let mut store = JetStream::open(&settings, &folder.path().join("new"), retention).expect("a store");
    for (topic, (acknowledged, _)) in topics.iter().zip(&published) {
        let history = store.history(&TopicId(topic.as_str().into()), usize::MAX, None).expect("its history");
        let kept: Vec<u64> =
            history.iter().filter_map(|value| String::from_utf8_lossy(&value.payload).parse().ok()).collect();
        let lost: Vec<_> = acknowledged.iter().filter(|number| !kept.contains(number)).collect();
        assert!(lost.is_empty(), "of {} acknowledged updates {lost:?} are lost", acknowledged.len());
        assert!(acknowledged.len() > 10, "{acknowledged:?}");
    }
}
