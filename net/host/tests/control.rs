//! A running node and the command-line program talk over a socket that only their user may touch.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use motemix_host::control::{Call, ControlClient, ControlServer, InboxEntry, NodeStatus, Request, Response};
use motemix_os::control::ControlProblem;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_blocking};

/// A node that answers each request in the simplest way, while `story` runs on a thread of its own.
async fn with_node(socket: &Path, story: impl FnOnce() + Send + 'static) {
    let server = ControlServer::bind(socket).unwrap();
    let (calls, mut inbound) = mpsc::channel::<Call>(4);
    let tasks = LocalSet::new();
    tasks.spawn_local(server.serve(calls));
    tasks.spawn_local(async move {
        let mut held = Vec::new();
        while let Some(Call { request, reply }) = inbound.recv().await {
            let response = match request {
                Request::Status {} => {
                    let counters =
                        [("forwarded".to_owned(), 42), ("held".to_owned(), held.len() as u64)].into();
                    Response::Status(NodeStatus {
                        name: "mix-1".into(),
                        id: 3,
                        counters,
                        ..NodeStatus::default()
                    })
                }
                Request::Send { to, wait: false, .. } if to == "nobody" => continue,
                Request::Send { wait: false, .. } => Response::Sent { message: 1 },
                Request::Send { to, .. } if to == "later" => {
                    held.push(reply);
                    continue;
                }
                Request::Send { to, .. } if to == "now" => {
                    for reply in held.drain(..) {
                        // It may have gone.
                        let _ = reply.send(Response::Sent { message: 1 });
                    }
                    Response::Sent { message: 2 }
                }
                Request::Send { data_hex, .. } => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    let reply_hex = Some(data_hex);
                    Response::Acknowledged {
                        message: 1,
                        round_trip_us: 20_000,
                        elapsed_us: 21_000,
                        tries: 1,
                        reply_hex,
                    }
                }
                Request::Inbox { last } => {
                    let entry = InboxEntry { number: 1, received_at_ms: 5, data_hex: "2a".into() };
                    Response::Inbox { messages: vec![entry; last as usize] }
                }
                Request::Quiet {} => Response::Quiet {},
                Request::Stop {} => Response::Stopping {},
                _ => panic!("no story asks for it"),
            };
            // A client that has gone needs no answer.
            let _ = reply.send(response);
        }
    });
    tasks.run_until(spawn_blocking(story)).await.unwrap();
}

#[tokio::test]
async fn a_client_asks_one_thing_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let path = socket.clone();
    with_node(&socket, move || {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut client = ControlClient::connect(&path).unwrap();
        let Response::Status(status) = client.request(&Request::Status {}).unwrap() else {
            panic!("a status")
        };
        assert_eq!((status.name.as_str(), status.id, status.counters["forwarded"]), ("mix-1", 3, 42));

        let send = |to: &str, wait| Request::Send { to: to.into(), data_hex: "2a".into(), wait };
        assert_eq!(client.request(&send("receiver", false)).unwrap(), Response::Sent { message: 1 });
        let acknowledged = client.request(&send("receiver", true)).unwrap();
        assert!(matches!(acknowledged, Response::Acknowledged { tries: 1, .. }), "{acknowledged:?}");
        let stopping = client.request(&send("nobody", false)).unwrap();
        assert!(matches!(stopping, Response::Error { .. }), "a call that the node drops has an answer");
        let Response::Inbox { messages } = client.request(&Request::Inbox { last: 1000 }).unwrap() else {
            panic!("an inbox")
        };
        assert_eq!(messages.len(), 1000);
        assert_eq!(client.request(&Request::Stop {}).unwrap(), Response::Stopping {});
    })
    .await;
    assert!(!socket.exists(), "the socket goes with its node");
}

#[tokio::test]
async fn the_lines_are_those_of_the_documentation() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let path = socket.clone();
    with_node(&socket, move || {
        let mut stream = UnixStream::connect(&path).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut ask = |line: &str| {
            stream.write_all(line.as_bytes()).unwrap();
            let mut answer = String::new();
            reader.read_line(&mut answer).unwrap();
            answer
        };
        let sent = ask("{\"send\":{\"to\":\"receiver\",\"data_hex\":\"2a\"}}\n");
        assert_eq!(sent, "{\"sent\":{\"message\":1}}\n");
        let inbox = ask("{\"inbox\":{\"last\":1}}\n");
        assert_eq!(
            inbox,
            "{\"inbox\":{\"messages\":[{\"number\":1,\"received_at_ms\":5,\"data_hex\":\"2a\"}]}}\n"
        );
        for nonsense in ["\n", "hello\n", "{\"fly\":{}}\n", "{\"status\":{\"verbose\":true}}\n", "\u{0}\n"] {
            let answer = ask(nonsense);
            assert!(answer.starts_with("{\"error\":{\"message\":\"not a request: "), "{answer}");
        }
        assert_eq!(ask("{\"stop\":{}}\n"), "{\"stopping\":{}}\n");
    })
    .await;
}

