//! What a mote's own console says at Contiki-NG's shell.

use crate::ports::{DocumentWords, FLASH_FAILED, FlashWords, Words};

pub(crate) const CONSOLE: Words = Words {
    status: |shell| shell.all("motemix status", "ok replay tags"),
    last: ["motemix-stack", "bytes of the mote's stack"],
    runs_in: |_| "the node runs".to_owned(),
    runs_in_no_epoch: "the node runs",
    epoch_begins: Some("epoch 8 begins"),
    kept: |epoch, nodes| format!("ok epoch {epoch}, {nodes} nodes"),
    kept_next: |epoch, begins| format!("ok epoch {epoch} begins at {begins}"),
    sent_to: |_| "sent ".to_owned(),
    usage: "error: usage: ",
    no_such_command: "error: there is no such command",
    started_before: "ok",
    runs: "error: the node runs; `stop` it first",
    stopped_before: "ok",
    no_node: |name| format!("error: the network has no node {name};"),
    own_node: "error: the receiver is no other node of the network",
    expired: "error: the network document has expired",
    long_message: TOO_LONG,
    // What is behind the end of the shell's line is lost.
    long_line: TOO_LONG,
    no_address: "error: there is no address yet",
    epoch_passed: "error: the key of epoch 8 is gone",
    bad_threshold: "error: usage: trust K KEY",
    bad_authority: "error: an authority's key is none",
    too_many_authorities: "error: usage: trust K KEY",
    document: DocumentWords {
        too_long: NOT_HEX,
        two_words: NOT_HEX,
        empty: "error: ",
        cut_off: "error: ",
        unsigned: "error: 0 of 1 signatures needed are valid",
        signed_by_one: "error: 1 of 2 signatures needed are valid",
        expired: "error: expired at ",
        for_later: "error: valid from ",
        other_key: "error: this node's key is not in it",
        other_network: "error: it is of another network",
    },
    flash: FlashWords { no_file: FLASH_FAILED, wrong_length: FLASH_FAILED, failed_since: "error: flash: " },
};

const TOO_LONG: &str = "error: the message is too long";
const NOT_HEX: &str = "error: not hex digits in pairs, or more than";
