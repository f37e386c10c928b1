//! The broker and resource directory, its page and its bridge to MQTT.

use clap::Parser;
use std::alloc::System;
use std::process::ExitCode;
use zeroizing_alloc::ZeroAlloc;

use motemix_program::cli::{BrokerServer, Logs};
use motemix_program::program;

mod serve;

/// Runs a broker and resource directory.
///
/// Devices register with their public keys and publish signed readings over CoAP. The broker holds
/// the newest while devices sleep, and tells those who observe.
#[derive(Debug, Parser)]
#[command(
    name = "motemix-broker",
    version,
    args_override_self = true,
    max_term_width = 110,
    after_long_help = "\
Examples:
  motemix-broker --listen '[::1]:5683' --data broker
  motemix-broker --listen '[::1]:5683' --data broker --page 127.0.0.1:8080

The program motemix talks to a broker: `motemix broker watch`, `publish`, `register`."
)]
struct Words {
    #[command(flatten)]
    logs: Logs,
    #[command(flatten)]
    server: BrokerServer,
}

/// What is freed is wiped: texts of keys, buffers that grew, what libraries keep of secrets.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<System> = ZeroAlloc(System);

fn main() -> ExitCode {
    // Any command may read a key.
    motemix_os::memory::protect();
    let called = program::called("motemix-broker", "broker");
    let words = Words::parse_from(called.words);
    program::run_in_format(called.name, &words.logs.log, words.logs.log_format, || {
        serve::serve(&words.server)
    })
}
