//! Each known weakness of the originals as an attack. `docs/explanation/loopix-security.md` has the
//! list, by number; where an attack still works on a profile that has to be compatible, a test
//! shows that as well.

mod bounds;
mod mailboxes;
mod packets;
mod requests;
mod traffic;

use std::time::Duration;

use motemix_loopix::files::Profile;
use motemix_loopix::role::Role as _;

use crate::PROFILES;
use crate::world::World;

const COMPATIBLE: [Profile; 2] = [Profile::Ucl2017, Profile::Fork2018];

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A network in which nothing happens unless a test makes it happen.
fn quiet(profile: Profile, seed: u8) -> World {
    let mut world = World::new(profile, 2, seed);
    world.rates.loops = Duration::ZERO;
    world.rates.drops = Duration::ZERO;
    world.rates.payload = Duration::ZERO;
    world.rates.pull = Duration::ZERO;
    world.start_all()
}

/// Whether a message still gets from one client to the other.
fn assert_still_works(world: &mut World) {
    let text = format!("after {:?}", world.now);
    world.send("Client1", "Client2", &text);
    world.run(seconds(40));
    assert!(world.texts("Client2").contains(&text), "{}: no message arrives", world.profile);
}
