//! One datagram with one system call.

use std::io;

use socket2::SockRef;
use tokio::net::UdpSocket;

use crate::link::{BATCH, Batch, Outgoing};

#[derive(Debug)]
pub(super) struct Headers;

impl Headers {
    pub(super) fn new() -> Self {
        Self
    }
}

pub(super) fn receive(socket: &UdpSocket, _: &Headers, batch: &mut Batch) -> io::Result<usize> {
    let mut arrived = [(0, None); BATCH];
    let mut count = 0;
    for ([slot], place) in batch.slots().iter_mut().zip(&mut arrived) {
        match socket.try_recv_from(slot) {
            Ok((len, from)) => *place = (len, Some(from)),
            Err(_) if count > 0 => break,
            Err(error) => return Err(error),
        }
        count += 1;
    }
    Ok(batch.set_arrived(arrived.into_iter().take(count)))
}

pub(super) fn send(socket: &UdpSocket, _: &Headers, all: &[Outgoing<'_>]) -> io::Result<usize> {
    let socket = SockRef::from(socket);
    let mut sent = 0;
    for outgoing in all.iter().take(BATCH) {
        match socket.send_to(outgoing.bytes, &outgoing.to.into()) {
            Ok(_) => sent += 1,
            Err(error) if sent == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn datagrams_move_one_by_one_where_the_platform_has_nothing_better() {
        let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let to = receiver.local_addr().unwrap();
        let bytes = [[1_u8; 5], [2; 5], [3; 5]];
        let datagrams = bytes.each_ref().map(|bytes| Outgoing { to, bytes });
        sender.writable().await.unwrap();
        assert_eq!(send(&sender, &Headers::new(), &datagrams).unwrap(), 3);

        let mut batch = Batch::new(4);
        let mut seen = Vec::new();
        while seen.len() < 3 {
            receiver.readable().await.unwrap();
            match receiver
                .try_io(tokio::io::Interest::READABLE, || receive(&receiver, &Headers::new(), &mut batch))
            {
                Ok(_) => seen.extend(batch.datagrams().map(|datagram| datagram.to_vec())),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }

        assert_eq!(seen, bytes.map(Vec::from));
    }
}
