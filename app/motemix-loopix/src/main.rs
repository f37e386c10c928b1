//! Loopix nodes, their networks, and a chat over them.

use clap::Parser;
use std::alloc::System;
use std::process::ExitCode;
use zeroizing_alloc::ZeroAlloc;

use motemix_loopix_program::words::{Words, run};
use motemix_program::program;

/// What is freed is wiped: texts of keys, buffers that grew, what libraries keep of secrets.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<System> = ZeroAlloc(System);

fn main() -> ExitCode {
    // Any command may read a key.
    motemix_os::memory::protect();
    let called = program::called("motemix-loopix", "loopix");
    let words = Words::parse_from(called.words);
    program::run_in_format(called.name, &words.logs.log, words.logs.log_format, || run(words.command))
}
