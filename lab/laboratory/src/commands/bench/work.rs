//! The pieces of work that `motemix-lab bench` measures.

use motemix_crypto::{Curve, PublicKey, Secret, hash};
use motemix_os::curve::HostCurve;
use motemix_sphinx::{
    HeaderBuilder, Host1k, Host2k, MessageId, MixKey, Mote, Mote5, NodeId, Packet, PathHop, Profile,
    ReplayError, ReplayFilter, ReplayTag, Shape,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Work of one kind: each call does it once and says how long that took.
pub struct Work {
    pub name: &'static str,
    pub profile: &'static str,
    /// Hops of the packet: there and back, or one way.
    pub hops: &'static str,
    pub sample: Box<dyn FnMut() -> Duration>,
}

/// All rows, in the order of the table.
pub fn all() -> Vec<Work> {
    let work = |name, profile, hops, sample| Work { name, profile, hops, sample };
    let round_trip = |receiver| Shape::RoundTrip { receiver };
    vec![
        work("x25519", "-", "-", Box::new(x25519())),
        work("create", "mote", "3+3", Box::new(create::<Mote<HostCurve>>(6, round_trip(2)))),
        work("create", "mote5", "5+5", Box::new(create::<Mote5<HostCurve>>(10, round_trip(4)))),
        work("create", "host1k", "3", Box::new(create::<Host1k<HostCurve>>(3, Shape::OneWay))),
        work("create", "host1k", "5", Box::new(create::<Host1k<HostCurve>>(5, Shape::OneWay))),
        work("hop", "mote", "-", Box::new(hop::<Mote<HostCurve>>())),
        work("hop", "mote5", "-", Box::new(hop::<Mote5<HostCurve>>())),
        work("hop", "host1k", "-", Box::new(hop::<Host1k<HostCurve>>())),
        work("hop", "host2k", "-", Box::new(hop::<Host2k<HostCurve>>())),
    ]
}

/// One multiplication of a point that is not the base point.
fn x25519() -> impl FnMut() -> Duration {
    let secret = secret(0);
    let mut point = HostCurve::public_key(&self::secret(1));
    move || {
        let begin = Instant::now();
        let product = black_box(HostCurve::diffie_hellman(&secret, black_box(&point)));
        let time = begin.elapsed();
        // Another point each time.
        if let Some(product) = product {
            point = PublicKey(*product.expose());
        }
        time
    }
}

/// A header and its sealing around as much data as the profile carries.
fn create<P: Profile>(hops: u16, shape: Shape) -> impl FnMut() -> Duration {
    let path: Vec<_> = (0..hops).map(node).collect();
    let (data, mut packet) = (P::data(), P::packet());
    let mut number = 0;
    move || {
        number += 1;
        let seed = secret(number);
        let begin = Instant::now();
        make::<P>(&path, shape, seed, data.as_ref(), packet.as_mut());
        black_box(packet.as_ref());
        begin.elapsed()
    }
}

/// What a mix does to a packet: checks it, removes a layer, blinds its group element.
fn hop<P: Profile>() -> impl FnMut() -> Duration {
    let path: Vec<_> = (0..3).map(node).collect();
    let key = MixKey::new(secret_of_node(0));
    let (mut arrived, mut packet) = (P::packet(), P::packet());
    make::<P>(&path, Shape::OneWay, secret(0), P::data().as_ref(), arrived.as_mut());
    move || {
        packet.as_mut().copy_from_slice(arrived.as_ref());
        let begin = Instant::now();
        let packet = Packet::<P>::parse(black_box(packet.as_mut())).expect("its length is the profile's");
        let ((), authentic) = packet.authenticate([((), &key)]).expect("it was made for this key");
        let fresh = authentic.admit(&mut AdmitAll).expect("everything is admitted");
        let _ = black_box(fresh.unwrap_layer().expect("it was made by this program"));
        begin.elapsed()
    }
}

fn make<P: Profile>(path: &[PathHop], shape: Shape, seed: Secret<32>, data: &[u8], packet: &mut [u8]) {
    let header = HeaderBuilder::<P>::new(path, shape, seed).and_then(HeaderBuilder::build);
    let sealed = header.expect("the path is sound").seal(MessageId([0; 4]), data, packet);
    sealed.expect("the data has the profile's length");
}

fn node(number: u16) -> PathHop {
    let mix_key = MixKey::new(secret_of_node(number)).public_key::<HostCurve>();
    PathHop { id: NodeId::new(number).expect("a small number"), mix_key }
}

fn secret_of_node(number: u16) -> Secret<32> {
    hash::blake2s_256(b"bench node", &number.to_be_bytes())
}

fn secret(number: u64) -> Secret<32> {
    hash::blake2s_256(b"bench secret", &number.to_be_bytes())
}

/// One packet is processed over and over.
struct AdmitAll;

impl ReplayFilter for AdmitAll {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}
