//! CoAP without input and output: bytes and time go in, requests and bytes come out.
//!
//! A server goes round like this:
//!
//! 1. Make an [`Endpoint`] with a seed of random bytes.
//! 2. Hand it each datagram that arrives ([`Endpoint::handle_datagram`]), and call
//!    [`Endpoint::handle_timeout`] when [`Endpoint::poll_timeout`] has come.
//! 3. Take requests from [`Endpoint::poll_request`] until there are none, and answer each with
//!    [`Endpoint::respond`], now or later. Blocks are gathered and sliced by the endpoint.
//! 4. A request that asks to observe becomes an observation if the answer says so. Tell observers
//!    of changes with [`Endpoint::notify`]; [`Event::Gone`] says who does not listen any more.
//! 5. Send what [`Endpoint::poll_transmit`] has, until it has nothing.
//!
//! A client makes requests with [`Endpoint::request`], and hears of them from
//! [`Endpoint::poll_event`].

#![forbid(unsafe_code)]

mod block;
mod bodies;
mod code;
mod datagram;
pub mod format;
pub mod link_format;
mod meaning;
pub mod message;
mod operation;
mod options;
pub mod oscore;
mod peer;
mod request;
mod source;
mod stream;

pub use block::Block;
pub use bodies::Bodies;
pub use code::{Code, Method};
pub use datagram::{
    CallId, Counters, DropReason, Endpoint, Event, Full, Incoming, Protection, Settings, Ticket, Transmit,
};
pub use peer::{Peer, Token};
pub use request::{ETag, Observe, Relation, Request, Response};
pub use source::{Account, FairTable, Source, Standing};
pub use stream::{Carrier, Room, Session};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
