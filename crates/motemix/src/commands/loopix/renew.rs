//! `motemix loopix renew`: a new key for a node.

use super::node::failure;
use crate::cli::LoopixRenew;
use crate::failure::Failure;
use crate::report;
use motemix_loopix::runtime;
use serde_json::json;

pub fn renew(args: &LoopixRenew) -> Result<(), Failure> {
    let own = runtime::renew(&args.folder.path).map_err(failure)?;
    let key = hex::encode(own.public_key().compress());
    if args.json {
        return Ok(report::print_json(&json!({ "name": own.name(), "public_key": key }))?);
    }
    let text = format!(
        "{} has the key {key}; build the directory again (`motemix loopix directory build`), bring it to all nodes, \
         and start this one\n",
        own.name()
    );
    Ok(report::print(text.as_bytes())?)
}
