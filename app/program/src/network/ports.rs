//! Which ports of this machine are taken at the moment, and by whom.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, UdpSocket};

/// A port that another process has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    address: SocketAddr,
    transport: Transport,
    holder: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Udp,
    Tcp,
}

impl Transport {
    /// As the files of /proc/net begin.
    fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, transport, holder } = self;
        let transport = transport.name().to_uppercase();
        match holder {
            Some(holder) => write!(f, "{address} ({transport}) is in use by {holder}"),
            None => {
                write!(f, "{address} ({transport}) is in use by a program that this user may not look at")
            }
        }
    }
}

/// Whether a UDP socket cannot be opened here because somebody has one.
pub fn udp_taken(address: SocketAddr) -> Option<Taken> {
    let in_use = UdpSocket::bind(address).is_err_and(|error| error.kind() == ErrorKind::AddrInUse);
    in_use.then(|| taken(address, Transport::Udp))
}

/// The same for a TCP socket that listens.
pub fn tcp_taken(address: SocketAddr) -> Option<Taken> {
    let in_use = TcpListener::bind(address).is_err_and(|error| error.kind() == ErrorKind::AddrInUse);
    in_use.then(|| taken(address, Transport::Tcp))
}

fn taken(address: SocketAddr, transport: Transport) -> Taken {
    Taken { address, transport, holder: holder(address.port(), transport) }
}

/// The process that has a port, with its command line, as far as this user may know.
fn holder(port: u16, transport: Transport) -> Option<String> {
    let sockets: Vec<_> = ["", "6"].iter().flat_map(|family| inodes(port, transport, family)).collect();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(descriptors) = fs::read_dir(entry.path().join("fd")) else { continue };
        let links = descriptors.flatten().filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        if links.into_iter().any(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str())) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
            return Some(format!("process {pid} ({})", words.join(" ").trim()));
        }
    }
    None
}

/// The sockets at a port, as /proc/PID/fd names them.
fn inodes(port: u16, transport: Transport, family: &str) -> Vec<String> {
    let table = fs::read_to_string(format!("/proc/net/{}{family}", transport.name())).unwrap_or_default();
    let of_port = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (_, local) = fields.get(1)?.rsplit_once(':')?;
        let here = u16::from_str_radix(local, 16).ok()? == port;
        here.then(|| fields.get(9).map(|inode| format!("socket:[{inode}]"))).flatten()
    };
    table.lines().skip(1).filter_map(of_port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_process_that_has_a_port() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = format!("is in use by process {} (", std::process::id());
        for taken in [udp_taken(socket.local_addr().unwrap()), tcp_taken(listener.local_addr().unwrap())] {
            let said = taken.unwrap().to_string();
            assert!(said.contains(&here), "{said}");
        }
        let address = socket.local_addr().unwrap();
        drop(socket);
        assert_eq!(udp_taken(address), None);
    }
}
