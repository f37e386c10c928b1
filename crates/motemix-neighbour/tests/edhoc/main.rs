//! EDHOC as two neighbours see it: the RFC's traces, stories, properties, and peers of another make.

mod trace;
