//! What carries datagrams: UDP of the system, or a radio at the end of a serial line.

use motemix_host::link::RadioSocket;
use motemix_os::address::{refusal, text};
use motemix_program::cli::Neighbours;
use motemix_program::failure::Failure;
use rand_core::Rng as _;
use std::io::{Error, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// The UDP port on a radio, where boards are with the same application. Of the sixteen that take
/// four bits there.
const RADIO_PORT: u16 = 61_618;

pub enum Carrier {
    Udp(UdpSocket),
    Radio(Box<RadioSocket>),
}

impl Carrier {
    /// The radio that is named, or UDP at this address. It waits so long at a time.
    pub fn open(neighbours: &Neighbours, address: SocketAddr, wait: Duration) -> Result<Self, Failure> {
        let mut carrier = match &neighbours.radio {
            None => Self::Udp(udp(address)?),
            Some(line) => {
                let mut rng = super::rng()?;
                let address = neighbours.radio_address.unwrap_or_else(|| {
                    // Its first byte is 2: locally administered, and of no group.
                    (rng.next_u64() >> 8 | 0x02 << 56).to_be_bytes()
                });
                let radio = RadioSocket::connect(line, address, RADIO_PORT, rng);
                Self::Radio(Box::new(radio.map_err(|error| {
                    let line = line.display();
                    Failure::failed(format!(
                        "cannot use the radio at {line}: {error}; `motemix-lab air` makes such lines"
                    ))
                })?))
            }
        };
        carrier.wait_for(wait)?;
        Ok(carrier)
    }

    /// Where neighbours reach it.
    pub fn local_addr(&self) -> Result<SocketAddr, Failure> {
        match self {
            Self::Udp(socket) => socket.local_addr().map_err(Failure::failed),
            Self::Radio(radio) => Ok(radio.local_addr()),
        }
    }

    /// Waits for a datagram no longer than this at a time.
    pub fn wait_for(&mut self, time: Duration) -> Result<(), Failure> {
        let time = time.max(Duration::from_millis(1));
        match self {
            Self::Udp(socket) => socket.set_read_timeout(Some(time)).map_err(Failure::failed),
            Self::Radio(radio) => {
                radio.set_read_timeout(time);
                Ok(())
            }
        }
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// The system's. Nobody may have been there before: that is none.
    pub fn send_to(&mut self, datagram: &[u8], to: SocketAddr) -> Result<(), Error> {
        let sent = match self {
            Self::Udp(socket) => socket.send_to(datagram, to),
            Self::Radio(radio) => radio.send_to(datagram, to),
        };
        match sent {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The next datagram; `None` if none came in time, or a signal did.
    pub fn receive<'b>(
        &mut self,
        buffer: &'b mut [u8],
    ) -> Result<Option<(&'b mut [u8], SocketAddr)>, Failure> {
        let received = match self {
            Self::Udp(socket) => socket.recv_from(buffer),
            Self::Radio(radio) => radio.recv_from(buffer),
        };
        match received {
            Ok((len, from)) => Ok(buffer.get_mut(..len).map(|datagram| (datagram, from))),
            // Linux tells the next call that an earlier datagram found no socket.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock
                        | ErrorKind::TimedOut
                        | ErrorKind::Interrupted
                        | ErrorKind::ConnectionRefused
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(Failure::failed(format!("cannot receive: {error}"))),
        }
    }
}

fn udp(address: SocketAddr) -> Result<UdpSocket, Failure> {
    let open = || {
        let socket = UdpSocket::bind(address)?;
        if address.is_ipv4() {
            socket.set_broadcast(true)?;
        }
        Ok::<_, Error>(socket)
    };
    open().map_err(|error| {
        let why = refusal(address, &error, "choose another --listen");
        Failure::failed(format!("cannot use UDP {}: {why}", text(address)))
    })
}
