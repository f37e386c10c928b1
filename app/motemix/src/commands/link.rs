//! `motemix link`: messages between two neighbours, protected or not.
//!
//! ```text
//! sensor: text ─ seal ─ datagram ─ UDP ─ router: open ─ print ─ receipt ─ UDP ─ sensor: open ─ print
//! ```
//!
//! A sensor that listens is a router too, so that two of them need no third. In place of UDP there
//! may be a radio, where boards with the same application are.

mod carrier;
mod diet;
mod edhoc;
mod literal;
mod router;
mod sensor;
mod told;

pub use router::router;
pub use sensor::sensor;

use anyhow::Context;
use motemix_host::keys::{create_neighbour_key, load_neighbour_key};
use motemix_neighbour::PublicKey;
use motemix_neighbour::diet::settled::{Admission, Identity};
use motemix_neighbour::suite::P256;
use motemix_os::rng::HostRng;
use motemix_program::cli::{LinkIdentity, Mode, Neighbours};
use motemix_program::failure::Failure;
use motemix_program::report;
use motemix_time::Instant;
use std::net::SocketAddr;
use std::path::Path;

/// More than any datagram has.
const DATAGRAM_LEN: usize = 1 << 16;

pub fn identity(args: &LinkIdentity) -> Result<(), Failure> {
    let identity = identity_in(&args.key)?;
    Ok(report::print(format!("{}\n", in_hex(&identity.public_key())).as_bytes())?)
}

/// The identity in a file, which is made if it is not there.
fn identity_in(path: &Path) -> Result<Identity, Failure> {
    let key = if path.exists() { load_neighbour_key(path) } else { create_neighbour_key(path) };
    Identity::new(*key.map_err(Failure::broken)?, &mut P256).map_err(Failure::failed)
}

/// One line for a person about whoever was refused, with what admits it.
fn not_admitted(address: SocketAddr, identity: &PublicKey) -> String {
    let identity = in_hex(identity);
    format!(
        "{address} says it is {identity}, which is not admitted; if that is a neighbour, start again with --admit \
         {identity}"
    )
}

fn in_hex(identity: &PublicKey) -> String {
    hex::encode(identity.as_bytes())
}

/// What this node is, and whom it admits.
struct Us {
    identity: Identity,
    admitted: Option<Vec<PublicKey>>,
}

impl Us {
    fn new(neighbours: &Neighbours) -> Result<Self, Failure> {
        let Some(path) = &neighbours.key else {
            return Err(Failure::broken("--key: name the file of this node's private key"));
        };
        let admitted = match (&neighbours.admitted[..], neighbours.anybody) {
            ([], true) => None,
            ([], false) => {
                return Err(Failure::broken(
                    "nobody is admitted; give a neighbour's identity with --admit (it is printed there by `motemix link \
                     identity KEY`), or say --anybody",
                ));
            }
            (known, _) => Some(known.to_vec()),
        };
        if neighbours.mode == Mode::Diet && neighbours.known.is_some() {
            return Err(Failure::broken("--known: the mode diet keeps nothing; --mode edhoc does"));
        }
        Ok(Self { identity: identity_in(path)?, admitted })
    }

    fn admission(&self) -> Admission<'_> {
        self.admitted.as_deref().map_or(Admission::Anybody, Admission::Of)
    }

    /// Tells a person whom to compare, if nobody was named.
    fn warn_of(&self, peer: &PublicKey, address: SocketAddr) {
        if self.admitted.is_none() {
            let peer = in_hex(peer);
            eprintln!(
                "motemix: {address} is {peer}; compare it with what is printed there, then name it: --admit {peer}"
            );
        }
    }
}

/// The longest datagram of the mode `edhoc` on a radio.
const MAX_RADIO_LENGTH: u16 = 376;

/// Refuses what cannot work, and says once what does not protect.
fn check(neighbours: &Neighbours) -> Result<(), Failure> {
    if neighbours.radio.is_some() && neighbours.length() > MAX_RADIO_LENGTH {
        return Err(Failure::broken(format!("--length: on a radio it is {MAX_RADIO_LENGTH} at most")));
    }
    // clap lets this pass: what --known requires conflicts with what was given.
    if neighbours.known.is_some() && !neighbours.admitted.is_empty() {
        return Err(Failure::broken(
            "--known: it keeps whom --anybody met, and --admit names the neighbours",
        ));
    }
    if neighbours.mode == Mode::Literal {
        eprintln!("motemix: --mode literal can be attacked; docs/spec/link/diet.md says how");
    }
    if matches!(neighbours.mode, Mode::Literal | Mode::Plain) && !neighbours.admitted.is_empty() {
        eprintln!("motemix: --admit: this mode checks no identity; anybody's messages are printed");
    }
    Ok(())
}

fn rng() -> Result<HostRng, Failure> {
    Ok(HostRng::new().context("the system has no random numbers")?)
}

/// A clock for handshakes.
struct Clock(std::time::Instant);

impl Clock {
    fn start() -> Self {
        Self(std::time::Instant::now())
    }

    fn now(&self) -> Instant {
        Instant::default() + self.0.elapsed()
    }
}
