//! The motemix command-line program.

use motemix_program::cli::Cli;
use motemix_program::program;
use std::alloc::System;
use std::process::ExitCode;
use zeroizing_alloc::ZeroAlloc;

/// What is freed is wiped: texts of keys, buffers that grew, what libraries keep of secrets.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<System> = ZeroAlloc(System);

fn main() -> ExitCode {
    // Any command may read a key.
    motemix_os::memory::protect();
    let cli = Cli::of_process();
    program::run_in_format("motemix", &cli.logs.log, cli.logs.log_format, || motemix::run(cli.command))
}
