//! CoAP over connections: vectors of RFC 8323, and stories of two sides on virtual time.

#[path = "stream/attacks.rs"]
mod attacks;
#[path = "stream/blocks.rs"]
mod blocks;
#[path = "stream/pair.rs"]
mod pair;
#[path = "stream/stories.rs"]
mod stories;
#[path = "stream/vectors.rs"]
mod vectors;
