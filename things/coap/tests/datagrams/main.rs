//! What clients and servers rely on over datagrams that are lost, repeated and reordered.

mod blocks;
mod forged;
mod hostile;
mod many;
mod outer;
mod pair;
mod protected;
mod renewals;
mod stories;
