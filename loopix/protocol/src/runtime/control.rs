//! The control socket: how `motemix loopix status` and `send` ask a running node. The words are
//! those of `motemix-host`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use motemix_host::control::{Call, ControlServer, NodeStatus, Request as Asked, Response};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::event::{Request, Totals};

/// Calls that wait, from all connections together.
const CALLS: usize = 16;

/// What does not change about a node.
pub(super) struct About {
    pub(super) name: Arc<str>,
    pub(super) listen: String,
}

/// Answers on `socket` until the node stops. A node whose socket cannot be made runs without.
pub(super) fn serve(socket: PathBuf, about: About, asks: mpsc::Sender<Request>) {
    let server = match ControlServer::bind(socket) {
        Ok(server) => server,
        Err(error) => {
            tracing::warn!("{error}; the node runs, and cannot be asked for its status");
            return;
        }
    };
    let (calls, mut inbound) = mpsc::channel::<Call>(CALLS);
    let started = Instant::now();
    tokio::task::spawn_local(server.serve(calls));
    tokio::task::spawn_local(async move {
        let about = Rc::new(about);
        while let Some(Call { request, reply }) = inbound.recv().await {
            let (about, asks) = (Rc::clone(&about), asks.clone());
            // One that waits for the disk holds up no other; a connection has one call at a time.
            tokio::task::spawn_local(async move {
                if let Some(response) = answer(&request, &about, started, &asks).await {
                    // Whoever asked may have gone.
                    let _ = reply.send(response);
                }
            });
        }
    });
}

/// `None` if the node has stopped.
async fn answer(
    request: &Asked,
    about: &About,
    started: Instant,
    asks: &mpsc::Sender<Request>,
) -> Option<Response> {
    match request {
        Asked::Status {} => {
            let (ask, answer) = oneshot::channel();
            asks.send(Request::Counters(ask)).await.ok()?;
            let totals = answer.await.ok()?;
            Some(Response::Status(NodeStatus {
                name: about.name.to_string(),
                listen: vec![about.listen.clone()],
                uptime_s: started.elapsed().as_secs(),
                counters: flat(&totals),
                ..NodeStatus::default()
            }))
        }
        Asked::Send { to, data_hex, .. } => {
            let Ok(message) = hex::decode(data_hex) else {
                return Some(Response::Error { message: "data_hex: not hex digits in pairs".to_owned() });
            };
            let (told, answer) = oneshot::channel();
            asks.send(Request::Send { to: to.clone(), message, told: Some(told) }).await.ok()?;
            Some(match answer.await.ok()? {
                Ok(message) => Response::Sent { message },
                Err(refusal) => Response::Error { message: refusal.to_string() },
            })
        }
        Asked::Stop {} => {
            asks.send(Request::Stop).await.ok()?;
            Some(Response::Stopping {})
        }
        _ => Some(Response::Error {
            message: "a node of Loopix answers to `status`, `send` and `stop` alone".to_owned(),
        }),
    }
}

/// Everything that is counted, by name; of reasons to drop a datagram `dropped_` and the reason.
fn flat(totals: &Totals) -> BTreeMap<String, u64> {
    let mut counters = BTreeMap::new();
    // Numbers and a table of numbers have no way to fail.
    if let Ok(Value::Object(counted)) = serde_json::to_value(totals) {
        for (name, value) in counted {
            match value {
                Value::Object(reasons) => counters.extend(
                    reasons
                        .into_iter()
                        .filter_map(|(reason, count)| Some((format!("{name}_{reason}"), count.as_u64()?))),
                ),
                value => counters.extend(value.as_u64().map(|count| (name, count))),
            }
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_flat() {
        let mut totals = Totals { waiting: 7, ..Totals::default() };
        totals.role.forwarded = 5;
        totals.role.dropped.replayed = 3;
        let counters = flat(&totals);
        assert_eq!(counters["waiting"], 7);
        assert_eq!(counters["forwarded"], 5);
        assert_eq!(counters["dropped_replayed"], 3);
    }
}
