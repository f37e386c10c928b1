//! A stream that is put back from a backup while a broker runs.

use motemix_broker::store::Store as _;
use motemix_broker_nats::JetStream;

use super::servers::Servers;
use super::{as_somebody, open, settings, state, topic, value};

/// The server, and a broker that knows five batches more than its stream has.
fn put_back(folder: &std::path::Path) -> (Servers, JetStream) {
    let mut servers = Servers::start(1);
    let mut store = open(&settings(&servers, 1), folder);
    store.commit(&[topic("a")]).unwrap();
    servers.kill(0);
    servers.back_up();
    servers.begin(0);
    for number in 0..5 {
        store.commit(&[value("a", number, 10)]).unwrap();
    }
    servers.kill(0);
    servers.put_back();
    servers.begin(0);
    (servers, store)
}

fn refused(store: &mut JetStream) -> String {
    let refused = store.commit(&[value("a", 6, 10)]).unwrap_err().to_string();
    assert!(refused.contains("restored from a backup"), "{refused}");
    refused
}

fn last_message(servers: &Servers) -> u64 {
    as_somebody(servers, async |client| {
        let stream = async_nats::jetstream::new(client).get_stream("motemix-building").await;
        stream.expect("the stream").get_info().await.expect("what it has").state.last_sequence
    })
}

#[test]
fn a_broker_that_knows_more_stores_nothing_there() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (servers, mut store) = put_back(folders[0].path());
    // Its message is stored, and counts for nobody; from then on it stores none.
    refused(&mut store);
    let before = last_message(&servers);
    for _ in 0..12 {
        refused(&mut store);
    }
    assert_eq!(last_message(&servers), before);
    let mut new = open(&settings(&servers, 2), folders[1].path());
    new.commit(&[value("a", 7, 10)]).unwrap();
    assert_eq!(new.load().unwrap(), state([topic("a"), value("a", 7, 10)]));
}

#[test]
fn neither_does_it_where_the_stream_went_on_meanwhile() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (servers, mut store) = put_back(folders[0].path());
    let mut new = open(&settings(&servers, 2), folders[1].path());
    for number in 10..20 {
        new.commit(&[value("a", number, 10)]).unwrap();
    }
    let before = last_message(&servers);
    assert!(refused(&mut store).contains("is not the one that was copied"));
    assert_eq!(last_message(&servers), before);
    new.commit(&[value("a", 20, 10)]).unwrap();
    assert_eq!(new.load().unwrap(), state([topic("a"), value("a", 20, 10)]));
}
