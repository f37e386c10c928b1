//! The daemon of a motemix network.

use clap::Parser;
use std::alloc::System;
use std::process::ExitCode;
use zeroizing_alloc::ZeroAlloc;

use motemix_program::program;
use motemixd::words::{Daemon, run};

/// What is freed is wiped: texts of keys, buffers that grew, what libraries keep of secrets.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<System> = ZeroAlloc(System);

fn main() -> ExitCode {
    // Any command may read a key.
    motemix_os::memory::protect();
    let words = Daemon::parse();
    program::run_in_format("motemixd", &words.logs.log, words.logs.log_format, || run(words.command))
}
