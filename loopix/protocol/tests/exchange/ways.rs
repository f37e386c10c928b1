//! Networks to exchange packets over: keys of both makes, paths through them, and everything that
//! is drawn.

use chacha20::ChaCha20Rng;
use motemix_loopix::pack::{self, binary};
use motemix_loopix::packet::{Blinding, BodyTag, Flags, Format, forward};
use motemix_os::rng::HostRng;
use rand_core::{Rng as _, SeedableRng as _};
use rmpv::Value;

use super::peer::There;
use super::sphinx::{Here, Keys, Sphinx, Step};

/// The header lengths of the package and of Loopix.
pub const HEADER_LENS: [usize; 2] = [192, 1024];

/// Both encodings of the flags with both tags.
pub fn formats(header_len: usize, body_len: usize) -> impl Iterator<Item = Format> {
    let kinds = [Flags::Bin, Flags::Str]
        .into_iter()
        .flat_map(|flags| [BodyTag::Zero, BodyTag::Hmac].into_iter().map(move |body_tag| (flags, body_tag)));
    kinds.map(move |(flags, body_tag)| Format {
        header_len,
        body_len,
        flags,
        body_tag,
        blinding: Blinding::Short,
    })
}

/// Both implementations, and what is drawn.
pub struct Exchange {
    pub here: Here,
    pub there: There,
    pub rng: ChaCha20Rng,
}

impl Exchange {
    /// Draws a seed and says it; `MOTEMIX_SEED` names another. sphinxmix draws for itself, each
    /// time anew.
    pub fn start() -> Self {
        let seed = match std::env::var("MOTEMIX_SEED") {
            Ok(seed) => seed.parse().expect("a number"),
            Err(_) => HostRng::new().expect("the system has entropy").next_u64(),
        };
        println!("MOTEMIX_SEED={seed}");
        let rng = ChaCha20Rng::seed_from_u64(seed ^ 1);
        Self { here: Here::new(seed), there: There::start(), rng }
    }

    /// One of the two.
    pub fn party(&mut self, number: usize) -> &mut dyn Sphinx {
        if number.is_multiple_of(2) { &mut self.here } else { &mut self.there }
    }

    /// A path whose nodes have keys of both makes, in turn.
    pub fn way(&mut self, format: &Format, hops: usize) -> (Vec<Keys>, Vec<Step>) {
        let keys: Vec<_> = (0..hops).map(|hop| self.party(hop).keys()).collect();
        let path = keys.iter().map(|keys| {
            let command = self.command(format);
            Step { public: keys.public, routing: forward::relay(format, command) }
        });
        let path = path.collect();
        (keys, path)
    }

    /// A path whose routing strings fill the header to the last byte.
    pub fn full_way(&mut self, format: &Format) -> (Vec<Keys>, Vec<Step>) {
        // Each string but the first has 17 bytes beside its own; the last hop reads five.
        let room = format.routing_info_len() - 5;
        let others = room.div_ceil(17 + 127);
        let keys: Vec<_> = (0..=others).map(|hop| self.party(hop).keys()).collect();
        let path = keys.iter().enumerate().map(|(hop, keys)| {
            let len = room / others + usize::from(hop <= room % others) - 17;
            // Six bytes of a routing string are around what is told.
            Step { public: keys.public, routing: forward::relay(format, binary(vec![0; len - 6])) }
        });
        let path = path.collect();
        (keys, path)
    }

    /// What a hop is told: as in Loopix where there is room, or else a few bytes.
    fn command(&mut self, format: &Format) -> Value {
        if format.header_len < 512 {
            return binary(self.bytes(3));
        }
        // The longest name makes a routing string of 127 bytes, which is the most.
        let name = "n".repeat(self.up_to(85));
        let text = |rng: &mut ChaCha20Rng, text: &str| match rng.next_u32() % 2 {
            0 => binary(text),
            _ => Value::from(text),
        };
        let address =
            Value::Array(vec![text(&mut self.rng, "192.168.100.200"), Value::from(self.up_to(65_535))]);
        let kinds = [Value::Nil, binary([1]), binary([3])];
        let kind = kinds[self.up_to(kinds.len() - 1)].clone();
        let delay = Value::F64(f64::from(self.rng.next_u32()) / 1e9);
        let drop = Value::Boolean(self.rng.next_u32().is_multiple_of(2));
        Value::Array(vec![address, drop, kind, delay, text(&mut self.rng, &name)])
    }

    /// A number up to and with `most`.
    pub fn up_to(&mut self, most: usize) -> usize {
        self.rng.next_u64() as usize % (most + 1)
    }

    /// Up to `most` bytes.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; self.up_to(most)];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }

    /// Empty, the longest, something in between, and bytes that look like padding.
    pub fn messages(&mut self, longest: usize) -> Vec<Vec<u8>> {
        let mut full = vec![0; longest];
        self.rng.fill_bytes(&mut full);
        let between = self.bytes(longest);
        vec![Vec::new(), full, between, vec![0xff; longest / 2], vec![0x7f; longest / 3]]
    }
}

/// Who gets the message, packed.
pub fn destination() -> Vec<u8> {
    pack::encode(&binary("bob"))
}

/// Bytes of the longest message that a packet takes to [`destination`].
pub const fn longest(format: &Format) -> usize {
    // Tag, the end of the message, an array, the destination, and the prefix of a byte string of
    // this length.
    let room = format.body_len - 16 - 1 - 1 - 5;
    room - if room - 2 < 256 { 2 } else { 3 }
}

/// Bytes of the longest reply: it is not packed.
pub const fn longest_reply(format: &Format) -> usize {
    format.body_len - 16 - 1
}
