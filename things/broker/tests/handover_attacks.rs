//! What somebody does to a receiver that hands over: who has a key and a broker in reach, who sends
//! through the network, and what an operator does by mistake.

mod building;
mod receiver;

use std::time::Duration;

use building::*;
use futures_util::FutureExt as _;
use motemix_broker_client::handover::Commands;
use motemix_coap::{Code, Method, Request, format, link_format};
use motemix_object::{Credential, Freshness, Path};
use motemix_os::store::Inbox;
use motemix_readings::devices::MAX_DEVICES;
use motemix_readings::{Devices, base64url};
use receiver::*;
use tokio::task::LocalSet;

const COSE: u16 = format::COSE_SIGN1;
const DATA: (i64, Property<'_>) = (2, Property::Text("core.ps.data"));

#[test]
fn the_topics_of_a_device_are_made_by_it_or_its_receiver_and_by_nobody_else() {
    let (device, other) = (Device::new(1), Device::new(2));
    let mut building = Building::new(policy(), &[]);
    let of_device = [
        format!("devices/{:.32}/readings", device.identity),
        format!("devices/{:.32}/commands", device.identity),
    ];
    for name in &of_device {
        let taken = building.answer(&proven(&other), post(&[(0, Property::Text(name)), DATA]));
        assert_eq!(taken.code, Code::FORBIDDEN, "{name}: {}", text(&taken));
    }
    building.create(&proven(&device), &[(0, Property::Text(&of_device[0])), DATA]);
    building.create(&local(), &[(0, Property::Text(&of_device[1])), DATA]);
}

#[tokio::test]
async fn a_topic_that_somebody_else_made_for_a_device_gets_none_of_its_readings() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let mut device = Device::new(1);
            let mut receiver = Receiver::new(folder.path(), &[&device]);
            receiver.arrives(&device.seal(20));
            let broker = Served::start(folder.path());
            // Whoever made it deletes what is there, and takes it away whenever he likes.
            let client = socket_client(folder.path()).await;
            let of = Property::Bytes(device.identity.as_bytes());
            let foreign = [(0, Property::Text("a stranger's")), DATA, (DEVICE, of)];
            let foreign = client.ask(post(&foreign)).await.unwrap().location_path;
            let commands = Commands::default();
            let handing = receiver.hand_over(&commands);
            receiver.has_handed_over(1).await;

            let foreign = client.ask(get(&["ps", "data", &foreign[1]])).await.unwrap();
            assert_eq!(foreign.code, Code::NOT_FOUND);
            let own = readings_in(&links(&client, "rt=core.ps.data").await);
            assert_eq!(client.ask(get(&path(&own))).await.unwrap().code, Code::CONTENT);
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn a_broker_that_strangers_have_filled_still_takes_what_a_receiver_hands_over() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let (mut known, mut new) = (Device::new(1), Device::new(2));
            let mut receiver = Receiver::new(folder.path(), &[&known]);
            receiver.arrives(&known.seal(20));
            let policy = parse(
                "[limits]\ndevices = 2\ntopics = 3\ntopics_of_others = 100\n[directory]\nregistrations = 2",
            );
            let broker = Served::start_with(folder.path(), policy);
            let commands = Commands::default();
            let handing = receiver.hand_over(&commands);
            receiver.has_handed_over(1).await;

            // A key costs nothing, and neither does an address over UDP.
            let mut stranger = Device::new(3);
            let key = format!("</>;key=\"{}\"", base64url::encode(stranger.credential()));
            let mut request = with(Request::new(Method::Post, &["rd"]), format::LINK_FORMAT, key.as_bytes());
            request.query = vec!["ep=stranger".to_owned(), "base=coap://[2001:db8::3]".to_owned()];
            let client = broker.client().await;
            let registered = client.ask(stranger.prove(request)).await.unwrap();
            assert_eq!(registered.code, Code::CREATED, "{}", text(&registered));
            let topic = [(0, Property::Text("a stranger's")), DATA];
            let made = client.ask(stranger.sign(post(&topic))).await.unwrap();
            assert_eq!(made.code, Code::CREATED, "{}", text(&made));

            receiver.lists(&new);
            receiver.arrives(&new.seal(20));
            receiver.arrives(&known.seal(21));
            receiver.has_handed_over(3).await;
            let found = links(&client, "rt=core.ps.data").await;
            assert_eq!(found.iter().filter(|link| link.has("key")).count(), 2, "{found:?}");
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn who_repeats_what_a_device_shows_of_itself_does_not_learn_what_is_commanded_to_it() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let mut device = Device::new(1);
            let mut receiver = Receiver::new(folder.path(), &[&device]);
            let broker = Served::start(folder.path());
            let commands = Commands::default();
            let handing = receiver.hand_over(&commands);
            receiver.arrives(&device.seal(20));
            receiver.has_handed_over(1).await;
            let client = socket_client(folder.path()).await;
            let found = links(&client, "if=motemix.command").await;
            let command = with(Request::new(Method::Put, &path(&found[0].target)), COSE, b"open the valve");
            assert_eq!(client.ask(command).await.unwrap().code, Code::CHANGED);

            let mut replier = receiver.replier(&commands);
            loop {
                // The key is in the directory, for everybody to see.
                let shown = receiver.arrives(device.credential());
                let own = receiver.arrives(&device.seal(21));
                let said = replier.replies(&[shown, own]);
                assert_eq!(said[0], b"", "a stranger's reply has the command");
                if said[1] == b"open the valve" {
                    break;
                }
                a_moment().await;
            }
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn a_device_that_goes_over_from_jws_to_cose_is_handed_over_in_both_forms() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let mut device = Device::new(1);
            let mut receiver = Receiver::new(folder.path(), &[&device]);
            let broker = Served::start(folder.path());
            let handing = receiver.hand_over(&Commands::default());
            let client = broker.client().await;
            receiver.arrives(&device.seal_jws(20));
            receiver.has_handed_over(1).await;
            let own = readings_in(&links(&client, "rt=core.ps.data").await);
            let observed = client.observe(get(&path(&own))).await;
            let mut observed = observed.unwrap();
            assert_eq!(observed.next().await.unwrap().content_format, Some(format::TEXT));

            let cose = device.seal(21);
            receiver.arrives(&cose);
            receiver.has_handed_over(2).await;
            // An observation has one format (RFC 7641 §4.2): it ends, and who begins anew sees it.
            assert_eq!(observed.next().await.unwrap().code, Code::NOT_FOUND);
            assert!(observed.next().await.is_none());
            let newest = client.ask(get(&path(&own))).await.unwrap();
            assert_eq!((newest.content_format, &*newest.payload), (Some(COSE), &cose[..]));
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn readings_that_the_path_put_out_of_order_are_all_taken_by_a_broker_that_is_new() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let mut device = Device::new(1);
            let mut receiver = Receiver::new(folder.path(), &[&device]);
            let list = Devices::open(folder.path().join("devices.db")).unwrap();
            list.keep(device.identity.short(), Freshness::starting_at(5_000), None).unwrap();
            let direct = Path::Direct;
            let [first, second] = [5_001, 5_000].map(|n| device.seal_as(n, 20, NETWORK, direct));
            receiver.inbox.accept([1; 16], Duration::from_secs(9), &first).unwrap();
            receiver.inbox.accept([2; 16], Duration::from_secs(9), &second).unwrap();
            let broker = Served::start(folder.path());
            let handing = receiver.hand_over(&Commands::default());
            receiver.has_handed_over(2).await;
            let client = broker.client().await;
            let own = readings_in(&links(&client, "rt=core.ps.data").await);
            let newest = client.ask(get(&path(&own))).await.unwrap();
            assert_eq!(&*newest.payload, &second[..], "the one that came last is not there");
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn as_many_observations_as_a_list_has_devices_leave_room_for_requests() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let broker = Served::start(folder.path());
            let client = socket_client(folder.path()).await;
            let topic = [(0, Property::Text("t")), DATA, (3, Property::Number(0)), (8, Property::Bytes(b""))];
            let topic = client.ask(post(&topic)).await.unwrap().location_path;
            let mut observations = Vec::new();
            for _ in 0..MAX_DEVICES {
                let mut observation = client.observe(get(&["ps", "data", &topic[1]])).await.unwrap();
                assert!(observation.next().await.is_some());
                observations.push(observation);
            }
            let put = with(Request::new(Method::Put, &["ps", "data", &topic[1]]), 0, b"new");
            let asked = tokio::time::timeout(Duration::from_mins(3), client.ask(put)).await;
            assert_eq!(asked.expect("nobody answers").unwrap().code, Code::CHANGED);
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn who_is_far_behind_with_an_observation_gets_the_newest_of_all() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let broker = Served::start(folder.path());
            let (publishing, observing) =
                (socket_client(folder.path()).await, socket_client(folder.path()).await);
            let topic = [(0, Property::Text("t")), DATA, (3, Property::Number(0)), (8, Property::Bytes(b""))];
            let topic = publishing.ask(post(&topic)).await.unwrap().location_path;
            let topic = get(&["ps", "data", &topic[1]]);
            let mut observation = observing.observe(topic.clone()).await.unwrap();
            for number in 1..=200 {
                let put = Request { method: Method::Put, ..topic.clone() };
                let put = with(put, 0, format!("{number}").as_bytes());
                assert!(publishing.ask(put).await.unwrap().code.is_success());
            }
            // Whatever comes on the same connection came after the notifications.
            observing.ask(topic).await.unwrap();
            let mut newest = None;
            while let Some(response) = observation.next().now_or_never() {
                newest = response;
            }
            let newest = newest.unwrap();
            assert_eq!(&*newest.payload, b"200");
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn what_a_device_said_before_it_got_a_successor_is_handed_over_too() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let (mut old, mut new) = (Device::new(1), Device::new(2));
            let mut receiver = Receiver::new(folder.path(), &[&old]);
            let commands = Commands::default();
            // The broker was away when it said this, and when its key was changed.
            let said = old.seal(20);
            let message = receiver.arrives(&said);
            receiver.replier(&commands).replies(&[message]);
            let mut list = Devices::open(folder.path().join("devices.db")).unwrap();
            let device = list.device(old.identity.short()).unwrap().unwrap();
            let credential = Credential::parse(new.credential()).unwrap();
            list.succeed(&device, &new.identity, &credential).unwrap();
            receiver.arrives(&new.seal(21));

            let broker = Served::start(folder.path());
            let client = broker.client().await;
            let handing = receiver.hand_over(&commands);
            receiver.has_handed_over(2).await;
            let topic = client.ask(get(&["ps"])).await.unwrap();
            let mut values = Vec::new();
            for link in link_format::parse(&text(&topic), 16).unwrap() {
                let [.., id] = path(&link.target)[..] else { panic!("{link}") };
                values.push(client.ask(get(&["ps", "data", id])).await.unwrap().payload.to_vec());
            }
            assert!(values.contains(&said), "it is lost");
            // It registers nobody for longer than that.
            let of_old = format!("ep=MOTEMIX:ID:{:.32}", old.identity);
            while !links(&client, &of_old).await.is_empty() {
                a_moment().await;
            }
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn an_inbox_that_was_made_anew_and_has_more_than_the_one_before_is_handed_over_from_its_first() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let (mut device, mut other) = (Device::new(1), Device::new(2));
            let mut receiver = Receiver::new(folder.path(), &[&device, &other]);
            let broker = Served::start(folder.path());
            let handing = receiver.hand_over(&Commands::default());
            receiver.arrives(&device.seal(20));
            receiver.has_handed_over(1).await;
            broker.stop().await;

            // The disk was lost, and until the broker is back more has come than there was.
            receiver.inbox = Inbox::open(folder.path().join("new.db")).unwrap();
            let first = other.seal(30);
            receiver.arrives(&first);
            receiver.arrives(&device.seal(21));
            receiver.arrives(&device.seal(22));
            receiver.inbox = Inbox::open(folder.path().join("none.db")).unwrap();
            std::fs::rename(folder.path().join("new.db"), folder.path().join("inbox.db")).unwrap();
            let broker = Served::start(folder.path());
            receiver.has_handed_over(3).await;
            let client = broker.client().await;
            let of_other = format!("ep=MOTEMIX:ID:{:.32}", other.identity);
            let readings = readings_in(&links(&client, &of_other).await);
            let newest = client.ask(get(&path(&readings))).await.unwrap();
            assert_eq!(&*newest.payload, &first[..], "it was skipped");
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn a_reading_that_somebody_copied_into_another_topic_first_is_handed_over_all_the_same() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let mut device = Device::new(1);
            let mut receiver = Receiver::new(folder.path(), &[&device]);
            let broker = Served::start(folder.path());
            let client = socket_client(folder.path()).await;
            let of = Property::Bytes(device.identity.as_bytes());
            let elsewhere = client.ask(post(&[(0, Property::Text("elsewhere")), DATA, (DEVICE, of)])).await;
            let elsewhere = elsewhere.unwrap().location_path;
            let (first, second) = (device.seal(20), device.seal(21));
            receiver.arrives(&first);
            let commands = Commands::default();
            let handing = receiver.hand_over(&commands);
            receiver.has_handed_over(1).await;
            let own = readings_in(&links(&client, "rt=core.ps.data").await);
            // It has heard the second one before the receiver has.
            let copied = client.ask(put(&elsewhere[1], COSE, &second)).await.unwrap();
            assert_eq!(copied.code, Code::CREATED, "{}", text(&copied));
            receiver.arrives(&second);
            receiver.has_handed_over(2).await;
            let own = client.ask(get(&path(&own))).await.unwrap();
            assert_eq!(*own.payload, *second);
            handing.abort();
            broker.stop().await;
        })
        .await;
}
