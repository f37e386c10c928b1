//! A broker that is killed at any moment under load has everything that it acknowledged.

mod broker_load;

use broker_load::*;
use motemix_broker::state::TopicId;
use motemix_broker::store::{Retention, Sqlite, Store as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const CLIENTS: usize = 6;
const KILLS: u64 = 8;

#[test]
fn whatever_was_acknowledged_before_it_was_killed_is_there_afterwards() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut broker = Broker::start(folder.path(), &[]);
    let address = broker.address;
    let mut client = Client::new(address);
    let topics: Vec<_> = (0..CLIENTS).map(|index| create(&mut client, &format!("t{index}"))).collect();

    let (stop, all) = (AtomicBool::new(false), AtomicU64::new(0));
    let published: Vec<_> = thread::scope(|scope| {
        let publisher = |topic: &String| {
            let (topic, stop, all) = (topic.clone(), &stop, &all);
            scope.spawn(move || publish(address, &topic, stop, all))
        };
        let publishers: Vec<_> = topics.iter().map(publisher).collect();
        for kill in 0..KILLS {
            // Under way, and then at some moment between two system calls.
            let before = all.load(Ordering::Relaxed);
            while all.load(Ordering::Relaxed) < before + 40 {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_micros(kill * 977));
            broker.kill();
            broker.begin();
        }
        stop.store(true, Ordering::Relaxed);
        publishers.into_iter().map(|publisher| publisher.join().expect("a client")).collect()
    });

    for (topic, (acknowledged, begun)) in topics.iter().zip(&published) {
        let newest = newest(&mut client, topic);
        assert!(Some(&newest) >= acknowledged.last(), "{newest} and {acknowledged:?}");
        assert!(newest < *begun, "{newest} of {begun}");
    }
    broker.kill();
    let retention = Retention { values: 1_000_000, ..Retention::default() };
    let mut store = Sqlite::open(&broker.data(), retention).expect("the store");
    for (topic, (acknowledged, _)) in topics.iter().zip(&published) {
        let history = store.history(&TopicId(topic.as_str().into()), usize::MAX, None).expect("its history");
        let kept: Vec<u64> =
            history.iter().filter_map(|value| String::from_utf8_lossy(&value.payload).parse().ok()).collect();
        let lost: Vec<_> = acknowledged.iter().filter(|number| !kept.contains(number)).collect();
        assert!(lost.is_empty(), "of {} acknowledged updates {lost:?} are lost", acknowledged.len());
        assert!(!acknowledged.is_empty());
    }
    // Who waits to repeat is overtaken by the others.
    let all: usize = published.iter().map(|(acknowledged, _)| acknowledged.len()).sum();
    assert!(all as u64 >= 40 * KILLS, "{all} acknowledged");
}
