//! Connections of this machine and over TCP, with the test's own round and clock.

use std::error::Error;
use std::time::Duration;

use motemix_coap::{Code, Endpoint};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use super::*;

type Outcome = Result<(), Box<dyn Error>>;

fn listen(address: Option<SocketAddr>, local: Option<&Path>) -> Result<Connections, Box<dyn Error>> {
    let bodies = Endpoint::new(Settings::default(), [7; 32]).bodies();
    let names = ["broker.example".to_owned()].into();
    Ok(Connections::listen(address.as_slice(), local, names, bodies, [7; 32])?)
}

/// On a port that the system chose, and where.
async fn listen_tcp_somewhere() -> Result<(Connections, SocketAddr), Box<dyn Error>> {
    loop {
        let free = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
        // Somebody else may have had it meanwhile.
        if let Ok(connections) = listen(Some(free), None) {
            return Ok((connections, free));
        }
    }
}

/// A connection's time is that of the round that takes it, however long the broker has run.
#[tokio::test]
async fn a_broker_that_has_run_for_a_month_takes_connections() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("local.sock");
    let mut connections = listen(None, Some(&path))?;
    let month = Instant::from_micros(1) + Duration::from_secs(30 * 24 * 3600);

    let _receiver = UnixStream::connect(&path).await?;
    connections.ready().await;
    connections.take_in(month);
    connections.handle_timeout(month);
    connections.transmit();
    let counted = connections.counters();
    assert_eq!((counted.opened, counted.open, counted.aborted), (1, 1, 0));

    // It says nothing for too long, from then on. What is written has its time.
    connections.handle_timeout(month + Duration::from_secs(60));
    while !connections.connections.is_empty() {
        connections.transmit();
        if !connections.connections.is_empty() {
            connections.ready().await;
            connections.take_in(month + Duration::from_secs(60));
        }
    }
    let counted = connections.counters();
    assert_eq!((counted.opened, counted.open, counted.aborted), (1, 0, 1));
    Ok(())
}

/// What a client says first: it takes messages of 4 MiB, and asks for something often.
fn greedy(requests: usize) -> Vec<u8> {
    let csm = [0x40, 0xe1, 0x23, 0x40, 0, 0];
    [&csm[..], &[0, 1].repeat(requests)].concat()
}

/// One round of a broker for which every answer is as long as a look-up's; how many it gave.
fn round(connections: &mut Connections, now: Instant, answer: &Response) -> (usize, bool) {
    connections.take_in(now);
    let asked: Vec<_> = std::iter::from_fn(|| connections.poll_request()).collect();
    let count = asked.len();
    for (incoming, _) in asked {
        connections.respond(now, incoming.ticket, answer, false);
    }
    (count, connections.transmit())
}

#[tokio::test]
async fn connections_of_one_network_that_read_nothing_are_answered_within_its_share() -> Outcome {
    const SHARE: u64 = 4 << 20;
    const LONG: u64 = 1 << 20;
    let (mut connections, address) = listen_tcp_somewhere().await?;
    let answer = Response { payload: vec![0; LONG as usize].into(), ..Response::new(Code::CONTENT) };
    let now = Instant::from_micros(1);
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = TcpStream::connect(address).await?;
        client.write_all(&greedy(50)).await?;
        clients.push(client);
    }
    // The system's buffers take some answers, and then nobody does.
    while connections.counters().held_back < 20 {
        let (_, more) = round(&mut connections, now, &answer);
        assert!(connections.counters().waiting < SHARE + LONG + (64 << 10), "{:?}", connections.counters());
        if !more && connections.counters().held_back < 20 {
            connections.ready().await;
        }
    }
    assert!(connections.counters().waiting >= SHARE);
    // Who reads gets all answers, and so do the others once it is their turn.
    let reading = tokio::spawn(async move {
        let mut all = Vec::new();
        for mut client in clients {
            all.push(tokio::spawn(async move {
                let mut read = 0;
                let mut chunk = vec![0; 1 << 16];
                while read < 50 * LONG {
                    read += client.read(&mut chunk).await.expect("it goes on") as u64;
                }
            }));
        }
        for one in all {
            one.await.expect("it read");
        }
    });
    while !reading.is_finished() {
        if !round(&mut connections, now, &answer).1 {
            // What waits here is what was written, or the end of those who read.
            tokio::select! {
                () = connections.ready() => {}
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
        tokio::task::yield_now().await;
    }
    reading.await?;
    assert_eq!(connections.counters().waiting, 0);
    Ok(())
}

async fn upgrade(address: SocketAddr, headers: &str) -> Result<String, Box<dyn Error>> {
    Ok(upgraded(address, headers).await?.0)
}

async fn upgraded(address: SocketAddr, headers: &str) -> Result<(String, TcpStream), Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET /.well-known/coap HTTP/1.1\r\n{headers}Upgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: coap\r\n\r\n",
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n") {
        answer.push(stream.read_u8().await?);
    }
    Ok((String::from_utf8(answer)?, stream))
}

