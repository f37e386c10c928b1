//! `motemix status`: how a node is.

mod node;

use super::load_config;
use crate::cli::Status;
use crate::failure::Failure;

pub fn status(args: &Status) -> Result<(), Failure> {
    node::show(&load_config(&args.config)?, args.json)
}
