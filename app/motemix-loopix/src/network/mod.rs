//! A Loopix network on this machine: its folder, in the files of the originals, and its processes.
//!
//! ```text
//! DIR/example.db                       everybody
//! DIR/nodes/<name>/secret*.prv         the node's keys; Python nodes can run in these folders, too
//!                  public*.bin
//!                  config.json         times and limits
//!                  example.db          everybody, again: the originals look in their own folder
//!                  motemix.toml        the profile
//!                  node.log, node.pid  as in every network of motemix
//!                  node.events         what the process printed
//!                  node.input          of a client: what is written here, it reads
//! ```

mod directory;
mod handed_in;
mod init;
mod launch;
mod preset;

pub use directory::{build, entry_of, folders, nodes_of};
pub use handed_in::build_of;
pub use init::{Blueprint, Size, init, init_node};
pub use launch::{launch, wait_until_ready};
pub use preset::Preset;
