//! What the processes of a network have of its secrets in their memory, as root finds it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use motemix_crypto::{Secret, hash};
use motemix_directory::{Epoch, KeyRatchet};

use super::program::memory::{Found, Memory};
use super::program::wait_until;
use super::with_mixes;
use super::world::{AUTHORITIES, World};

const NODES: [&str; 6] = ["mix-1", "mix-2", "mix-3", "mix-4", "receiver", "mote"];
/// Epochs that end while the story looks on.
const EPOCHS: u32 = 3;
/// More than a key of a link is kept for when there is a later one.
const KEY_BEFORE: Duration = Duration::from_secs(12);

/// What a key file says behind a word.
fn field(file: &Path, word: &str) -> String {
    let text = fs::read_to_string(file).expect("a key file");
    let line = text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    line.expect("a line of that name").to_owned()
}

fn seed(file: &Path) -> [u8; 32] {
    let mut seed = [0; 32];
    hex::decode_to_slice(field(file, "seed"), &mut seed).expect("digits");
    seed
}

fn epoch_of(file: &Path) -> u32 {
    field(file, "epoch").parse().expect("a number")
}

/// A node's keys, from the first epoch that its key file had.
struct Keys(KeyRatchet);

impl Keys {
    fn of(file: &Path) -> Self {
        Self(KeyRatchet::new(Epoch(epoch_of(file)), Secret::new(seed(file))))
    }

    fn seed_of(&self, epoch: u32) -> [u8; 32] {
        let mut ratchet = self.0.duplicate();
        ratchet.advance_to(Epoch(epoch)).expect("a later epoch");
        *ratchet.expose_seed()
    }

    fn mix_key_of(&self, epoch: u32) -> [u8; 32] {
        *self.0.mix_secret(Epoch(epoch)).expect("a later epoch").expose()
    }

    /// Of the epochs before this one.
    fn before(&self, epoch: u32) -> impl Iterator<Item = (String, Vec<u8>)> + '_ {
        (self.0.epoch().0..epoch).flat_map(|epoch| {
            let mix_key = self.mix_key_of(epoch);
            let filter_key = hash::blake2s_128(&mix_key, b"motemix/1 replay filter");
            [
                (format!("the seed of {epoch}"), self.seed_of(epoch).to_vec()),
                (format!("the mix key of {epoch}"), mix_key.to_vec()),
                (format!("the key of the filter of {epoch}"), filter_key.expose().to_vec()),
            ]
        })
    }
}

/// The keys of links that a node has made, by the neighbour: of each the last is in use.
fn link_keys(folder: &Path) -> BTreeMap<String, Vec<Vec<u8>>> {
    let text = fs::read_to_string(folder.join("datagram_keys")).expect("keys of datagrams");
    let mut keys: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in text.lines() {
        let [_, peer, key] = line.split(' ').collect::<Vec<_>>().try_into().expect("three words");
        keys.entry(peer.to_owned()).or_default().push(hex::decode(key).expect("digits"));
    }
    keys
}

/// Whether the last of them is so old that the one before it has ended.
fn is_settled(folder: &Path) -> bool {
    let changed = fs::metadata(folder.join("datagram_keys")).and_then(|data| data.modified());
    changed.expect("a time").elapsed().is_ok_and(|age| age > KEY_BEFORE)
}

/// The memory of a node, and the epoch that its key file has meanwhile.
fn memory_of(world: &World, name: &str, file: &Path) -> (Memory, u32) {
    let mut read = None;
    wait_until("its key file stays as it is for a moment", || {
        let epoch = epoch_of(file);
        // The earlier logs go when the earlier keys have gone; what it answers then, it answers
        // when it is done with all of that.
        if world.first_replay_log(name) < epoch.into() {
            return false;
        }
        world.health(name);
        let memory = Memory::of(world.number(name));
        let stays = epoch == epoch_of(file);
        read = Some((memory, epoch));
        stays
    });
    read.expect("it was read")
}

