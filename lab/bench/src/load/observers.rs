//! Many observers of one resource, each with an address of its own as far as files go.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::load::broker::Server;
use crate::load::updates::{acknowledgement, is_notification, observe};
use crate::machine;

/// Files that this process has open besides.
const OTHER_FILES: u64 = 600;
/// Nobody hears anything for so long: the rest is lost.
const PATIENCE: Duration = Duration::from_secs(3);

/// Observers.
pub struct Observers {
    sockets: Vec<UdpSocket>,
    count: usize,
}

impl Observers {
    /// Begins so many observations of a server's first path.
    pub fn begin(server: &Server, count: usize) -> Result<Self> {
        let files = machine::most_files()?.saturating_sub(OTHER_FILES) as usize;
        let mut sockets = Vec::new();
        for _ in 0..count.min(files) {
            sockets.push(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
        }
        let mut buffer = [0; 2048];
        for index in 0..count {
            let socket = &sockets[index % sockets.len()];
            socket.set_read_timeout(Some(PATIENCE))?;
            socket.send_to(&observe(index as u16, index as u16, &server.paths[0]), server.address)?;
            let len = socket.recv(&mut buffer)?;
            ensure!(is_notification(&buffer[..len]), "observation {index} was refused");
        }
        for socket in &sockets {
            socket.set_nonblocking(true)?;
        }
        Ok(Self { sockets, count })
    }

    /// How many addresses they have.
    pub fn addresses(&self) -> usize {
        self.sockets.len()
    }

    /// Waits until all have heard of a change: how many have, and how long it took.
    pub fn hear(&self, server: &Server) -> Result<(usize, Duration)> {
        let (begin, mut last, mut heard) = (Instant::now(), Instant::now(), 0);
        let mut buffer = [0; 2048];
        while heard < self.count && last.elapsed() < PATIENCE {
            for socket in &self.sockets {
                while let Ok(len) = socket.recv(&mut buffer) {
                    heard += usize::from(is_notification(&buffer[..len]));
                    last = Instant::now();
                    if let Some(acknowledgement) = acknowledgement(&buffer[..len]) {
                        socket.send_to(&acknowledgement, server.address)?;
                    }
                }
            }
        }
        Ok((heard, last.duration_since(begin)))
    }
}
