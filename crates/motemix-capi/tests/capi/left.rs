//! What calls leave of a mote's secrets on the stack.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use embedded_storage::nor_flash::NorFlash;
use motemix_directory::Epoch;
use motemix_mote::limits::FlashLimits;
use motemix_mote::store::{MemoryFlash, Store};

use crate::signed::{Authority, BEGINS, EPOCH_LEN, FIRST, Member, from_hex};
use crate::{SYSTEM, WARNINGS, build, library, root, says, succeed, target_directory};

const PAGE: usize = 4096;
const PAGES: usize = 12;
/// Secrets are looked for in disguise, so that they are not found where they are kept.
const DISGUISE: u8 = 0xa5;

fn compile(source: &str, to: &Path, library: &Path) -> PathBuf {
    let program = to.join("left");
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-g", "-O1", "-pthread"]).args(WARNINGS).arg("-Wno-unused-function");
    gcc.arg(format!("-DBEGINS={BEGINS}")).arg(format!("-DEPOCH_LEN={EPOCH_LEN}"));
    gcc.arg(format!("-DDISGUISE={DISGUISE}"));
    gcc.arg("-I").arg(root().join("include")).arg("-o").arg(&program).arg(root().join(source));
    succeed(gcc.arg(library).args(SYSTEM));
    program
}

/// What the mote keeps to itself: what its generator was seeded with, what its readings are signed
/// with, and seeds and mix keys of
/// three epochs.
fn secrets_of(flash: &[u8]) -> Vec<[u8; 32]> {
    let mut memory = MemoryFlash::<_, PAGE>::erased(vec![0; PAGES * PAGE]);
    memory.write(0, flash).expect("as large as the flash");
    let layout =
        FlashLimits { page: PAGE as u32, settings: 4, tags: 4, messages: 2, readings: 2, devices: 0 }
            .layout(0);
    let mut store = Store::open(memory, layout).expect("a store");
    let mut ratchet = store.ratchet().expect("flash that works").expect("a key");
    let mut secrets = vec![std::array::from_fn(|at| at as u8 + 1)];
    secrets.push(*store.device_seed().expect("flash that works").expect("a seed").expose());
    for epoch in FIRST.0..FIRST.0 + 3 {
        ratchet.advance_to(Epoch(epoch)).expect("a later epoch");
        secrets.push(*ratchet.expose_seed());
        secrets.push(*ratchet.mix_secret(Epoch(epoch)).expect("the present epoch").expose());
    }
    secrets
}

#[test]
fn no_call_of_a_mote_leaves_a_secret_on_the_stack() {
    leaves_no_secret(library(), &Authority::new(1));
}

#[test]
fn nor_does_one_of_a_mote_that_protects_its_links() {
    let mut authority = Authority::new(1);
    authority.parameters.protected_links = true;
    leaves_no_secret(library(), &authority);
}

#[test]
fn no_call_of_two_neighbours_leaves_a_private_key_or_their_shared_key_on_the_stack() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let program = compile("tests/capi/left_diet.c", place.path(), library());
    // It leaves one itself in the end, and finds that.
    says(&succeed(&mut Command::new(program)), "0 parts left by 17 calls");
}

#[test]
#[ignore = "builds the library a second time: two minutes"]
fn no_call_of_a_released_mote_leaves_a_secret_on_the_stack() {
    build(&["--release"]);
    leaves_no_secret(&target_directory().join("release/libmotemix_capi.a"), &Authority::new(1));
}

fn leaves_no_secret(library: &Path, authority: &Authority) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let program = compile("tests/capi/left.c", place.path(), library);
    let said = succeed(&mut Command::new(&program)).stdout;
    let said = String::from_utf8(said).expect("hex digits");
    let [first, second, flash] =
        said.lines().map(from_hex).collect::<Vec<_>>().try_into().expect("three lines");
    let document = |epoch, own: Vec<u8>| {
        let keys = [own.try_into().expect("a key of 32 bytes"), [2; 32], [3; 32], [4; 32]];
        let member = |(node, key)| Member {
            name: format!("node-{node}"),
            address: format!("[fe80::{}]:61616", node + 1).parse().expect("an address"),
            key,
        };
        authority.sign(epoch, &keys.into_iter().enumerate().map(member).collect::<Vec<_>>())
    };
    let secrets = secrets_of(&flash);
    for (name, bytes) in [
        ("authority", authority.key().to_vec()),
        ("document", document(FIRST, first)),
        ("next", document(Epoch(FIRST.0 + 1), second)),
        ("secrets", secrets.iter().flatten().map(|byte| byte ^ DISGUISE).collect()),
    ] {
        fs::write(place.path().join(name), bytes).expect("a file");
    }
    says(
        &succeed(Command::new(&program).arg(place.path())),
        &format!("0 parts of {} secrets", secrets.len()),
    );
}
