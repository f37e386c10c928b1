//! Motes whose flash does not do what it should.

use std::fs;
use std::path::Path;

use super::{FLASH_FAILED, Link, Mote, Port, network};
use crate::signed::Authority;

on_both_ports! {
    a_flash_that_cannot_be_used_is_told_by_every_command,
    a_damaged_page_is_told_and_kills_nobody,
    a_flash_that_fails_while_the_node_runs_stops_the_node,
}

and_on_riots_boards! {
    a_flash_that_cannot_be_used_is_told_by_every_command,
    a_flash_that_fails_while_the_node_runs_stops_the_node,
}

const PAGE_LEN: usize = 4096;

/// Asks for everything, and gets the same answer each time.
pub(crate) fn everything_is_refused(mote: &mut Mote) {
    let failed = format!("error: {FLASH_FAILED}");
    let trust = format!("trust 1 {}", "0".repeat(64));
    for line in [
        "key 7",
        &trust,
        "time 5",
        "start",
        "send node-1 hello",
        "inbox",
        "status",
        "stop",
        "document begin",
        "document 00",
    ] {
        mote.ask(&format!("motemix {line}"), &failed);
    }
    assert!(mote.is_alive());
}

fn a_flash_that_cannot_be_used_is_told_by_every_command(port: &'static Port) {
    let (link, words) = (Link::of(port, 1), &port.words.flash);
    let flash = link.flash(0);
    let is_refused = |said: &str| {
        let before = fs::read(&flash).ok();
        let mut mote = link.start(0);
        mote.until(said);
        everything_is_refused(&mut mote);
        mote.kill();
        // Perhaps it is somebody's only copy of something.
        assert!(fs::read(&flash).ok() == before, "the file has changed");
    };
    fs::create_dir(&flash).expect("a directory where the file should be");
    is_refused(words.no_file);
    fs::remove_dir(&flash).expect("the directory");
    for &len in port.flash.wrong_lengths {
        fs::write(&flash, vec![0xff; len]).expect("a file");
        is_refused(words.wrong_length);
    }
    fs::write(&flash, vec![0; port.flash.len]).expect("a file");
    is_refused(FLASH_FAILED);
    write_noise(&flash, port.flash.len);
    is_refused(FLASH_FAILED);
}

fn write_noise(flash: &Path, len: usize) {
    let mut state = 1_u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    fs::write(flash, (0..len).map(|_| byte()).collect::<Vec<_>>()).expect("a file");
}

/// Wherever a page is damaged: the mote works, or says that its flash does not.
fn a_damaged_page_is_told_and_kills_nobody(port: &'static Port) {
    let link = Link::of(port, 4);
    let mut motes = network(&link, &Authority::new(1));
    motes[1].send("node-0", "hello");
    motes[0].kill();
    let flash = link.flash(0);
    let whole = fs::read(&flash).expect("its flash");
    let limits = port.flash.limits;
    let [last, answered] = port.words.last;
    for page in 0..(limits.settings + limits.tags + limits.messages + limits.readings) as usize {
        for damage in [0x00, 0x55] {
            let mut damaged = whole.clone();
            damaged[page * PAGE_LEN..][..PAGE_LEN].fill(damage);
            fs::write(&flash, damaged).expect("its flash");
            let mut mote = link.start(0);
            for line in ["time 1000020", "start", "send node-1 again", "inbox", "stop", "key 7", "nonsense"] {
                mote.type_line(&format!("motemix {line}"));
            }
            // The answer to nonsense: that there is no such command, or no mote.
            let said = mote.all(last, answered).join("\n");
            let is_told = said.contains(port.words.no_such_command) || said.contains(FLASH_FAILED);
            assert!(is_told && mote.is_alive(), "page {page}: {said}");
            mote.kill();
        }
    }
}

fn a_flash_that_fails_while_the_node_runs_stops_the_node(port: &'static Port) {
    let link = Link::of(port, 4);
    let mut motes = network(&link, &Authority::new(1));
    let flash = fs::OpenOptions::new().write(true).open(link.flash(0)).expect("its flash");
    flash.set_len(0).expect("it is cut");
    // Whoever sends needs somebody's mote for each of the ways.
    motes[1].ask("motemix send node-0 hello", &(port.words.sent_to)("node-0"));
    let mote = &mut motes[0];
    mote.until("the node stops, because a replay tag cannot be kept");
    mote.ask("motemix status", "the node is stopped");
    mote.ask("motemix time 1000030", "ok");
    for line in ["start", "inbox"] {
        mote.ask(&format!("motemix {line}"), port.words.flash.failed_since);
    }
    assert!(mote.is_alive());
}
