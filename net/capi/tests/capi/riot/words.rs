//! What RIOT says around the mote's own console.

use crate::contiki::CONSOLE;
use crate::ports::{DocumentWords, FlashWords, Words};

pub(super) const WORDS: Words = Words {
    last: ["whatever", "shell: command not found: whatever"],
    epoch_begins: Some("epoch 8 begins"),
    long_line: "maximum line length exceeded",
    flash: FlashWords {
        no_file: "motemix: the memory device does not start",
        wrong_length: "motemix: the memory device is too small",
        ..CONSOLE.flash
    },
    ..CONSOLE
};

/// What the commands for boards say.
pub(super) const ON_BOARDS: Words = Words {
    status: |shell| shell.all("motemix status", "ok"),
    runs_in: |epoch| format!("the node runs in epoch {epoch}"),
    runs_in_no_epoch: "the node runs in no epoch",
    kept: |_, _| "ok".to_owned(),
    kept_next: |_, _| "ok".to_owned(),
    started_before: "error: the node runs; stop it first",
    runs: "error: the node runs; stop it first",
    stopped_before: "error: the node does not run",
    no_node: |_| "error: the receiver is no other node of the network".to_owned(),
    expired: "error: the document has expired",
    long_message: "error: too much data; a message carries MOTEMIX_DATA_LEN bytes",
    long_line: "maximum line length exceeded",
    epoch_passed: "error: the epoch has passed",
    bad_threshold: "error: authority keys or threshold are unusable",
    bad_authority: "error: authority keys or threshold are unusable",
    too_many_authorities: "error: authority keys or threshold are unusable",
    document: DocumentWords {
        too_long: "error: too much data",
        two_words: "error: usage: document begin",
        empty: "error: not a network document",
        cut_off: "error: ",
        unsigned: "error: too few authorities signed the document",
        signed_by_one: "error: too few authorities signed the document",
        expired: "error: the document has expired",
        for_later: "error: the document is for later",
        other_key: "error: the document has another key for this node",
        other_network: "error: the document is of another network",
    },
    flash: FlashWords { failed_since: "error: the flash does not work", ..WORDS.flash },
    ..WORDS
};
