//! `motemix loopix init`: one node of a network whose other nodes are on other machines.

use super::directory::address;
use crate::chosen;
use crate::network;
use anyhow::Context as _;
use motemix_crypto::p224::Point;
use motemix_loopix::files::{MixEntry, NodeEntry, ProviderEntry, UserEntry, keys};
use motemix_os::rng::HostRng;
use motemix_program::cli::{LoopixInit, LoopixInitNode};
use motemix_program::failure::Failure;
use motemix_program::report;
use serde_json::json;

pub fn init(command: &LoopixInit) -> Result<(), Failure> {
    match command {
        LoopixInit::Mix(args) => make(&args.node, |public_key| {
            let (name, host, port) = place(&args.node);
            NodeEntry::Mix(MixEntry { name, host, port, public_key, layer: args.layer.into() })
        }),
        LoopixInit::Provider(args) => make(&args.node, |public_key| {
            let (name, host, port) = place(&args.node);
            NodeEntry::Provider(ProviderEntry { name, host, port, public_key })
        }),
        LoopixInit::Client(args) => make(&args.node, |public_key| {
            let (name, host, port) = place(&args.node);
            NodeEntry::Client(UserEntry { name, host, port, public_key, provider: args.provider.clone() })
        }),
    }
}

fn place(args: &LoopixInitNode) -> (String, String, u16) {
    (args.name.clone(), args.host.clone(), args.port)
}

fn make(args: &LoopixInitNode, entry: impl FnOnce(Point) -> NodeEntry) -> Result<(), Failure> {
    let preset = chosen::preset_of(&args.traffic)?;
    let mut rng = HostRng::new().context("the system has no random numbers")?;
    let own = network::init_node(&args.dir, &preset, entry, &mut rng)?;
    let (role, profile, key) = (own.role().name(), preset.profile, hex::encode(own.public_key().compress()));
    let public = keys::public_file(&args.dir, own.role());
    if args.json {
        return Ok(report::print_json(&json!({
            "role": role, "name": own.name(), "host": own.host(), "port": own.port(), "profile": profile,
            "public_key": key, "hand_in": public
        }))?);
    }
    let (dir, at) = (args.dir.display(), address(own.host(), own.port()));
    let text = format!(
        "{role} {} of {profile} at {at}, key {key}\n\
         next: hand {} in to whoever builds the directory. With the directory, here:\n  \
         motemix loopix directory install example.db --dir {dir}\n  \
         motemix loopix {role} --dir {dir}\n",
        own.name(),
        public.display(),
    );
    Ok(report::print(text.as_bytes())?)
}
