//! `motemix node`: one node in the foreground.

mod broker;
mod commands;
pub mod engine;
mod init;

use anyhow::Context;
use listenfd::ListenFd;
use motemix_os::memory;
use motemix_program::cli::{Node as Args, NodeCommand};
use motemix_program::failure::Failure;
use motemix_program::foreground::end_with_parent;
use motemix_program::options::load_config;
use motemix_program::owner::refuse_root_as_node;
use motemix_program::report;
use rustix::process::setsid;
use std::net::UdpSocket;
use std::path::Path;

pub fn node(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Some(NodeCommand::Init(args)) => return init::init(args),
        Some(NodeCommand::RenewKeys(args)) => return renew_keys(&args.config.path),
        None => {}
    }
    let config =
        args.config.as_ref().ok_or_else(|| Failure::broken("--config: name the node's configuration"))?;
    if args.with_parent {
        end_with_parent()?;
    }
    if args.detached {
        setsid().context("cannot leave the terminal's session")?;
    }
    let config = load_config(&config.path)?;
    refuse_root_as_node(&config)?;
    memory::tell();
    engine::run(&config, inherited_sockets()?)
}

fn renew_keys(config: &Path) -> Result<(), Failure> {
    let config = load_config(config)?;
    refuse_root_as_node(&config)?;
    // One that runs goes on with the keys that it has in its memory.
    if motemix_program::network::status(&config).is_ok() {
        return Err(Failure::failed(format!("{}: the node runs; stop it first", config.name)));
    }
    let from = motemix_host::renew_keys(&config).map_err(engine::failure)?;
    let text = format!(
        "{}: new mix keys from epoch {from} on; the node takes part again with the first network document that \
         names them\n",
        config.name
    );
    Ok(report::print(text.as_bytes())?)
}

/// The UDP sockets that a service manager or `motemix demo` has opened for this process.
fn inherited_sockets() -> Result<Vec<UdpSocket>, Failure> {
    let mut inherited = ListenFd::from_env();
    let mut sockets = Vec::new();
    for position in 0..inherited.len() {
        let socket = inherited.take_udp_socket(position);
        sockets.extend(socket.context("LISTEN_FDS: hand over UDP sockets only")?);
    }
    Ok(sockets)
}
