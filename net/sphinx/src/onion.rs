//! The onion of a header: the algorithm that every Sphinx format has in common (Danezis and
//! Goldberg, "Sphinx: A Compact and Provably Secure Mix Format", IEEE S&P 2009, §3.2). Formats
//! differ in what they tell a hop, in how many bytes that takes, and in stream and MAC; those
//! arrive as arguments.

use crate::geometry::HEADER_MAC_LEN;

/// What one hop's layer is made with.
pub trait LayerKeys {
    /// Xors the hop's routing stream over `bytes`, beginning with the stream's byte number `from`.
    fn xor_stream(&self, from: usize, bytes: &mut [u8]);

    /// The hop's MAC of β (and of what else its format binds to it).
    fn header_mac(&self, routing_info: &[u8]) -> [u8; HEADER_MAC_LEN];
}

impl<K: LayerKeys> LayerKeys for &K {
    fn xor_stream(&self, from: usize, bytes: &mut [u8]) {
        (*self).xor_stream(from, bytes);
    }

    fn header_mac(&self, routing_info: &[u8]) -> [u8; HEADER_MAC_LEN] {
        (*self).header_mac(routing_info)
    }
}

/// Makes β₀ in `routing_info` and returns γ₀.
///
/// `routing_info` begins with what the last of `hops` hops is to read, and padding up to where the
/// bytes begin that the hops before it take off; what is behind that is overwritten. `taken(i)` is
/// the number of bytes that hop i, not the last, takes off the front of β; `tell(i, mac, bytes)`
/// writes them, among them `mac`, which is γᵢ₊₁. `keys` is asked twice for each hop, so it may
/// derive them anew each time.
///
/// # Panics
/// If the hops take more bytes than `routing_info` has, or if there are none.
pub fn wrap<K: LayerKeys>(
    routing_info: &mut [u8],
    hops: usize,
    keys: impl Fn(usize) -> K,
    taken: impl Fn(usize) -> usize,
    mut tell: impl FnMut(usize, &[u8; HEADER_MAC_LEN], &mut [u8]),
) -> [u8; HEADER_MAC_LEN] {
    let len = routing_info.len();
    let last = hops.checked_sub(1).expect("a path has a hop at least");
    let own_len = len - (0..last).map(&taken).sum::<usize>();
    let (own, filler) = routing_info.split_at_mut(own_len);

    // What each hop's stream leaves behind the end of its β after the shift, under the streams of
    // all hops before: the last hop finds it there, so its MAC has to cover it.
    filler.fill(0);
    let mut made = 0;
    for hop in 0..last {
        let longer = made + taken(hop);
        keys(hop).xor_stream(len - made, &mut filler[..longer]);
        made = longer;
    }

    let last_keys = keys(last);
    last_keys.xor_stream(0, own);
    let mut header_mac = last_keys.header_mac(routing_info);
    for hop in (0..last).rev() {
        let taken = taken(hop);
        routing_info.copy_within(..len - taken, taken);
        tell(hop, &header_mac, &mut routing_info[..taken]);
        let keys = keys(hop);
        keys.xor_stream(0, routing_info);
        header_mac = keys.header_mac(routing_info);
    }
    header_mac
}
