//! EDHOC as two neighbours see it: the RFC's traces, stories, and properties.

#[path = "edhoc/neighbours.rs"]
mod neighbours;
#[path = "edhoc/properties.rs"]
mod properties;
#[path = "edhoc/stories.rs"]
mod stories;
#[path = "edhoc/trace.rs"]
mod trace;
