//! What RIOT says around the mote's own console.

use crate::contiki::CONSOLE;
use crate::ports::{FlashWords, Words};

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
