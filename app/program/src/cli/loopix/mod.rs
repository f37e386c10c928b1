//! `motemix loopix`.

mod directory;
mod init;
mod net;
mod node;
mod traffic;

pub use directory::{LoopixDirectory, LoopixDirectoryBuild, LoopixDirectoryInstall, LoopixDirectoryShow};
pub use init::{LoopixInit, LoopixInitClient, LoopixInitMix, LoopixInitNode, LoopixInitProvider};
pub use net::{LoopixNet, LoopixNetDown, LoopixNetInit, LoopixNetStatus, LoopixNetUp};
pub use node::{
    LoopixChat, LoopixClient, LoopixMix, LoopixNode, LoopixProvider, LoopixRenew, LoopixSend, LoopixStatus,
};
pub use traffic::{LoopixPreset, LoopixProfile, LoopixTraffic};

use clap::Subcommand;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Loopix {
    /// Makes, starts, shows and stops a Loopix network of processes on this machine.
    #[command(subcommand)]
    Net(LoopixNet),
    /// Makes one node, with keys that never leave its machine.
    #[command(subcommand)]
    Init(LoopixInit),
    /// Builds, shows and installs the directory of a Loopix network.
    #[command(subcommand)]
    Directory(LoopixDirectory),
    Mix(LoopixMix),
    Provider(LoopixProvider),
    Client(LoopixClient),
    Send(LoopixSend),
    Status(LoopixStatus),
    Renew(LoopixRenew),
    Chat(LoopixChat),
}

/// Longer than any network is: what the files of Loopix can say.
pub const LONGEST_TIME: Duration = Duration::from_secs(1_000_000_000);

/// A time with its unit; a number alone is seconds, as in the originals' configuration.
fn time(text: &str) -> Result<Duration, String> {
    let time = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    }?;
    if time > LONGEST_TIME { Err("longer than 1e9 s, which is never".to_owned()) } else { Ok(time) }
}

/// A time between two events, which cannot all be at once.
///
/// # Errors
/// What is wrong with the text.
pub fn mean(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    if time.is_zero() { Err("0 would be without pause; 1e9 is never".to_owned()) } else { Ok(time) }
}
