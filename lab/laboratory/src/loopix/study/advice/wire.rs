//! Bytes that a client's datagrams take, in each profile.

use crate::loopix::study::energy::traffic::HEADERS_LEN;
use motemix_loopix::files::{Config, Profile};
use motemix_loopix::packet::Format;
use motemix_loopix::wire::control::{Control, MAX_CONTROL};

/// Bytes behind an IPv4 header that a link of 1,500 bytes takes.
const FRAGMENT: u32 = 1480;
/// An IPv4 header.
const IP_LEN: u32 = 20;

/// Bytes of datagrams, without headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    pub packet: u32,
    /// What a provider fills an answer up with.
    pub dummy: u32,
    /// The two datagrams of a pull.
    pub subscribe: u32,
    pub pull: u32,
}

impl Lengths {
    /// Those of a profile whose packets have this length. Names and addresses are taken to be as
    /// long as those of a network on one machine; others are a few bytes longer.
    pub fn of(profile: Profile, packet: u32) -> Self {
        let name = || "Client1".to_owned();
        let len = |control: Control| u32::try_from(control.datagram().len()).unwrap_or(MAX_CONTROL as u32);
        let subscribe =
            |key| len(Control::Subscribe { name: name(), host: "127.0.0.1".into(), port: 30_000, key });
        let pull = len(Control::Pull { name: name() });
        match profile {
            // In the clear, each of its own length.
            Profile::Ucl2017 => Self { packet, dummy: noise(), subscribe: subscribe(None), pull },
            Profile::Fork2018 => Self { packet, dummy: packet, subscribe: subscribe(Some([2; 29])), pull },
            // Everything is a packet.
            _ => Self { packet, dummy: packet, subscribe: packet, pull: packet },
        }
    }

    /// What the nodes here send.
    pub fn packet_of(profile: Profile) -> u32 {
        let format = if profile == Profile::Hardened { Format::HARDENED } else { Format::LOOPIX };
        u32::try_from(format.datagram_len()).unwrap_or(u32::MAX)
    }
}

/// A dummy of 2017: a word and two fields of noise (`motemix_loopix::wire::control::dummy`).
fn noise() -> u32 {
    let empty = Control::Dummy.datagram().len();
    let noise = Config::default().noise_len;
    // The length of a field of more than 255 bytes takes a byte more.
    u32::try_from(empty + 2 * (noise + usize::from(noise > 255))).unwrap_or(u32::MAX)
}

/// A datagram with its headers of IPv4 and UDP; a long one travels in fragments, each of which has
/// a header of IPv4.
pub fn on_link(len: u32) -> f64 {
    let further = (len + HEADERS_LEN - IP_LEN).div_ceil(FRAGMENT).saturating_sub(1);
    f64::from(len + HEADERS_LEN + further * IP_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loopix::study::cost::PACKET_LEN;
    use chacha20::ChaCha8Rng;
    use motemix_loopix::wire::control::dummy;
    use rand_core::SeedableRng as _;

    #[test]
    fn lengths_are_those_that_are_sent() {
        assert_eq!(Lengths::packet_of(Profile::Ucl2017), PACKET_LEN);
        assert_eq!(Lengths::packet_of(Profile::Hardened), 1222);
        let sent = dummy(Config::default().noise_len, &mut ChaCha8Rng::from_seed([1; 32]));
        assert_eq!(Lengths::of(Profile::Ucl2017, PACKET_LEN).dummy as usize, sent.len());
        let fork = Lengths::of(Profile::Fork2018, PACKET_LEN);
        // Those of the dissertation's clients.
        assert_eq!((fork.subscribe, fork.pull), (72, 16));
    }

    #[test]
    fn a_packet_of_two_fragments_has_two_headers() {
        assert!((on_link(1222) - 1250.0).abs() < 1e-9);
        assert!((on_link(1472) - 1500.0).abs() < 1e-9);
        assert!((on_link(1473) - 1521.0).abs() < 1e-9);
        assert!((on_link(2079) - 2127.0).abs() < 1e-9);
    }
}
