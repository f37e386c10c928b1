//! Asks a broker: over UDP, over TCP, or over the socket of its machine.
//!
//! ```text
//! Client::ask, observe ─ Endpoint | Session ─ socket
//!                └ response, notifications ┘
//! ```
//!
//! A task holds the connection, and ends with the last [`Client`] of it.

mod address;
mod carrier;
pub mod registration;
pub mod topics;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use motemix_coap::{CallId, Event, Observe, Request, Response};
use tokio::sync::{Notify, mpsc, oneshot};

pub use address::{Address, AddressError};
use carrier::{CALLS, Carrier};

/// Requests that wait for the task.
const WAITING: usize = 256;
/// Notifications that whoever observes may be behind, and their bytes if there is more than one.
/// Beyond that the oldest go: he gets the newest in any case, as RFC 7641 §3.4 has it.
const BEHIND: usize = 64;
const BEHIND_BYTES: usize = 256 << 10;

/// Why a request has no answer; prints as one line with a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The broker is not there.
    #[error("{0}: {why}", why = unreachable(.0, .1))]
    Unreachable(Address, #[source] io::Error),
    /// The broker did not answer.
    #[error("{0} does not answer; see whether the broker runs, and where it listens")]
    Silent(Address),
}

fn unreachable(broker: &Address, error: &io::Error) -> String {
    let remedy = "see whether the broker runs, and where it listens";
    let address = broker.host().and_then(|host| motemix_os::address::parse(host).ok());
    address.map_or_else(
        || format!("{error}; {remedy}"),
        |address| motemix_os::address::refusal(address, error, remedy),
    )
}

#[derive(Debug)]
enum Asked {
    Once(oneshot::Sender<Response>),
    Observing(Teller),
}

/// A connection to a broker, to be cloned and used side by side.
#[derive(Debug, Clone)]
pub struct Client {
    requests: mpsc::Sender<(Request, Asked)>,
    address: Address,
}

/// What is observed, as it is at present.
#[derive(Debug)]
pub struct Observation(Arc<Behind>);

impl Observation {
    /// The next response; the first is what there is already. `None` when there will be no more:
    /// what was observed is gone, or the broker.
    pub async fn next(&mut self) -> Option<Response> {
        loop {
            let told = self.0.told.notified();
            {
                let mut waiting = self.0.waiting();
                if let Some(response) = waiting.responses.pop_front() {
                    waiting.bytes -= response.payload.len();
                    return Some(response);
                }
                if waiting.is_over {
                    return None;
                }
            }
            told.await;
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        *self.0.waiting() = Waiting { is_over: true, ..Waiting::default() };
    }
}

/// What whoever observes has not looked at.
#[derive(Debug, Default)]
struct Behind {
    waiting: Mutex<Waiting>,
    told: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    responses: VecDeque<Response>,
    bytes: usize,
    is_over: bool,
}

impl Behind {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who tells an observer; there is one.
#[derive(Debug)]
struct Teller(Arc<Behind>);

impl Teller {
    /// Whether somebody still observes.
    fn tell(&self, response: Response) -> bool {
        let mut waiting = self.0.waiting();
        if waiting.is_over {
            return false;
        }
        waiting.bytes += response.payload.len();
        waiting.responses.push_back(response);
        while waiting.responses.len() > BEHIND || waiting.bytes > BEHIND_BYTES && waiting.responses.len() > 1
        {
            let oldest = waiting.responses.pop_front();
            waiting.bytes -= oldest.map_or(0, |oldest| oldest.payload.len());
        }
        drop(waiting);
        self.0.told.notify_one();
        true
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.waiting().is_over = true;
        self.0.told.notify_one();
    }
}

impl Client {
    /// Connects. It has to be called inside a tokio runtime.
    ///
    /// # Errors
    /// Nobody is there.
    pub async fn connect(address: Address) -> Result<Self, ClientError> {
        let unreachable = |error| ClientError::Unreachable(address.clone(), error);
        let carrier = Carrier::connect(&address).await.map_err(unreachable)?;
        let (requests, asked) = mpsc::channel(WAITING);
        tokio::spawn(Task { carrier, asked, calls: HashMap::new() }.run());
        Ok(Self { requests, address })
    }

    /// Where the broker is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether the connection is over. UDP has none.
    pub fn is_over(&self) -> bool {
        self.requests.is_closed()
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// There is none.
    pub async fn ask(&self, request: Request) -> Result<Response, ClientError> {
        let (reply, response) = oneshot::channel();
        let silent = || ClientError::Silent(self.address.clone());
        self.requests.send((request, Asked::Once(reply))).await.map_err(|_| silent())?;
        response.await.map_err(|_| silent())
    }

    /// Observes what a GET asks for, until the observation is dropped.
    ///
    /// # Errors
    /// The connection is over.
    pub async fn observe(&self, request: Request) -> Result<Observation, ClientError> {
        let behind = Arc::new(Behind::default());
        let observation = Observation(behind.clone());
        let request = Request { observe: Some(Observe::Register), ..request };
        let sent = self.requests.send((request, Asked::Observing(Teller(behind)))).await;
        sent.map_err(|_| ClientError::Silent(self.address.clone()))?;
        Ok(observation)
    }
}

/// Holds the connection.
struct Task {
    carrier: Carrier,
    asked: mpsc::Receiver<(Request, Asked)>,
    calls: HashMap<CallId, Asked>,
}

impl Task {
    async fn run(mut self) {
        loop {
            if self.carrier.transmit().await.is_err() || self.carrier.is_over() {
                return;
            }
            tokio::select! {
                asked = self.asked.recv(), if self.calls.len() < CALLS => match asked {
                    Some((request, asked)) => {
                        // Who waits is told by the end of his channel.
                        if let Some(call) = self.carrier.request(request) {
                            self.calls.insert(call, asked);
                        }
                    }
                    None => return self.carrier.release().await,
                },
                taken = self.carrier.take_in() => if taken.is_err() {
                    return;
                },
            }
            while let Some(event) = self.carrier.poll_event() {
                self.tell(event);
            }
        }
    }

    fn tell(&mut self, event: Event) {
        match event {
            Event::Response { call, response } => match self.calls.remove(&call) {
                // He may have gone.
                Some(Asked::Once(reply)) => drop(reply.send(response)),
                Some(Asked::Observing(teller)) => self.tell_observer(call, teller, response),
                None => {}
            },
            Event::Notification { call, response } => {
                if let Some(Asked::Observing(teller)) = self.calls.remove(&call) {
                    self.tell_observer(call, teller, response);
                }
            }
            Event::Failed { call } => drop(self.calls.remove(&call)),
            // Nobody observes a client.
            Event::Gone(_) => {}
        }
    }

    fn tell_observer(&mut self, call: CallId, teller: Teller, response: Response) {
        let is_last = !self.carrier.is_under_way(call);
        if !teller.tell(response) {
            self.carrier.cancel(call);
        } else if !is_last {
            self.calls.insert(call, Asked::Observing(teller));
        }
    }
}
