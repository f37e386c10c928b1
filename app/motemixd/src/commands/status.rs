//! `motemix status`: how a node is, or how all nodes of a network are.

mod network;
mod node;

pub use node::through;

use motemix_program::cli::Status;
use motemix_program::failure::Failure;
use motemix_program::options::load_config;

pub fn status(args: &Status) -> Result<(), Failure> {
    let config = args.config.as_ref().map(|path| load_config(path)).transpose()?;
    match config {
        Some(config) if args.network.is_empty() => node::show(&config, args.json),
        config => network::show(args, config.as_ref()),
    }
}
