//! EDHOC as two neighbours see it: the RFC's traces, stories, properties, and peers of another make.

mod neighbours;
mod properties;
mod stories;
mod trace;
