//! The mote's own stack: the call that turns to it, and how much of it is needed.

use std::path::Path;
use std::process::Command;

use motemix_directory::Epoch;

use super::{port, sources};
use crate::boards::{CORES, Core, check, left_by_riot};
use crate::network::array;
use crate::signed::{Authority, BEGINS, FIRST, Member, from_hex};
use crate::succeed;

#[test]
fn a_call_on_another_stack_leaves_everything_as_it_was() {
    for core in CORES {
        let place = tempfile::tempdir().expect("a temporary directory");
        let said = core.run("contiki/stack.c", place.path());
        assert!(said.contains("expectations met"), "{}: {said}", core.target);
    }
}

#[test]
fn a_call_on_another_stack_leaves_everything_as_it_was_in_coojas_motes() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let program = place.path().join("stack");
    for optimised in ["-O0", "-O1", "-O2", "-Os"] {
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=gnu11", "-g", optimised, "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]);
        gcc.arg("-fno-sanitize-recover=all").arg(sources().join("stack.c"));
        succeed(gcc.arg("-o").arg(&program));
        let said = String::from_utf8_lossy(&succeed(&mut Command::new(&program)).stdout).into_owned();
        assert!(said.contains("expectations met"), "{optimised}: {said}");
    }
}

/// The frames of the port, and an interrupt.
const OTHERS: u32 = 384;

/// The bytes of the mote's own stack that are left to a call.
pub(crate) fn left_by_contiki() -> u32 {
    let header = std::fs::read_to_string(port().join("motemix/motemix-contiki.h")).expect("the header");
    let mut sizes = header.lines().filter_map(|line| line.strip_prefix("#define MOTEMIX_STACK_SIZE "));
    // The last is the boards'.
    let size = sizes.next_back().and_then(|size| size.parse::<u32>().ok()).expect("the size of the stack");
    size - OTHERS
}

#[test]
fn no_line_that_is_typed_takes_more_stack_than_riots_thread_or_contikis_module_has() {
    let authority = Authority::new(9);
    for core in CORES {
        // The same random bytes in both runs, and so the same keys.
        let keys = type_lines(&core, &authority, [FIRST, NEXT].map(|_| vec![0]));
        let documents = [FIRST, NEXT].map(|epoch| authority.sign(epoch, &members(&keys, epoch)));
        println!("{}", core.target);
        let said = type_lines(&core, &authority, documents);
        check(&said, 13, left_by_riot().min(left_by_contiki()));
    }
}

/// The epoch after the first.
const NEXT: Epoch = Epoch(FIRST.0 + 1);

fn type_lines(core: &Core, authority: &Authority, [document, next]: [Vec<u8>; 2]) -> String {
    let place = tempfile::tempdir().expect("a temporary directory");
    let arrays = [("document", &*document), ("next", &next), ("authority", &authority.key())];
    let arrays = arrays.map(|(name, bytes)| array(name, bytes)).concat();
    let time = format!("#define TIME \"time {BEGINS}\"\n");
    std::fs::write(place.path().join("motemix_network.h"), format!("#include <stdint.h>\n{time}{arrays}"))
        .expect("a header");
    core.run("contiki/commands.c", Path::new(place.path()))
}

/// The mote that has said its keys, and three that nobody switches on.
fn members(said: &str, epoch: Epoch) -> Vec<Member> {
    let keys = said.lines().filter_map(|line| line.strip_prefix("address [fe80::1]:61616 key "));
    let key = keys.skip(usize::from(epoch == NEXT)).map(from_hex).next().expect("a key of that epoch");
    (0..4)
        .map(|node: u8| Member {
            name: format!("node-{node}"),
            address: format!("[fe80::{}]:61616", node + 1).parse().expect("an address"),
            key: if node == 0 { key.clone().try_into().expect("32 bytes") } else { [node; 32] },
        })
        .collect()
}