#[tokio::test]
async fn a_line_without_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let path = socket.clone();
    with_node(&socket, move || {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(&vec![b' '; 64 << 10]).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        assert!(answer.contains("longer than 64 KiB"), "{answer}");
    })
    .await;
}

#[tokio::test]
async fn a_second_node_is_refused_and_a_dead_one_s_socket_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let error = ControlClient::connect(&socket).unwrap_err();
    assert!(matches!(error.problem, ControlProblem::NotRunning), "{error:?}");

    // The file stays behind when its process is killed.
    drop(UnixListener::bind(&socket).unwrap());
    let error = ControlClient::connect(&socket).unwrap_err();
    assert!(error.to_string().ends_with("no node is running here; start it with `motemix node`"), "{error}");

    let path = socket.clone();
    with_node(&socket, move || {
        ControlClient::connect(&path).unwrap().request(&Request::Status {}).unwrap();
    })
    .await;

    let _first = ControlServer::bind(&socket).unwrap();
    let error = ControlServer::bind(&socket).unwrap_err();
    let here = format!("process {}", std::process::id());
    assert!(matches!(&error.problem, ControlProblem::InUse { by: Some(by) } if *by == here), "{error:?}");
}

#[tokio::test]
async fn a_path_that_is_too_long_for_a_socket_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(120));
    fs::create_dir(&deep).unwrap();
    let error = ControlServer::bind(deep.join("control.sock")).unwrap_err();
    assert!(matches!(error.problem, ControlProblem::TooLong), "{error:?}");
}

/// Those who connect and ask nothing do not shut out who asks.
#[tokio::test]
async fn idle_connections_make_room_for_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let path = socket.clone();
    with_node(&socket, move || {
        let mut first = ControlClient::connect(&path).unwrap();
        first.request(&Request::Status {}).unwrap();
        let idle: Vec<_> = (0..40).map(|_| UnixStream::connect(&path).unwrap()).collect();
        let mut client = ControlClient::connect(&path).unwrap();
        client.set_patience(Some(Duration::from_mins(3))).unwrap();
        assert!(matches!(client.request(&Request::Status {}).unwrap(), Response::Status(_)));
        assert!(first.request(&Request::Status {}).is_err(), "the one that was idle for longest was closed");
        drop(idle);
    })
    .await;
}

/// However many wait for the outcome of a message: the node can be asked how it is, and be stopped.
#[tokio::test]
async fn those_who_wait_for_an_outcome_leave_places_for_others_and_go_when_their_client_goes() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let path = socket.clone();
    with_node(&socket, move || {
        let later = "{\"send\":{\"to\":\"later\",\"data_hex\":\"2a\",\"wait\":true}}\n";
        let wait = || {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream.write_all(later.as_bytes()).unwrap();
            stream
        };
        let held = || match ControlClient::connect(&path).unwrap().request(&Request::Status {}) {
            Ok(Response::Status(status)) => status.counters["held"],
            other => panic!("a status, not {other:?}"),
        };
        let waiting: Vec<_> = (0..24).map(|_| wait()).collect();
        while held() < 24 {
            std::thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..10 {
            let mut answer = String::new();
            BufReader::new(wait()).read_line(&mut answer).unwrap();
            assert!(answer.contains("send again later"), "{answer}");
        }
        // One has finished asking, and is still there for its answer. The others end.
        let mut waiting = waiting.into_iter();
        let patient = waiting.next().unwrap();
        patient.shutdown(std::net::Shutdown::Write).unwrap();
        drop(waiting);
        let now = Request::Send { to: "now".into(), data_hex: "2a".into(), wait: true };
        while ControlClient::connect(&path).unwrap().request(&now).unwrap() != (Response::Sent { message: 2 })
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut answer = String::new();
        BufReader::new(patient).read_line(&mut answer).unwrap();
        assert_eq!(answer, "{\"sent\":{\"message\":1}}\n");
    })
    .await;
}

/// A client that waits for an answer keeps its place.
#[tokio::test]
async fn a_client_that_waits_for_its_answer_is_not_closed() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let path = socket.clone();
    with_node(&socket, move || {
        let status = || match ControlClient::connect(&path).unwrap().request(&Request::Status {}) {
            Ok(Response::Status(status)) => status,
            other => panic!("a status, not {other:?}"),
        };
        let mut waiting = UnixStream::connect(&path).unwrap();
        waiting.write_all(b"{\"send\":{\"to\":\"later\",\"data_hex\":\"2a\",\"wait\":true}}\n").unwrap();
        while status().counters["held"] == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..20 {
            let idle: Vec<_> = (0..31).map(|_| UnixStream::connect(&path).unwrap()).collect();
            // It came after all of them, so they have had their places.
            assert_eq!(status().counters["held"], 1);
            drop(idle);
        }
        let now = Request::Send { to: "now".into(), data_hex: "2a".into(), wait: true };
        ControlClient::connect(&path).unwrap().request(&now).unwrap();
        let mut answer = String::new();
        BufReader::new(waiting).read_line(&mut answer).unwrap();
        assert_eq!(answer, "{\"sent\":{\"message\":1}}\n");
    })
    .await;
}
