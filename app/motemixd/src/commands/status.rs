//! `motemix status`: how a node is, or how all nodes of a network are.

mod network;
mod node;

pub use node::through;

use super::load_config;
use crate::cli::Status;
use crate::failure::Failure;

pub fn status(args: &Status) -> Result<(), Failure> {
    let config = args.config.as_ref().map(|path| load_config(path)).transpose()?;
    match config {
        Some(config) if args.network.is_empty() => node::show(&config, args.json),
        config => network::show(args, config.as_ref()),
    }
}
