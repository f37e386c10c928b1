//! The words of the command line.

pub mod address;
mod authority;
mod backup;
mod broker;
mod demo;
mod directory;
mod id;
mod link;
mod loopix;
mod net;
mod node;
mod object;
mod shape;
mod status;

pub use authority::{
    Authority, AuthorityAdd, AuthorityInit, AuthorityPeers, AuthorityRemove, AuthorityServe, AuthorityStatus,
    NamedPeer,
};
pub use backup::{Adopt, Backup, Restore};
pub use broker::{
    Broker, BrokerClient, BrokerCommand, BrokerPublish, BrokerRegister, BrokerServer, BrokerWatch,
};
pub use demo::{Demo, parse_probability};
pub use directory::{Directory, DirectoryShow, DirectorySign, DirectoryVerify, SignedNode};
pub use id::{
    ChallengeArgs, Id, IdChallenge, IdCheck, IdCheckMembership, IdCheckPossession, IdCheckRetirement,
    IdGroup, IdGroupNew, IdGroupShow, IdNew, IdPair, IdProve, IdProveMembership, IdProvePossession, IdQr,
    IdRotate, IdServers, IdSheet, IdShow, KeyAlgorithm,
};
pub use link::{Link, LinkIdentity, LinkRouter, LinkSensor, Mode, Neighbours};
pub use loopix::{
    LONGEST_TIME as LONGEST_LOOPIX_TIME, Loopix, LoopixChat, LoopixClient, LoopixDirectory,
    LoopixDirectoryBuild, LoopixDirectoryInstall, LoopixDirectoryShow, LoopixInit, LoopixInitClient,
    LoopixInitMix, LoopixInitNode, LoopixInitProvider, LoopixMix, LoopixNet, LoopixNetDown, LoopixNetInit,
    LoopixNetStatus, LoopixNetUp, LoopixNode, LoopixPreset, LoopixProfile, LoopixProvider, LoopixRenew,
    LoopixSend, LoopixStatus, LoopixTraffic, mean,
};
pub use net::{Links, Net, NetDown, NetInit, NetRenew, NetStatus, NetUp};
pub use node::{Inbox, Node, NodeCommand, NodeInit, NodeRenewKeys, Send};
pub use object::{
    For, Format, Object, ObjectAuthorise, ObjectCommand, ObjectDevices, ObjectIntroduce, ObjectObey,
    ObjectPair, ObjectRegister, ObjectSign, ObjectVerify, Path, Target, parse_identity,
};
pub use shape::{Profile, Size, Traffic};
pub use status::Status;

use crate::program::LogFormat;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::fmt::Write as _;
use std::path::PathBuf;

/// An anonymous, authenticated network that fits in a sensor.
#[derive(Debug, Parser)]
#[command(name = "motemix", version, max_term_width = 110, long_about = FIRST_STEPS, after_long_help = FURTHER_STEPS)]
pub struct Cli {
    #[command(flatten)]
    pub logs: Logs,
    #[command(subcommand)]
    pub command: Command,
}

/// What is said of the work, and how.
#[derive(Debug, Args)]
pub struct Logs {
    /// What to log to stderr: a level, or levels of parts, for example `info` or
    /// `warn,motemix_host=debug`.
    #[arg(
        long,
        global = true,
        display_order = 900,
        env = "MOTEMIX_LOG",
        default_value = "warn",
        value_name = "FILTER"
    )]
    pub log: String,
    /// What lines on stderr look like: `json` is an object in each, for programs that collect logs.
    #[arg(
        long,
        global = true,
        display_order = 901,
        env = "MOTEMIX_LOG_FORMAT",
        default_value = "text",
        value_name = "FORMAT"
    )]
    pub log_format: LogFormat,
}

/// What the program is, and the commands that a newcomer needs.
const FIRST_STEPS: &str = "\
An anonymous, authenticated network that fits in a sensor.

A mote wraps a reading in a packet and sends it through mixes to a receiver. The acknowledgement comes back \
on a way of its own, and nobody on either learns who sent what to whom.

First steps:
  motemix demo    runs a whole network on this machine for twenty seconds, and measures it
  motemix net     makes a network that stays, starts it and stops it
  motemix send    sends a message through it and waits for the acknowledgement";

/// Who types which commands, in the order of the help.
const GROUPS: [(&str, &[&str]); 7] = [
    ("To try it out", &["demo", "net"]),
    ("For messages", &["send", "inbox", "status"]),
    (
        "For operators of nodes and authorities",
        &["node", "authority", "directory", "backup", "restore", "adopt"],
    ),
    ("For devices and what they measure", &["id", "object", "link"]),
    ("For brokers", &["broker"]),
    ("For compatibility", &["loopix"]),
    ("For shells and manuals", &["completions", "man"]),
];

