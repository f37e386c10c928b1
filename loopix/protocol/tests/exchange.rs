//! Packets exchanged with sphinxmix itself: made in one program, carried by both, opened in the
//! other.

#[path = "exchange/forward.rs"]
mod forward;
#[path = "exchange/peer.rs"]
mod peer;
#[path = "exchange/replies.rs"]
mod replies;
#[path = "exchange/sphinx.rs"]
mod sphinx;
#[path = "exchange/tampering.rs"]
mod tampering;
#[path = "exchange/ways.rs"]
mod ways;
