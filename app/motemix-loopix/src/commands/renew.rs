//! `motemix loopix renew`: a new key for a node.

use super::node::failure;
use motemix_loopix::files::keys;
use motemix_loopix::runtime;
use motemix_program::cli::LoopixRenew;
use motemix_program::failure::Failure;
use motemix_program::owner::refuse_root;
use motemix_program::report;
use serde_json::json;

pub fn renew(args: &LoopixRenew) -> Result<(), Failure> {
    refuse_root(&args.folder.path)?;
    let own = runtime::renew(&args.folder.path).map_err(failure)?;
    let key = hex::encode(own.public_key().compress());
    if args.json {
        return Ok(report::print_json(&json!({ "name": own.name(), "public_key": key }))?);
    }
    let text = format!(
        "{} has the key {key}\n\
         next: hand {} in to whoever builds the directory (`motemix loopix directory build`), install the directory at \
         all nodes, here too, and start this one\n",
        own.name(),
        keys::public_file(&args.folder.path, own.role()).display(),
    );
    Ok(report::print(text.as_bytes())?)
}
