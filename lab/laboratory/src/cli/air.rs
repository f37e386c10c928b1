//! `motemix-lab air`.

use clap::Args;
use motemix_program::cli::address::of_host;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Joins emulated boards and processes in one radio channel.
///
/// Each station gets two Unix sockets in the folder: NAME.air is the serial line of its radio, to
/// which an emulator connects the board's UART; NAME.tty is its console. What the board prints is
/// kept in NAME.log. The channel is an IEEE 802.15.4 channel in the 2.4 GHz band: stations listen
/// before they send, frames collide, are acknowledged and sent again.
///
/// With --zep, whoever sends ZEP datagrams is a station too. It needs neither a name nor a folder.
///
/// Runs until it is interrupted, then prints what became of the frames. "ready" is printed once all
/// sockets exist.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix-lab air --dir air --station mote-1 --station mix-1 --loss 0.02

  qemu-system-arm -M mps2-an385 -kernel mote -nographic -monitor none \\
    -chardev socket,id=radio,path=air/mote-1.air -serial chardev:radio
  socat - UNIX-CONNECT:air/mote-1.tty

  motemix-lab air --zep
  ./gnrc_networking.elf -z '[::1]:17754'     # RIOT on its board native64")]
pub struct Air {
    /// Folder for the sockets; made if it does not exist.
    #[arg(long, value_name = "DIR", required_unless_present = "zep")]
    pub dir: Option<PathBuf>,
    /// A station's name; give one or more, unless all stations speak ZEP.
    #[arg(
        long = "station",
        value_name = "NAME",
        num_args = 1..,
        required_unless_present = "zep",
        requires = "dir"
    )]
    pub stations: Vec<String>,
    /// The probability with which each receiver loses a frame that nothing disturbed.
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    pub loss: f64,
    /// Seed of the channel's random numbers. The same seed gives the same losses.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Writes all frames on the air to a file that Wireshark reads. A wrong check sequence marks
    /// collided frames. Hosts write the keys of their links to the folder that their variable
    /// MOTEMIX_LINK_KEYS names.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Takes frames in ZEP datagrams at this address, for example from RIOT's native boards, which
    /// are on channel 26. Anybody who can reach the address can join and send.
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "[::1]:17754", value_parser = of_host)]
    pub zep: Option<SocketAddr>,
    /// Prints JSON at the end.
    #[arg(long)]
    pub json: bool,
}
