//! Whether a message of a WebSocket has begun that is not whole: its library says nothing before.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// What ends the head of a request of HTTP; frames follow.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// Where in its frames a WebSocket is (RFC 6455 §5.2).
#[derive(Debug, Default)]
struct Frames {
    /// Bytes of [`HEAD_END`] that have come.
    shaken: usize,
    /// The head of the frame, as much of it as is here.
    head: Vec<u8>,
    /// Bytes of the frame's payload that are not.
    left: u64,
    /// Whether the message goes on in another frame.
    is_open: bool,
    /// When the message began that is not whole.
    since: Option<Instant>,
}

impl Frames {
    fn take(&mut self, now: Instant, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.shaken < HEAD_END.len() {
                let is_next = *first == HEAD_END[self.shaken];
                self.shaken = if is_next { self.shaken + 1 } else { usize::from(*first == HEAD_END[0]) };
                bytes = rest;
                continue;
            }
            self.since.get_or_insert(now);
            if self.left > 0 {
                let len = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                bytes = &bytes[len..];
                self.left -= len as u64;
            } else {
                self.head.push(*first);
                bytes = rest;
                let Some(payload) = payload_of(&self.head) else { continue };
                // Control frames may stand between those of a message.
                if self.head[0] & 0x08 == 0 {
                    self.is_open = self.head[0] & 0x80 == 0;
                }
                self.head.clear();
                self.left = payload;
            }
            if self.left == 0 && !self.is_open {
                self.since = None;
            }
        }
    }
}

/// How long a frame's payload is, if its head is whole.
fn payload_of(head: &[u8]) -> Option<u64> {
    let [_, second, rest @ ..] = head else { return None };
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    let (payload, len) = match second & 0x7f {
        126 => (u16::from_be_bytes(*rest.first_chunk()?).into(), 2),
        127 => (u64::from_be_bytes(*rest.first_chunk()?), 8),
        short => (short.into(), 0),
    };
    (rest.len() == len + mask).then_some(payload)
}

/// Tells when a message takes too long.
#[derive(Debug, Clone, Default)]
pub(super) struct Begun(Arc<(Mutex<Frames>, Notify)>);

impl Begun {
    fn frames(&self) -> MutexGuard<'_, Frames> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Done when a message has begun so long ago and is not whole.
    pub(super) async fn is_late(&self, patience: Duration) {
        loop {
            let since = self.frames().since;
            let Some(since) = since else {
                self.0.1.notified().await;
                continue;
            };
            sleep_until(since + patience).await;
            if self.frames().since == Some(since) {
                return;
            }
        }
    }

    /// Nobody read for a while, for which the other side can do nothing.
    pub(super) fn go_on(&self) {
        if let Some(since) = &mut self.frames().since {
            *since = Instant::now();
        }
    }
}

/// A stream that is looked at while it is read.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    begun: Begun,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S) -> (Self, Begun) {
        let begun = Begun::default();
        (Self { stream, begun: begun.clone() }, begun)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Some(bytes @ [_, ..]) = buffer.filled().get(before..) {
            self.begun.frames().take(Instant::now(), bytes);
            self.begun.0.1.notify_one();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// A frame of a client: first byte, and so much payload.
    fn frame(first: u8, len: usize) -> Vec<u8> {
        let mut bytes = match len {
            0..126 => vec![first, 0x80 | len as u8],
            126..0x1_0000 => [&[first, 0xfe][..], &(len as u16).to_be_bytes()].concat(),
            _ => [&[first, 0xff][..], &(len as u64).to_be_bytes()].concat(),
        };
        // Whatever the mask and the payload are, they are no heads.
        bytes.extend(vec![0x81; 4 + len]);
        bytes
    }

    const SHAKEN: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\r\n\r\n";

    #[test]
    fn a_websocket_s_message_has_begun_with_its_first_byte_until_its_last() {
        for len in [0, 1, 125, 126, 300, 70_000] {
            let start = Instant::now();
            let at = |second: u64| start + Duration::from_secs(second);
            let mut frames = Frames::default();
            frames.take(at(0), SHAKEN);
            assert_eq!(frames.since, None);
            let whole = frame(0x82, len);
            frames.take(at(1), &whole);
            assert_eq!(frames.since, None, "{len}");
            // The rest of one and the beginning of the next come together.
            frames.take(at(2), &whole[..1]);
            frames.take(at(3), &whole[1..3]);
            assert_eq!(frames.since, Some(at(2)));
            frames.take(at(4), &[&whole[3..], &whole[..2]].concat());
            assert_eq!(frames.since, Some(at(4)));
            frames.take(at(5), &whole[2..]);
            assert_eq!(frames.since, None);
            // In parts, with a Ping between them.
            frames.take(at(6), &frame(0x02, len));
            frames.take(at(7), &frame(0x89, 4));
            frames.take(at(8), &frame(0x00, len));
            assert_eq!(frames.since, Some(at(6)));
            frames.take(at(9), &frame(0x80, len));
            assert_eq!(frames.since, None);
        }
    }

    #[tokio::test]
    async fn a_websocket_s_message_that_drips_is_late_whatever_has_come() {
        let (mut near, far) = tokio::io::duplex(64);
        let (mut watched, begun) = Watched::new(far);
        let dripping = async {
            near.write_all(SHAKEN).await.unwrap();
            near.write_all(&frame(0x82, 100)[..40]).await.unwrap();
            for _ in 0..60 {
                near.write_all(&[0]).await.unwrap();
                tokio::task::yield_now().await;
            }
            std::future::pending::<()>().await;
        };
        let reading = async { while watched.read(&mut [0; 7]).await.unwrap() > 0 {} };
        tokio::select! {
            () = begun.is_late(Duration::from_millis(20)) => {}
            () = dripping => {}
            () = reading => panic!("it does not end"),
        }
    }
}
