//! The plainest forwarding process: one datagram in, one layer off, one datagram out, one system
//! call each. Without delay, replay filter and metrics, so it flatters whoever is behind it.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use motemix_sphinx::Mote;

use crate::ours::HostCurve;
use crate::{ours, peer};

/// Whose packets are forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Ours, in the `MOTE` profile.
    Motemix,
    /// The peer's.
    SphinxPacket,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Motemix => "motemix",
            Self::SphinxPacket => "sphinx-packet",
        })
    }
}

impl FromStr for Format {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "motemix" => Ok(Self::Motemix),
            "sphinx-packet" => Ok(Self::SphinxPacket),
            other => bail!("there is no format {other}; choose motemix or sphinx-packet"),
        }
    }
}

/// Says on standard output where it listens, and forwards to `next` until it is killed.
pub fn run(format: Format, next: SocketAddr) -> Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0").context("binding to loopback")?;
    println!("{}", socket.local_addr()?);
    match format {
        Format::Motemix => forward_ours(&socket, next),
        Format::SphinxPacket => forward_theirs(&socket, next),
    }
}

fn forward_ours(socket: &UdpSocket, next: SocketAddr) -> Result<()> {
    let key = ours::mix_key(0);
    let mut buffer = [0; 2048];
    loop {
        let (len, _) = socket.recv_from(&mut buffer)?;
        let packet = &mut buffer[..len];
        if ours::forward::<Mote<HostCurve>>(packet, &key).is_some() {
            socket.send_to(packet, next)?;
        }
    }
}

fn forward_theirs(socket: &UdpSocket, next: SocketAddr) -> Result<()> {
    let key = peer::mix_key(0);
    let mut buffer = [0; 2048];
    loop {
        let (len, _) = socket.recv_from(&mut buffer)?;
        let Ok(packet) = peer::parse(&buffer[..len]) else { continue };
        if let Some((packet, _)) = peer::forward(packet, &key) {
            socket.send_to(&packet.to_bytes(), next)?;
        }
    }
}
