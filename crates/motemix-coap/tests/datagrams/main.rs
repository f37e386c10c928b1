//! What clients and servers rely on over datagrams that are lost, repeated and reordered.

mod hostile;
mod pair;
mod protected;
mod stories;