/// The library of WebSockets answers a Ping by itself.
#[tokio::test]
async fn pings_of_a_websocket_count_as_messages_and_are_read_no_faster() -> Outcome {
    let begun = std::time::Instant::now();
    let (mut connections, address) = listen_tcp_somewhere().await?;
    let (_, mut client) = upgraded(address, "Host: cellar.local\r\n").await?;
    // A CSM, and Pings of one byte; what a client sends is masked, here with zeros.
    client.write_all(&[0x82, 0x82, 0, 0, 0, 0, 0, 0xe1]).await?;
    let pings = [0x89, 0x81, 0, 0, 0, 0, b'p'].repeat(100);
    let mut now = Instant::from_micros(1);
    let mut count = 0;
    for (until, waits) in [(100, false), (101, true), (200, false)] {
        if until < 200 {
            client.write_all(&pings).await?;
        }
        while count < until {
            assert!(begun.elapsed() < Duration::from_mins(5), "{count} of {until}");
            tokio::select! {
                () = connections.ready() => {}
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
            connections.take_in(now);
            connections.handle_timeout(now);
            while let Some(unseen) = connections.poll_unseen() {
                count += unseen.count;
                if count == 100 {
                    connections.refuse_unseen(unseen.peer, now + Duration::from_secs(1));
                }
            }
            connections.transmit();
        }
        assert_eq!(count, until);
        assert_eq!(connections.connections.values().all(|it| !it.session.wants_more()), waits);
        now = if waits { now + Duration::from_secs(1) } else { now };
    }
    Ok(())
}

#[tokio::test]
async fn a_page_of_somebody_else_opens_no_websocket() -> Outcome {
    let (connections, address) = listen_tcp_somewhere().await?;
    let foreign = "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n";
    let rebound = "Host: evil.example:5683\r\nOrigin: http://evil.example:5683\r\n";
    for headers in [
        format!("Host: {address}\r\n{foreign}"),
        format!("Host: evil.example\r\n{foreign}"),
        rebound.to_owned(),
    ] {
        let status = upgrade(address, &headers).await?;
        assert!(status.starts_with("HTTP/1.1 403 "), "{headers}{status}");
    }
    assert_eq!(connections.counters().foreign, 3);
    for headers in [
        // A program, by whatever name.
        "Host: cellar.local\r\n".to_owned(),
        format!("Host: {address}\r\nOrigin: http://{address}\r\nSec-Fetch-Site: same-origin\r\n"),
        format!("Host: {address}\r\nOrigin: https://broker.example\r\nSec-Fetch-Site: cross-site\r\n"),
    ] {
        let status = upgrade(address, &headers).await?;
        assert!(status.starts_with("HTTP/1.1 101 "), "{headers}{status}");
    }
    Ok(())
}

#[tokio::test]
async fn blocks_that_come_over_a_connection_are_told() -> Outcome {
    let (mut connections, address) = listen_tcp_somewhere().await?;
    let now = Instant::from_micros(1);
    let mut client = TcpStream::connect(address).await?;
    // PUT with Block1 0/1/16 and 16 bytes.
    let block = [&[0xd0, 7, 3, 0xd1, 14, 0x08, 0xff][..], &[7; 16]].concat();
    client.write_all(&[greedy(0), block.repeat(3)].concat()).await?;
    let mut count = 0;
    while count < 3 {
        connections.ready().await;
        round(&mut connections, now, &Response::new(Code::CONTENT));
        while let Some(blocks) = connections.poll_unseen() {
            assert_eq!(blocks.address, Some(address.ip()));
            count += blocks.count;
            connections.refuse_unseen(blocks.peer, now + Duration::from_secs(1));
        }
    }
    assert_eq!(count, 3);
    client.write_all(&block).await?;
    let mut read = Vec::new();
    // 4.29, with Max-Age.
    while !read.windows(2).any(|two| two == [0x9d, 0xd1]) {
        tokio::select! {
            byte = client.read_u8() => read.push(byte?),
            () = connections.ready() => {
                round(&mut connections, now, &Response::new(Code::CONTENT));
            }
        }
    }
    Ok(())
}
