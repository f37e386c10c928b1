//! `motemix loopix mix`, `provider`, `client`, `send`, `status`, `renew` and `chat`.

use super::super::address::of_host;
use super::LoopixProfile;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The words that all roles have in common; what each does is said where the commands are listed.
#[derive(Debug, Args)]
pub struct LoopixNode {
    #[command(flatten)]
    pub folder: LoopixNodeFolder,
    /// Which Loopix to speak, in place of what motemix.toml says. If there is no such file:
    /// fork-2018 if config.json has PUSH_MESSAGES, which nodes of 2017 do not know, else ucl-2017.
    #[arg(long, value_enum)]
    pub profile: Option<LoopixProfile>,
    /// Where to receive packets, in place of the address in the directory, for a node behind
    /// another address.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = of_host)]
    pub listen: Option<SocketAddr>,
    /// Prints the counters every so often; a number alone is seconds.
    #[arg(long, value_name = "TIME", value_parser = super::mean)]
    pub stats: Option<Duration>,
    /// Ends when the process that started it ends, for whatever reason.
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

#[derive(Debug, Args)]
pub struct LoopixNodeFolder {
    /// The node's folder, with the files of the originals: keys, config.json, and the directory
    /// that it names.
    #[arg(long = "dir", value_name = "DIR")]
    pub path: PathBuf,
}

/// Keeps the mail of its users, and mixes all other packets.
///
/// Prints JSON lines: `ready` when the socket is open, `counters` at the end. Ends on SIGINT and
/// SIGTERM. Its mail is in DIR/state, and survives a kill.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix provider --dir loops/nodes/Provider1 --stats 60")]
pub struct LoopixProvider {
    #[command(flatten)]
    pub node: LoopixNode,
    /// Forwards mail as it arrives, in place of waiting for requests. Only with the profile
    /// fork-2018.
    #[arg(long)]
    pub push: bool,
    /// The most packets that are kept for one user, in place of what motemix.toml says.
    #[arg(long, value_name = "PACKETS")]
    pub mailbox: Option<u64>,
    /// The most bytes that are kept for all users together, in place of what motemix.toml says.
    #[arg(long, value_name = "BYTES")]
    pub mailboxes: Option<u64>,
}

/// Delays packets and sends them on.
///
/// Prints JSON lines: `ready` when the socket is open, `counters` at the end. Ends on SIGINT and
/// SIGTERM. The replay tags in DIR/state survive a kill.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix mix --dir loops/nodes/Mix1")]
pub struct LoopixMix {
    #[command(flatten)]
    pub node: LoopixNode,
}

/// Sends and receives messages for a user, and cover traffic all the time.
///
/// Reads lines from stdin: `send NAME TEXT`, or JSON such as {"to": "Client2", "text": "hello"} or
/// {"to": "Client2", "hex": "00ff"}. Prints JSON lines: `ready`, `queued` when a message is safe on
/// disk, `refused` with the reason, `sent`, `acknowledged` and `gave_up` (profile hardened),
/// `received`, `loop`, `counters`. Queued messages are sent even if the client is killed and
/// started again. When its input ends, the client ends as soon as nothing waits to leave. If there
/// was not a single line of input, as with </dev/null, the client continues and receives.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  echo 'send Client2 hello' | motemix loopix client --dir loops/nodes/Client1")]
pub struct LoopixClient {
    #[command(flatten)]
    pub node: LoopixNode,
    /// Whenever a message could leave and none waits, sends a message to itself and prints `probe`
    /// with the seconds that it took.
    #[arg(long)]
    pub probe: bool,
}

/// Sends one message as a client, and ends.
///
/// If the client of this folder runs, it takes over the message and sends it with its other
/// packets. If the client does not run, this command runs it until the message has left (profile
/// hardened: until it is acknowledged). Messages that an earlier run left over leave meanwhile, as
/// far as there is time. A client that runs only to send shows observers when it sends. To hide
/// that, let a client run all the time.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix loopix send --dir loops/nodes/Client1 Client2 hello
  df -h | motemix loopix send --dir loops/nodes/Client1 Client2 -")]
pub struct LoopixSend {
    #[command(flatten)]
    pub folder: LoopixNodeFolder,
    /// The receiver: a user of the directory.
    #[arg(value_name = "USER")]
    pub to: String,
    /// The message; `-` reads it from stdin.
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// How long to wait at most. A message that has not left by then stays in the folder, and
    /// leaves when the client runs.
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = super::mean)]
    pub timeout: Duration,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Shows what a running node counts.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix status --dir loops/nodes/Provider1")]
pub struct LoopixStatus {
    #[command(flatten)]
    pub folder: LoopixNodeFolder,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Gives a node that does not run a new key.
///
/// A hardened mix or provider remembers every packet of its key. It says a day ahead that no more
/// will fit; `motemix loopix status` shows how many there are. Then stop the node, give it a new
/// key, build the directory again, bring the directory to all nodes, and start the node. Nodes take
/// over a new directory while they run. Packets for the old key are lost meanwhile; hardened
/// clients send their messages again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix renew --dir loops/nodes/Mix1
  motemix loopix directory build --dir loops
  motemix loopix mix --dir loops/nodes/Mix1")]
pub struct LoopixRenew {
    #[command(flatten)]
    pub folder: LoopixNodeFolder,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Chats with everybody in the directory, as a client.
///
/// On a terminal, shows the messages above an input line. Beside them it shows who has been heard
/// from, what waits to leave, and the cover traffic. With pipes instead of a terminal, reads lines
/// and prints lines. Each line goes to every user of the directory as `CHATHH:MM:SS <name> text`.
/// The time is in UTC, because local time would tell where the sender lives.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix chat --dir loops/nodes/Client1")]
pub struct LoopixChat {
    #[command(flatten)]
    pub folder: LoopixNodeFolder,
    /// Which Loopix to speak, in place of what motemix.toml says. If there is no such file:
    /// fork-2018 if config.json has PUSH_MESSAGES, which nodes of 2017 do not know, else ucl-2017.
    #[arg(long, value_enum)]
    pub profile: Option<LoopixProfile>,
    /// The name to chat under, in place of the user's.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Where to receive packets, in place of the address in the directory.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = of_host)]
    pub listen: Option<SocketAddr>,
}