/// Looks for the keys of links of a node that were replaced, as after a neighbour's restart.
fn look_for_link_keys(found: &mut Found, name: &str, folder: &Path, pid: u32) -> usize {
    let mut read = None;
    wait_until("its keys stay as they are", || {
        let keys = is_settled(folder).then(|| link_keys(folder));
        read = keys.map(|keys| (Memory::of(pid), keys));
        read.as_ref().is_some_and(|(_, keys)| *keys == link_keys(folder))
    });
    let (memory, keys) = read.expect("it was read");
    let mut in_use = 0;
    let mut ended = Vec::new();
    for (peer, mut keys) in keys {
        // A call that was not confirmed takes the last one too.
        let last = memory.places(&keys.pop().expect("a key"));
        assert!(last.len() <= 1, "{name}: the key with {peer} is in {last:?}");
        in_use += last.len();
        let before = (1..=keys.len()).rev();
        let which = |before| format!("the key with {peer}, {before} before the last");
        ended.extend(before.map(which).zip(keys));
    }
    assert!(in_use > 0, "{name}: no key of a link is found");
    let count = ended.len();
    found.look(name, &memory, ended);
    count
}

#[test]
fn a_process_has_nothing_left_of_keys_that_have_ended() {
    let mut world = with_mixes();
    world.write_link_keys();
    for name in ["receiver", "mote"] {
        world.init(name, name, false);
        world.admit(name, name, None, &AUTHORITIES);
    }
    let files: BTreeMap<_, _> = NODES.iter().map(|name| (*name, world.path(name).join("node.key"))).collect();
    let keys: BTreeMap<_, _> = NODES.iter().map(|name| (*name, Keys::of(&files[name]))).collect();
    for name in NODES {
        world.run(name);
    }
    world.delivers("mote", "receiver", "a message");
    // Whoever had keys with it makes others.
    world.kill("mix-2");
    world.run("mix-2");
    let mut found = Found::default();
    for name in NODES {
        let (file, keys) = (&files[name], &keys[name]);
        let begun = keys.0.epoch().0;
        wait_until("epochs are over", || epoch_of(file) >= begun + EPOCHS);
        // Between two epochs it has none of a mix, where the next document comes late. And the file is
        // the last that forgets: the epoch after may be the one that is in force.
        let mut read = memory_of(&world, name, file);
        wait_until("its mix key is in use", || {
            let is_found = [read.1, read.1 + 1].map(|epoch| read.0.count(&keys.mix_key_of(epoch))) != [0, 0];
            if !is_found {
                read = memory_of(&world, name, file);
            }
            is_found
        });
        let (memory, now) = read;
        found.is_there(name, &memory, "the seed of its key file", &keys.seed_of(now));
        found.look(name, &memory, keys.before(now));
        found.signs_with(name, &memory, &seed(&world.path(name).join("identity.key")));
    }
    for name in AUTHORITIES {
        let memory = Memory::of(world.number(name));
        found.signs_with(name, &memory, &seed(&world.path(name).join("authority.key")));
    }
}

#[test]
fn a_node_has_nothing_left_of_keys_of_links_that_were_replaced() {
    let mut world = with_mixes();
    world.write_link_keys();
    for name in ["receiver", "mote"] {
        world.init(name, name, false);
        world.admit(name, name, None, &AUTHORITIES);
    }
    for name in NODES {
        world.run(name);
    }
    world.delivers("mote", "receiver", "a message");
    // Whoever had keys with it makes others.
    world.kill("mix-2");
    world.run("mix-2");
    world.delivers("mote", "receiver", "another one");
    let mut found = Found::default();
    let replaced =
        NODES.map(|name| look_for_link_keys(&mut found, name, &world.link_keys(name), world.number(name)));
    assert!(replaced.iter().sum::<usize>() > 0, "a restart replaces keys");
}
