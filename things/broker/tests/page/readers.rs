//! Those who read slowly, or ask for much, take nothing from others.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::client::{Events, get};
use crate::fake::{anywhere, identity, now};
use crate::{a_house, house_within, limits_with, settings_with};

#[tokio::test]
async fn a_list_is_made_once_for_all_who_ask_between_two_changes() {
    let (house, address, _serving) = a_house().await;
    for _ in 0..20 {
        assert_eq!(get(address, "/api/devices").await.status, 200);
    }
    assert_eq!(house.listed.load(Ordering::Relaxed), 1);
    house.register("r2", "mote-2", Some(identity(2)), &[]);
    let asked = (0..20).map(|_| get(address, "/api/devices"));
    for answer in futures_util::future::join_all(asked).await {
        assert_eq!(answer.json()["devices"].as_array().map(Vec::len), Some(2));
    }
    assert_eq!(house.listed.load(Ordering::Relaxed), 2);
}

/// Asks for the devices, and reads no more than that there are some.
async fn reads_slowly(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small window");
    let mut slow = socket.connect(address).await.expect("the page listens");
    let request = format!("GET /api/devices HTTP/1.1\r\nHost: {address}\r\n\r\n");
    slow.write_all(request.as_bytes()).await.expect("sent");
    let mut status = [0; 12];
    slow.read_exact(&mut status).await.expect("an answer");
    assert_eq!(&status, b"HTTP/1.1 200");
    slow
}

#[tokio::test]
async fn who_reads_slowly_holds_a_share_of_a_list_and_there_are_few() {
    let few = settings_with(|it| it.lists = 1);
    let limits = limits_with(|it| it.pause = Duration::from_millis(1));
    let (house, address, _serving) = house_within(limits, few).await;
    let long = "x".repeat(200);
    for number in 0..5000 {
        let said = [("place", &*long), ("purpose", &long), ("a", &long), ("b", &long)];
        house.register(&format!("long-{number}"), &long, Some(identity(3)), &said);
    }
    let mut slow = Vec::new();
    for _ in 0..20 {
        slow.push(reads_slowly(address).await);
    }
    // All of them hold the one that there may be, and others get it at once.
    let list = get(address, "/api/devices").await;
    assert!(list.body.len() <= 4 << 20, "{} bytes", list.body.len());
    let list = list.json();
    let shown = list["devices"].as_array().map_or(0, Vec::len);
    assert_eq!(list["left_off"], 5001 - shown);
    assert!((1000..5000).contains(&shown), "{shown}");
    house.register("r2", "mote-2", Some(identity(2)), &[]);
    let full = get(address, "/api/devices").await;
    assert_eq!((full.status, full.header("retry-after")), (503, Some("2")));
    drop(slow);
    while get(address, "/api/devices").await.status != 200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// On a busy machine, 2,000 may not ask for more than is drawn meanwhile.
#[tokio::test]
async fn who_asks_for_codes_of_identities_without_end_is_sent_away_for_a_while() {
    let (_house, address, _serving) = a_house().await;
    let (begun, mut drawn) = (Instant::now(), 0_u32);
    let mut status = 200;
    while status == 200 && drawn < 2000 {
        status = get(address, &format!("/identity/{drawn:064x}.svg")).await.status;
        drawn += u32::from(status == 200);
    }
    // Two hundred at once and fifty a second, and the one that was under way.
    let most = 201.0 + begun.elapsed().as_secs_f64() * 50.0;
    assert!(f64::from(drawn) <= most, "{drawn} were drawn, and {most} may be");
    assert!(status == 429 || drawn == 2000, "{status}");
}

/// A connection from another address of this machine.
async fn elsewhere(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 9], 0).into()).expect("this machine has all of these");
    socket.connect(address).await.expect("the page listens")
}

#[tokio::test]
async fn one_address_takes_no_connections_from_others() {
    let (house, address, _serving) =
        house_within(limits_with(|_| ()), settings_with(|it| it.connections = 4)).await;
    let mut mine = Events::connect(address, None).await;
    mine.next().await.expect("it begins");
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(elsewhere(address).await);
        assert_eq!(get(address, "/api/status").await.status, 200);
    }
    // Of the address that has most, the oldest are closed, and nobody else's.
    assert!(matches!(idle[0].read(&mut [0]).await, Ok(0) | Err(_)));
    house.measure("t1", now(), ("t", "Cel"), 1.0, None);
    assert_eq!(mine.next().await.expect("it goes on").kind, "value");
}

#[tokio::test]
async fn one_address_takes_no_places_of_listeners_from_others() {
    let limits = limits_with(|it| it.listeners = 2);
    let (house, address, _serving) = house_within(limits, anywhere()).await;
    let request = format!("GET /api/feed HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut theirs = Vec::new();
    for wanted in 1..=2 {
        let mut stream = elsewhere(address).await;
        stream.write_all(request.as_bytes()).await.expect("sent");
        while house.feed.listeners() < wanted {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        theirs.push(stream);
    }
    let mut mine = Events::connect(address, None).await;
    assert_eq!(mine.next().await.expect("it has a place").kind, "hello");
    let mut said = Vec::new();
    theirs[0].read_to_end(&mut said).await.expect("the oldest is let go");
    // With one each, nobody gives way to a further one of the same address.
    assert_eq!((get(address, "/api/feed").await.status, house.feed.listeners()), (503, 2));
}
