//! What OSCORE does for requests, responses and notifications, and against whom.

#[path = "oscore/attacks.rs"]
mod attacks;
#[path = "oscore/handshakes.rs"]
mod handshakes;
#[path = "oscore/restarts.rs"]
mod restarts;
#[path = "oscore/stories.rs"]
mod stories;
#[path = "oscore/two.rs"]
mod two;
