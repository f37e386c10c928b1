//! A profile as a type: geometry, suite, and the arrays whose lengths follow from them. Stable Rust
//! cannot compute an array length from a generic's constant, so the arrays are associated types.

use core::marker::PhantomData;

use motemix_crypto::{Curve, Portable, WideBlake2b, WideBlake2s, WideHash};

use crate::geometry::{Geometry, HOST1K, HOST2K, MOTE, MOTE5};

/// What all packets of one network have in common.
pub trait Profile {
    /// All lengths.
    const GEOMETRY: Geometry;
    /// Room for a packet: zeros, as a constant so that tables of packets are made where they stay.
    const PACKET: Self::Packet;
    /// Room for a message's data, in the same way.
    const DATA: Self::Data;
    /// The curve's backend.
    type Curve: Curve;
    /// The hash of the wide block.
    type WideHash: WideHash;
    /// One `T` for each hop of a header.
    type PerHop<T>: AsRef<[T]> + AsMut<[T]>;
    /// One `T` for each hop of one way.
    type PerWay<T>: AsRef<[T]> + AsMut<[T]>;
    /// A whole packet. Threads may hand it to each other.
    type Packet: AsRef<[u8]> + AsMut<[u8]> + Send;
    /// The application's part of a message.
    type Data: AsRef<[u8]> + AsMut<[u8]>;

    /// Makes one `T` for each hop of a header.
    fn per_hop<T>(make: impl FnMut(usize) -> T) -> Self::PerHop<T>;
    /// Makes one `T` for each hop of one way.
    fn per_way<T>(make: impl FnMut(usize) -> T) -> Self::PerWay<T>;
    /// Room for a packet.
    fn packet() -> Self::Packet {
        Self::PACKET
    }
    /// Room for a message's data.
    fn data() -> Self::Data {
        Self::DATA
    }
}

macro_rules! profile {
    ($(#[$doc:meta])* $name:ident, $geometry:ident, $hash:ty) => {
        $(#[$doc])*
        pub struct $name<C = Portable>(PhantomData<C>);

        impl<C: Curve> Profile for $name<C> {
            const GEOMETRY: Geometry = $geometry;
            type Curve = C;
            type WideHash = $hash;
            type PerHop<T> = [T; $geometry.hops()];
            type PerWay<T> = [T; $geometry.hops_each_way()];
            type Packet = [u8; $geometry.packet_len()];
            type Data = [u8; $geometry.data_len()];
            const PACKET: Self::Packet = [0; $geometry.packet_len()];
            const DATA: Self::Data = [0; $geometry.data_len()];

            fn per_hop<T>(make: impl FnMut(usize) -> T) -> Self::PerHop<T> {
                core::array::from_fn(make)
            }

            fn per_way<T>(make: impl FnMut(usize) -> T) -> Self::PerWay<T> {
                core::array::from_fn(make)
            }

        }
    };
}

profile!(
    /// 280-byte packets between motes: three hops each way.
    Mote, MOTE, WideBlake2s
);
profile!(
    /// 376-byte packets between motes: up to five hops each way.
    Mote5, MOTE5, WideBlake2s
);
profile!(
    /// 1,273-byte packets between hosts: 1,024 bytes for the application.
    Host1k, HOST1K, WideBlake2b
);
profile!(
    /// 2,297-byte packets between hosts: 2,048 bytes for the application.
    Host2k, HOST2K, WideBlake2b
);