impl Cli {
    /// The words of the command line, with a help that lists commands by who types them.
    pub fn words() -> clap::Command {
        let words = Self::command();
        let mut template = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
        for (heading, names) in GROUPS {
            let _ = write!(template, "\n{heading}:\n");
            for command in names.iter().filter_map(|name| words.find_subcommand(name)) {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                let _ = writeln!(template, "  {:<12} {about}", command.get_name());
            }
        }
        template += "\nOptions:\n{options}{after-help}";
        words.help_template(template)
    }

    /// What this process was given. Ends it, with a word, if that cannot be understood.
    pub fn of_process() -> Self {
        let mut found = Self::words().get_matches();
        Self::from_arg_matches_mut(&mut found).unwrap_or_else(|error| error.exit())
    }
}

const FURTHER_STEPS: &str = "\
A network that stays, from its making to its end:
  motemix net init plant
  motemix net up plant
  motemix send --config plant/nodes/mote-1/node.toml 'all is well'
  motemix inbox --config plant/nodes/receiver/node.toml
  motemix net down plant

`motemix help COMMAND` explains a command and shows an example of it.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Makes, starts, shows and stops a network on this machine.
    #[command(subcommand)]
    Net(Net),
    Node(Node),
    Send(Send),
    Inbox(Inbox),
    Status(Status),
    Backup(Backup),
    Restore(Restore),
    Adopt(Adopt),
    /// Makes and runs an authority; k of n sign a network's documents.
    ///
    /// Operators who do not trust each other run one each. `init` makes its key, `peers` names the
    /// others, `add` admits nodes, and `serve` votes with the others on the document of each epoch.
    #[command(subcommand)]
    Authority(Authority),
    /// Reads and checks signed network documents.
    #[command(subcommand)]
    Directory(Directory),
    Demo(Demo),
    Broker(Broker),
    /// Makes and shows identities of devices, and checks their proofs.
    ///
    /// A device makes its own key and with it its identity (RFC 8387): 32 digits, which whoever
    /// installs it reads off a label.
    #[command(subcommand)]
    Id(Id),
    /// Sends messages to a neighbour, with nothing agreed before.
    ///
    /// Two neighbours each make a key with `identity`, and tell each other what it prints. One
    /// starts `router`, the other `sensor`, each with its own --key and with --admit and the
    /// other's identity.
    #[command(subcommand)]
    Link(Link),
    /// Signs and checks readings of devices and commands to them.
    ///
    /// A device has a key (`motemix id new`). Whoever believes its readings has its identity in a
    /// list of devices.
    #[command(subcommand)]
    Object(Object),
    /// Runs the Loopix of 2017 and 2018 in the files of its nodes.
    #[command(subcommand)]
    Loopix(Loopix),
    Completions(Completions),
    Man(Man),
}

/// Prints the script with which a shell completes the words.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix completions bash > ~/.local/share/bash-completion/completions/motemix")]
pub struct Completions {
    /// The shell that is to run the script.
    pub shell: clap_complete::Shell,
}

/// Writes a manual page for each command.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix man ~/.local/share/man/man1")]
pub struct Man {
    /// Where to put the pages; made if it does not exist.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::{Cli, GROUPS};
    use clap::Command;

    fn check(command: &Command) {
        assert!(command.get_about().is_some(), "{} is not explained", command.get_name());
        for argument in command.get_arguments() {
            let explained = argument.get_help().is_some();
            assert!(explained, "{} of {} is not explained", argument.get_id(), command.get_name());
        }
        for examples in [command.get_after_help(), command.get_after_long_help()].into_iter().flatten() {
            for line in examples.to_string().lines() {
                // A terminal would break it where the shell sees its end.
                assert!(line.chars().count() <= 80, "{}: too wide: {line}", command.get_name());
            }
        }
        command.get_subcommands().for_each(check);
    }

    #[test]
    fn every_word_is_sound_and_explained() {
        Cli::words().debug_assert();
        check(&Cli::words());
    }

    #[test]
    fn every_command_is_in_one_group_and_its_line_fits() {
        let words = Cli::words();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut there: Vec<_> = words.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        there.sort_unstable();
        assert_eq!(grouped, there);
        for command in words.get_subcommands() {
            let about = command.get_about().expect("it is explained").to_string();
            assert!(about.chars().count() <= 80 - 15, "{}: {about}", command.get_name());
        }
    }
}
