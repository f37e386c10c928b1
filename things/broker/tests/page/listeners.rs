//! Listeners hear of what changes, or load everything.

use motemix_broker::Change;
use motemix_broker::state::{RegistrationId, TopicId};
use serde_json::json;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpSocket;

use crate::client::{Events, get};
use crate::fake::{anywhere, identity, now};
use crate::{a_house, hello, house_within, limits_with, settings_with};

#[tokio::test]
async fn listeners_hear_of_each_thing_that_changes() {
    let (house, address, _serving) = a_house().await;
    let mut events = Events::connect(address, None).await;
    hello(events.next().await);
    let mut expect = async |kind: &str, check: &dyn Fn(&serde_json::Value) -> bool| {
        let event = events.next().await.expect("an event");
        assert!(event.kind == kind && check(&event.data), "{event:?}");
    };
    house.topic("t2", "<b>hall</b>", None);
    expect("topic", &|data| data["id"] == "t2" && data["name"] == "<b>hall</b>").await;
    house.measure("t2", now(), ("t", "Cel"), 4.25, None);
    expect("value", &|data| data["topic"] == "t2" && data["value"]["records"][0]["value"] == 4.25).await;
    house.refuse("t1", "used before");
    expect("refused", &|data| data["topic"] == "t1" && data["refused"]["count"] == 1).await;
    house.register("4523", "mote-3", Some(identity(3)), &[]);
    expect("device", &|data| data["endpoint"] == "mote-3").await;
    house.change(Change::Registration(RegistrationId("4523".into()), None));
    expect("device", &|data| *data == json!({ "id": "4523", "gone": true })).await;
    house.change(Change::Topic(TopicId("t2".into()), None));
    expect("topic", &|data| *data == json!({ "id": "t2", "gone": true })).await;
}

#[tokio::test]
async fn a_listener_that_comes_back_misses_nothing() {
    let (house, address, _serving) = a_house().await;
    let mut events = Events::connect(address, None).await;
    let mut last = hello(events.next().await);
    for number in 0..5 {
        house.measure("t1", now(), ("t", "Cel"), f64::from(number), None);
        last = events.next().await.expect("an event").id;
    }
    drop(events);
    house.topic("t2", "hall", None);
    house.refuse("t1", "used before");
    let mut events = Events::connect(address, Some(&last)).await;
    assert_eq!(hello(events.next().await), last);
    let missed = [events.next().await.expect("one").kind, events.next().await.expect("two").kind];
    assert_eq!(missed, ["topic", "refused"]);
}

#[tokio::test]
async fn a_listener_of_another_run_or_of_long_ago_loads_everything() {
    let limits = limits_with(|it| {
        it.entries = 4;
        it.pause = Duration::from_millis(1);
    });
    let (house, address, _serving) = house_within(limits, anywhere()).await;
    let mut events = Events::connect(address, None).await;
    let first = hello(events.next().await);
    for number in 0..6 {
        house.measure("t1", now(), ("t", "Cel"), f64::from(number), None);
        events.next().await.expect("an event");
    }
    let of_the_future = first.replace("-0", "-77");
    for last in [first.as_str(), "1-3", "nonsense", "", &of_the_future] {
        let mut events = Events::connect(address, Some(last)).await;
        let told = events.next().await.expect("an event");
        assert_eq!(told.kind, "reload", "{last}");
        assert!(events.next().await.is_none(), "and let go: {last}");
        // Where it goes on from.
        let mut again = Events::connect(address, Some(&told.id)).await;
        assert_eq!(hello(again.next().await), told.id);
    }
}

#[tokio::test]
async fn listeners_of_a_runtime_that_missed_changes_load_everything() {
    let (house, address, _serving) = a_house().await;
    let mut events = Events::connect(address, None).await;
    hello(events.next().await);
    house.feed.missed();
    assert_eq!(events.next().await.expect("an event").kind, "reload");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn fast_changes_of_one_topic_become_few_and_the_newest_is_among_them() {
    let limits = limits_with(|it| {
        it.pause = Duration::from_millis(50);
    });
    let (house, address, _serving) = house_within(limits, anywhere()).await;
    let mut events = Events::connect(address, None).await;
    hello(events.next().await);
    for number in 0..1000 {
        house.measure("t1", now(), ("t", "Cel"), f64::from(number), None);
    }
    let mut heard = 0;
    loop {
        let event = events.next().await.expect("an event");
        heard += 1;
        if event.data["value"]["records"][0]["value"] == 999.0 {
            break;
        }
    }
    assert!(heard <= 100, "{heard} events of 1000 changes");
}

#[tokio::test]
async fn listeners_have_so_many_places_and_give_them_back() {
    let limits = limits_with(|it| {
        it.listeners = 2;
    });
    let (house, address, _serving) = house_within(limits, anywhere()).await;
    let mut first = Events::connect(address, None).await;
    hello(first.next().await);
    let mut second = Events::connect(address, None).await;
    hello(second.next().await);
    let full = get(address, "/api/feed").await;
    assert_eq!((full.status, full.header("retry-after")), (503, Some("10")));
    assert_eq!(get(address, "/api/status").await.json()["listeners"], 2);
    drop(second);
    while house.feed.listeners() == 2 {
        // A closed connection is noticed when something is sent, or at once.
        house.measure("t1", now(), ("t", "Cel"), 1.0, None);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    hello(Events::connect(address, None).await.next().await);
}

#[tokio::test]
async fn a_listener_that_takes_nothing_is_let_go() {
    let limits = limits_with(|it| {
        it.entries = 50;
        it.pause = Duration::from_millis(1);
    });
    let settings = settings_with(|it| {
        it.patience = Duration::from_millis(300);
    });
    let (house, address, _serving) = house_within(limits, settings).await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small window");
    let mut stuck = socket.connect(address).await.expect("the page listens");
    let request = format!("GET /api/feed HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stuck.write_all(request.as_bytes()).await.expect("sent");
    while house.feed.listeners() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The buffers of both sockets fill, and nobody empties them.
    let long = "x".repeat(199);
    for number in 0_u32.. {
        for topic in 0..40 {
            let text = format!("{number} {long}");
            house.publish(&format!("topic-{topic}"), now(), Some(0), text.as_bytes(), None);
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        if house.feed.listeners() == 0 {
            break;
        }
    }
}
