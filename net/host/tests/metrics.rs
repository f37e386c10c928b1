//! Metrics over a real socket.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use motemix_host::health::{Concern, Health, Reason};
use motemix_host::metrics::{Metrics, MetricsServer, Told};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(Duration::from_mins(3), stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

async fn get(address: SocketAddr, path: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await
}

/// A node that has forwarded so many packets, and is so.
struct Node {
    forwarded: Rc<Cell<u64>>,
    health: Rc<RefCell<Health>>,
}

impl Told for Node {
    fn metrics(&self, metrics: &mut Metrics) {
        metrics.counter("motemix_forwarded", "Packets forwarded", self.forwarded.get());
        for (reason, count) in [("bad_mac", 2), ("replayed", 3)] {
            metrics.counter_with("motemix_dropped", "Packets dropped", ("reason", reason), count);
        }
        metrics.gauge("motemix_queue", "Packets that wait", -1);
    }

    fn health(&self) -> Health {
        self.health.borrow().clone()
    }

    /// It is ready while it has forwarded something.
    fn unready(&self) -> Option<String> {
        (self.forwarded.get() == 0).then(|| "nothing was forwarded".to_owned())
    }
}

#[tokio::test]
async fn a_scrape_reads_the_counters_of_the_moment() {
    let forwarded = Rc::new(Cell::new(41));
    let server = MetricsServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.local_addr().unwrap().unwrap();
    let counters = Rc::clone(&forwarded);
    let tasks = LocalSet::new();
    let health = Rc::new(RefCell::new(Health::default()));
    tasks.spawn_local(server.serve(Node { forwarded: counters, health: Rc::clone(&health) }));
    tasks
        .run_until(async {
            forwarded.set(42);
            let text = get(address, "/metrics").await;
            assert!(text.contains("content-type: text/plain; version=0.0.4"), "{text}");
            assert!(
                text.contains("# TYPE motemix_forwarded_total counter\nmotemix_forwarded_total 42\n"),
                "{text}"
            );
            assert!(!text.contains("# EOF"), "{text}");
            let answer = ask(
                address,
                "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\n",
            )
            .await;
            assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
            assert!(answer.contains("openmetrics-text; version=1.0.0"), "{answer}");
            for line in [
                "# HELP motemix_forwarded Packets forwarded",
                "# TYPE motemix_forwarded counter",
                "motemix_forwarded_total 42",
                "motemix_dropped_total{reason=\"bad_mac\"} 2",
                "motemix_dropped_total{reason=\"replayed\"} 3",
                "# TYPE motemix_queue gauge",
                "motemix_queue -1",
                "# EOF",
            ] {
                assert!(answer.contains(&format!("{line}\n")), "no «{line}» in:\n{answer}");
            }
            assert_eq!(answer.matches("# TYPE motemix_dropped counter").count(), 1);

            assert!(get(address, "/healthz").await.ends_with("\r\n\r\nok\n"));
            *health.borrow_mut() = Health::of(vec![Reason::warning(Concern::Disk, "nearly full")]);
            let warning = get(address, "/healthz").await;
            assert!(warning.starts_with("HTTP/1.1 200 OK"), "{warning}");
            assert!(warning.ends_with("\r\n\r\nwarning: disk: nearly full\n"), "{warning}");
            *health.borrow_mut() = Health::of(vec![Reason::failing(Concern::Disk, "full")]);
            let failing = get(address, "/healthz").await;
            assert!(failing.starts_with("HTTP/1.1 503 "), "{failing}");
            assert!(failing.ends_with("\r\n\r\nfailing: disk: full\n"), "{failing}");
            // What fails may be ready all the same, and the other way round.
            let ready = get(address, "/readyz").await;
            assert!(ready.starts_with("HTTP/1.1 200 OK") && ready.ends_with("\r\n\r\nready\n"), "{ready}");
            forwarded.set(0);
            let unready = get(address, "/readyz").await;
            assert!(unready.starts_with("HTTP/1.1 503 "), "{unready}");
            assert!(unready.ends_with("\r\n\r\nnothing was forwarded\n"), "{unready}");
            assert!(get(address, "/keys").await.starts_with("HTTP/1.1 404"));
            let post = ask(address, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await;
            assert!(post.starts_with("HTTP/1.1 405"), "{post}");
        })
        .await;
}

#[tokio::test]
async fn a_request_without_end_is_refused() {
    let server = MetricsServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.local_addr().unwrap().unwrap();
    let tasks = LocalSet::new();
    tasks.spawn_local(server.serve(Node { forwarded: Rc::default(), health: Rc::default() }));
    tasks
        .run_until(async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let endless = "x".repeat(1 << 20);
            // The server may close before it has read all of it.
            let _ = stream.write_all(format!("GET /{endless}").as_bytes()).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
            assert!(get(address, "/healthz").await.contains("200 OK"));
        })
        .await;
}

/// Those who connect and say nothing do not shut out who asks.
#[tokio::test]
async fn idle_connections_make_room_for_a_new_one() {
    let server = MetricsServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.local_addr().unwrap().unwrap();
    let tasks = LocalSet::new();
    tasks.spawn_local(server.serve(Node { forwarded: Rc::default(), health: Rc::default() }));
    tasks
        .run_until(async {
            let mut idle = Vec::new();
            for _ in 0..40 {
                idle.push(TcpStream::connect(address).await.unwrap());
            }
            assert!(get(address, "/healthz").await.contains("200 OK"));
        })
        .await;
}
