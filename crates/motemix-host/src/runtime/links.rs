//! The sockets of a node: one for each address family that it speaks.

use std::future::{self, Future as _};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::pin::pin;
use std::task::Poll;

use super::RuntimeError;
use crate::documents::NetworkNode;
use crate::link::{BATCH, Batch, LinkCounters, Outbox, Outgoing, UdpLink};

/// One or two sockets.
#[derive(Debug)]
pub(super) struct Links(Vec<UdpLink>);

impl Links {
    /// Takes over `sockets` if there are any, else binds `addresses`.
    pub(super) fn open(addresses: &[SocketAddr], sockets: Vec<UdpSocket>) -> Result<Self, RuntimeError> {
        if !sockets.is_empty() {
            let taken = sockets.into_iter().map(UdpLink::from_std).collect::<io::Result<_>>();
            return taken.map(Self).map_err(|error| RuntimeError::System("an inherited socket", error));
        }
        let bind =
            |&address| UdpLink::bind(address).map_err(|error| RuntimeError::Bind("listen", address, error));
        addresses.iter().map(bind).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(UdpLink::local_addr).collect()
    }

    /// The node's preferred address among those that a socket here can reach.
    pub(super) fn route(&self, node: &NetworkNode) -> Option<SocketAddr> {
        let reaches = |to: &SocketAddr| self.0.iter().any(|link| same_family(link.local_addr(), *to));
        node.addresses.iter().copied().find(reaches)
    }

    /// Waits until datagrams may be there.
    pub(super) async fn readable(&self) -> io::Result<()> {
        let first = self.0.first().map(UdpLink::readable);
        let second = self.0.get(1).map(UdpLink::readable);
        match (first, second) {
            (Some(first), Some(second)) => {
                let (mut first, mut second) = (pin!(first), pin!(second));
                future::poll_fn(|context| match first.as_mut().poll(context) {
                    Poll::Pending => second.as_mut().poll(context),
                    ready @ Poll::Ready(_) => ready,
                })
                .await
            }
            (Some(one), _) | (_, Some(one)) => one.await,
            (None, None) => future::pending().await,
        }
    }

    /// Hands each batch that is there, at most one for each socket, to `take`.
    pub(super) fn receive(&self, batch: &mut Batch, mut take: impl FnMut(&mut Batch)) -> io::Result<bool> {
        let mut any = false;
        for link in &self.0 {
            if link.try_recv_batch(batch)? > 0 {
                any = true;
                take(batch);
            }
        }
        Ok(any)
    }

    /// Sends everything in the outbox.
    pub(super) async fn flush(&self, outbox: &mut Outbox) -> io::Result<()> {
        let nowhere = Outgoing { to: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), bytes: &[] };
        for link in &self.0 {
            let mut datagrams = [nowhere; BATCH];
            let of_family = outbox.datagrams().filter(|outgoing| same_family(link.local_addr(), outgoing.to));
            let count =
                datagrams.iter_mut().zip(of_family).map(|(place, outgoing)| *place = outgoing).count();
            link.send_batch(datagrams.get(..count).unwrap_or_default()).await?;
        }
        outbox.clear();
        Ok(())
    }

    pub(super) fn counters(&self) -> LinkCounters {
        let mut sum = LinkCounters::default();
        for counters in self.0.iter().map(UdpLink::counters) {
            sum.received += counters.received;
            sum.sent += counters.sent;
            sum.send_errors += counters.send_errors;
            sum.receive_errors += counters.receive_errors;
        }
        sum
    }
}

fn same_family(one: SocketAddr, other: SocketAddr) -> bool {
    one.is_ipv4() == other.is_ipv4()
}
