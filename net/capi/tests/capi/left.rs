//! What calls leave of a mote's secrets on the stack.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use embedded_storage::nor_flash::NorFlash;
use motemix_crypto::Portable;
use motemix_directory::{DocumentTag, DocumentWord, Epoch};
use motemix_mote::limits::FlashLimits;
use motemix_mote::store::{MemoryFlash, Store};
use motemix_sphinx::{Mote, Profile as _};

use crate::signed::{Authority, BEGINS, EPOCH_LEN, FIRST, Member, from_hex};
use crate::{SYSTEM, WARNINGS, build, library, root, says, succeed, target_directory};

const PAGE: usize = 4096;
const PAGES: usize = 12;
/// Bytes of a datagram, which is as long as a packet.
const DATAGRAM: usize = <Mote<Portable>>::GEOMETRY.packet_len();
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
/// with, and seeds and mix keys of three epochs.
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
    leaves_no_secret(library(), &Authority::new(1), |_| Vec::new());
}

#[test]
fn nor_does_one_that_takes_a_document_from_a_neighbour() {
    leaves_no_secret(library(), &Authority::new(1), as_a_neighbour_gives_it);
}

#[test]
fn nor_does_one_of_a_mote_that_protects_its_links() {
    let mut authority = Authority::new(1);
    authority.parameters.protected_links = true;
    leaves_no_secret(library(), &authority, |_| Vec::new());
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
    leaves_no_secret(&target_directory().join("release/libmotemix_capi.a"), &Authority::new(1), |_| {
        Vec::new()
    });
}

/// The datagrams of a neighbour that offers the next epoch's document, and gives it when it is asked.
fn as_a_neighbour_gives_it(document: &[u8]) -> Vec<u8> {
    // Whoever collects it does not look at the checksum: it tells documents from each other.
    let of = DocumentTag { epoch: Epoch(FIRST.0 + 1), len: document.len() as u32, checksum: 7 };
    let datagram = |word: DocumentWord, bytes: &[u8]| {
        let mut datagram = [0; DATAGRAM];
        word.write(&mut datagram)[..bytes.len()].copy_from_slice(bytes);
        datagram
    };
    let room = DocumentWord::Offer(of).write(&mut [0; DATAGRAM]).len();
    let pieces = document.chunks(room).enumerate().map(|(index, bytes)| {
        let offset = (index * room) as u32;
        datagram(DocumentWord::Piece { of, offset }, bytes)
    });
    [datagram(DocumentWord::Offer(of), &[])].into_iter().chain(pieces).flatten().collect()
}

/// `heard` makes of the next epoch's document the datagrams in which it comes; of none of them it is
/// given.
fn leaves_no_secret(library: &Path, authority: &Authority, heard: impl Fn(&[u8]) -> Vec<u8>) {
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
    let next = document(Epoch(FIRST.0 + 1), second);
    for (name, bytes) in [
        ("authority", authority.key().to_vec()),
        ("document", document(FIRST, first)),
        ("datagrams", heard(&next)),
        ("next", next),
        ("secrets", secrets.iter().flatten().map(|byte| byte ^ DISGUISE).collect()),
    ] {
        fs::write(place.path().join(name), bytes).expect("a file");
    }
    says(
        &succeed(Command::new(&program).arg(place.path())),
        &format!("0 parts of {} secrets", secrets.len()),
    );
}
