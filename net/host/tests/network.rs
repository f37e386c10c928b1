//! Whole nodes over the loopback interface: four mixes in two layers, a sender and a receiver.

mod loopback;

use std::fs;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use loopback::{
    FIRST_EPOCH, NAMES, Network, RECEIVER, Running, SENDER, ask_http, hours, parameters, scrape, start,
    start_with,
};
use motemix_directory::Epoch;
use motemix_host::config::MetricsConfig;
use motemix_host::control::Response;
use motemix_host::{Heard, NodeConfig, NodeKey, Replies, Setup, run};
use motemix_os::clock::unix_seconds;
use motemix_os::store::Message;

#[test]
fn a_message_crosses_four_mixes_and_its_acknowledgement_comes_back() {
    let network = Network::new();
    hours(&network);
    let nodes = network.start();

    for number in 0..20_u8 {
        let answer = nodes[SENDER].send(&[number; 40]);
        assert!(matches!(answer, Response::Acknowledged { tries: 1..=5, .. }), "{answer:?}");
    }

    let expected: Vec<_> = (0..20_u8).map(|number| vec![number; 40]).collect();
    assert_eq!(nodes[RECEIVER].inbox(), expected);
    let sender = nodes[SENDER].status();
    assert_eq!((sender.epoch, sender.counters["acknowledged"]), (u64::from(FIRST_EPOCH), 20));
    assert_eq!(nodes[RECEIVER].status().inbox, 20);
    let forwarded: u64 = nodes[..4].iter().map(|mix| mix.status().counters["forwarded"]).sum();
    assert!(forwarded >= 80, "two mixes each way for each message: {forwarded}");
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn a_lossy_network_delivers_each_message_once() {
    let network = Network::new();
    hours(&network);
    let nodes: Vec<_> = (0..NAMES.len())
        .map(|index| start(network.config_with(index, |config| config.faults.loss = 0.05)))
        .collect();

    let mut acknowledged = 0;
    for number in 0..20_u8 {
        let answer = nodes[SENDER].send(&[number; 40]);
        acknowledged += usize::from(matches!(answer, Response::Acknowledged { .. }));
    }

    let mut inbox = nodes[RECEIVER].inbox();
    inbox.sort();
    inbox.dedup();
    assert_eq!(inbox.len() as u64, nodes[RECEIVER].status().inbox, "no message is there twice");
    assert!(acknowledged >= 19, "{acknowledged}");
    let lost: u64 = nodes.iter().map(|node| node.status().counters["injected_losses"]).sum();
    assert!(lost > 0);
    nodes.into_iter().for_each(Running::stop);
}

/// Somebody between the mixes and the receiver records what passes and sends it again later.
#[test]
fn what_a_restarted_node_has_seen_is_still_refused() {
    let mut network = Network::new();
    let wire = UdpSocket::bind("127.0.0.1:0").unwrap();
    let behind = std::mem::replace(&mut network.addresses[RECEIVER], wire.local_addr().unwrap());
    hours(&network);
    let config = network.config_with(RECEIVER, |config| config.listen = vec![behind]);
    let (tap, recorded) = mpsc::channel();
    let relay = wire.try_clone().unwrap();
    thread::spawn(move || {
        let mut packet = [0; 280];
        while relay.recv(&mut packet).is_ok_and(|len| len == packet.len()) {
            relay.send_to(&packet, behind).unwrap();
            tap.send(packet).unwrap();
        }
    });
    // Before those whose cover is recorded: what reached nobody would be new after the restart.
    let receiver = start(config.clone());
    let mixes: Vec<_> = (0..4).map(|index| start(network.config(index))).collect();
    let sender = start(network.config(SENDER));
    for number in 0..5_u8 {
        assert!(matches!(sender.send(&[number; 10]), Response::Acknowledged { .. }));
    }
    // Nothing new passes while the recording is played.
    sender.stop();
    mixes.into_iter().for_each(Running::stop);
    let mut recording = Vec::new();
    let end = Instant::now() + Duration::from_mins(3);
    loop {
        // A packet is told of after it was relayed, so the receiver may be ahead of the recording.
        recording.extend(recorded.try_iter());
        if receiver.status().counters["datagrams"] == recording.len() as u64 || Instant::now() > end {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    receiver.stop();

    let receiver = start(config);
    let recorded = recording;
    assert!(recorded.len() >= 5);
    let end = Instant::now() + Duration::from_mins(3);
    let mut count = 0;
    // No more at once than wait for a turn.
    for packets in recorded.chunks(64) {
        for packet in packets {
            wire.send_to(packet, behind).unwrap();
        }
        count += packets.len() as u64;
        while receiver.status().counters["datagrams"] < count && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
    }

    let status = receiver.status();
    // The receiver's own cover that came back is no replay: nobody waits for it after a restart.
    let own = status.counters["dropped_unknown_header"];
    let replayed = status.counters["dropped_replayed"];
    assert_eq!((replayed + own, status.counters["delivered"]), (count, 0));
    assert!(replayed >= 5, "{replayed} messages, at least");
    assert_eq!(status.inbox, 5);
    let metrics = scrape(&receiver.started.metrics_socket);
    assert!(
        metrics.contains(&format!("motemix_dropped_total{{reason=\"replayed\"}} {replayed}\n")),
        "{metrics}"
    );
    receiver.stop();
}

#[test]
fn messages_go_on_across_the_boundary_of_two_epochs_and_the_earlier_key_goes() {
    let network = Network::new();
    let now = unix_seconds().0;
    let boundary = now + 4;
    network.publish(FIRST_EPOCH, now - 10, boundary, parameters());
    network.publish(FIRST_EPOCH + 1, boundary, boundary + 3600, parameters());
    let nodes = network.start();

    let end = Instant::now() + Duration::from_secs(9);
    let mut sent = 0;
    while Instant::now() < end {
        let answer = nodes[SENDER].send(&[sent; 40]);
        assert!(matches!(answer, Response::Acknowledged { .. }), "{answer:?}");
        sent += 1;
        thread::sleep(Duration::from_millis(100));
    }

    for node in &nodes {
        assert_eq!(node.status().epoch, u64::from(FIRST_EPOCH) + 1);
    }
    assert_eq!(nodes[RECEIVER].status().inbox, u64::from(sent));
    // Packets of their own have come back, which is a witness that the time has come.
    let key_epoch = |name: &str| NodeKey::load(network.path(name).join("node.key")).unwrap().epoch();
    let log = |name: &str| network.path(format!("{name}/state/replay-{FIRST_EPOCH}.log"));
    let moved = |name: &&str| key_epoch(name) > Epoch(FIRST_EPOCH) && !log(name).exists();
    let end = Instant::now() + Duration::from_mins(3);
    while !NAMES.iter().all(moved) && Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
    }
    for name in NAMES {
        assert_eq!(key_epoch(name), Epoch(FIRST_EPOCH + 1));
        assert!(!log(name).exists());
    }
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn a_node_that_the_document_does_not_describe_says_what_is_wrong() {
    let network = Network::new();
    hours(&network);
    let refused = |change: fn(&mut NodeConfig, &Network)| {
        let config = network.config_with(0, |config| change(config, &network));
        run(&config, Setup::default(), |_| {}).unwrap_err().to_string()
    };

    let error = refused(|config, _| config.name = "mix-9".into());
    assert_eq!(error, "mix-9: the network document of epoch 7 has no such node; publish its description");
    let error = refused(|config, _| config.id = Some(3));
    assert!(
        error.ends_with("gives it another id; correct `id` in the configuration, or leave it out"),
        "{error}"
    );
    let error = refused(|config, network| config.key = network.path("mix-2/node.key"));
    assert!(error.contains("has another mix key for it"), "{error}");
    let error = refused(|config, _| config.listen = vec!["192.0.2.1:9".parse().unwrap()]);
    assert!(error.starts_with("listen: 192.0.2.1:9: "), "{error}");
}

/// Each packet would leave by both.
#[test]
fn two_sockets_of_one_family_are_refused_as_two_such_addresses_are() {
    let network = Network::new();
    hours(&network);
    let bind = |address: &str| UdpSocket::bind(address).unwrap();
    let sockets = vec![bind("127.0.0.1:0"), bind("127.0.0.1:0")];
    let error = run(&network.config(0), Setup { sockets, ..Setup::default() }, |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("LISTEN_FDS: two sockets of one family"), "{error}");
}

/// What every user of the machine may ask says nothing of single packets, nor of their kinds.
#[test]
fn metrics_over_tcp_do_not_tell_cover_from_messages() {
    let network = Network::new();
    hours(&network);
    let nodes = network.start();
    let config = MetricsConfig::new("127.0.0.1:0".parse().unwrap());
    let mut nodes = nodes;
    nodes.pop().unwrap().stop();
    let sender = start(network.config_with(SENDER, |node| node.metrics = Some(config)));
    let ask = |path| ask_http(TcpStream::connect(sender.started.metrics.unwrap()).unwrap(), path);
    let samples = |answer: &str| -> Vec<String> {
        let lines = answer.split_once("\r\n\r\n").unwrap().1.lines();
        lines.filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    let without_uptime = |answer: &str| -> Vec<String> {
        samples(answer).into_iter().filter(|line| !line.starts_with("motemix_uptime_seconds")).collect()
    };

    let before = ask("/metrics");
    for number in 0..10 {
        assert!(matches!(sender.send(&[number; 40]), Response::Acknowledged { .. }));
    }
    let after = ask("/metrics");

    assert_eq!(without_uptime(&before), without_uptime(&after));
    let allowed = [
        "datagrams_about_total",
        "replay_percent_about",
        "epoch",
        // The documents are everybody's.
        "documents_until_seconds",
        "health",
        "health_of",
        "uptime_seconds",
    ];
    for sample in samples(&after) {
        let name = sample.split([' ', '{']).next().unwrap();
        assert!(allowed.contains(&name.trim_start_matches("motemix_")), "{sample}");
    }
    // There is a document for an hour alone.
    let health = ask("/healthz");
    assert!(health.starts_with("HTTP/1.1 200 ") && health.contains("warning: documents: "), "{health}");

    let socket = &sender.started.metrics_socket;
    assert_eq!(fs::metadata(socket).unwrap().permissions().mode() & 0o777, 0o600);
    let detailed = scrape(socket);
    assert!(detailed.contains("motemix_acknowledged_total 10\n"), "{detailed}");
    assert!(detailed.contains("motemix_health_of{concern=\"replay-filter\"} 0\n"), "{detailed}");
    sender.stop();
    nodes.into_iter().for_each(Running::stop);
}

fn reply_of(response: Response) -> Vec<u8> {
    match response {
        Response::Acknowledged { reply_hex, .. } => hex::decode(reply_hex.unwrap_or_default()).unwrap(),
        other => panic!("an acknowledgement and not {other:?}"),
    }
}

#[test]
fn a_receiver_replies_to_messages_that_are_on_its_disk_and_the_sender_hears_it() {
    let network = Network::new();
    hours(&network);
    let mixes: Vec<_> = (0..4).map(|index| start(network.config(index))).collect();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let replies: Replies = Box::new(move |messages: &[Message]| {
        noted.lock().unwrap().extend(messages.iter().map(|message| message.number));
        let reply = |message: &Message| match &message.data[..] {
            b"what shall I do?" => b"open the valve".to_vec(),
            b"tell me everything" => vec![7; 1000],
            _ => Vec::new(),
        };
        messages.iter().map(reply).collect()
    });
    let receiver =
        start_with(network.config(RECEIVER), 0, || Setup { replies: Some(replies), ..Setup::default() });
    let receiver = receiver.unwrap_or_else(|error| panic!("{error}"));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    let mote = start_with(network.config(SENDER), 0, move || {
        let heard: Heard = Box::new(move |reply| ears.lock().unwrap().push(reply.to_vec()));
        Setup { heard: Some(heard), ..Setup::default() }
    });
    let mote = mote.unwrap_or_else(|error| panic!("{error}"));

    assert_eq!(reply_of(mote.send(b"all is well")), b"");
    assert_eq!(reply_of(mote.send(b"what shall I do?")), b"open the valve");
    assert_eq!(reply_of(mote.send(b"tell me everything")), b"", "no packet carries so much");

    assert_eq!(*heard.lock().unwrap(), [b"open the valve"]);
    assert_eq!(receiver.status().counters["replies_too_long"], 1);
    let numbers = asked.lock().unwrap().clone();
    let mut distinct = numbers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct, [1, 2, 3], "{numbers:?}: one number for each message, however often it came");
    for node in mixes.into_iter().chain([receiver, mote]) {
        node.stop();
    }
}
