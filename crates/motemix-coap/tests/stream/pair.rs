//! Two sides of a connection, and a clock that goes as fast as it is told to.

use std::time::Duration;

use motemix_coap::stream::{Carriage, End, Frame, Incoming, Session, Settings, Signal};
use motemix_coap::{Code, Peer, Response, Token, format};
use motemix_time::Instant;

pub const CARRIAGES: [Carriage; 2] = [Carriage::Bytes, Carriage::WebSocket];

pub struct Pair {
    pub now: Instant,
    pub client: Session,
    pub server: Session,
    carriage: Carriage,
}

impl Pair {
    pub fn new(carriage: Carriage) -> Self {
        Self::with(carriage, Settings::default())
    }

    pub fn with(carriage: Carriage, server: Settings) -> Self {
        let now = Instant::default();
        let client = Session::new(Settings::default(), carriage, Peer::Stream(1), now);
        let server = Session::new(server, carriage, Peer::Stream(2), now);
        Self { now, client, server, carriage }
    }

    /// Carries all there is both ways.
    pub fn carry(&mut self) {
        while self.carry_there() | self.carry_back() {}
    }

    pub fn carry_there(&mut self) -> bool {
        carry(self.now, self.carriage, &mut self.client, &mut self.server)
    }

    pub fn carry_back(&mut self) -> bool {
        carry(self.now, self.carriage, &mut self.server, &mut self.client)
    }

    pub fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.client.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
    }

    /// The server answers the next request with `response`.
    pub fn answer(&mut self, response: &Response, observing: bool) -> Incoming {
        let incoming = self.server.poll_request().expect("a request");
        self.server.respond(self.now, incoming.ticket, response, observing);
        incoming
    }
}

fn carry(now: Instant, carriage: Carriage, from: &mut Session, to: &mut Session) -> bool {
    let mut moved = false;
    while let Some(bytes) = from.poll_transmit() {
        give(now, carriage, to, &bytes);
        moved = true;
    }
    moved
}

/// What comes at the end is nothing to a side that has ended.
pub fn give(now: Instant, carriage: Carriage, to: &mut Session, bytes: &[u8]) {
    let _ = match carriage {
        Carriage::Bytes => to.handle_bytes(now, bytes),
        Carriage::WebSocket => to.handle_message(now, bytes),
    };
}

pub fn content(text: &str) -> Response {
    Response::content(Code::CONTENT, format::TEXT, text.as_bytes())
}

/// A side whose peer is written by hand.
pub struct Alone {
    pub now: Instant,
    pub session: Session,
    carriage: Carriage,
}

impl Alone {
    pub fn new(carriage: Carriage, settings: Settings) -> Self {
        let now = Instant::default();
        let session = Session::new(settings, carriage, Peer::Stream(7), now);
        Self { now, session, carriage }
    }

    /// The other side has said what it can do.
    pub fn introduced(carriage: Carriage, settings: Settings) -> Self {
        let mut alone = Self::new(carriage, settings);
        alone.say(&csm(None).to_frame(Token::default()));
        alone.sent();
        alone
    }

    pub fn say(&mut self, frame: &Frame) {
        let bytes = match self.carriage {
            Carriage::Bytes => frame.to_stream(),
            Carriage::WebSocket => frame.to_message(),
        };
        self.say_bytes(&bytes);
    }

    pub fn say_bytes(&mut self, bytes: &[u8]) {
        give(self.now, self.carriage, &mut self.session, bytes);
    }

    pub fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.session.handle_timeout(self.now);
    }

    /// All that it sends.
    pub fn sent(&mut self) -> Vec<Frame> {
        let read = |bytes: Vec<u8>| match self.carriage {
            Carriage::Bytes => {
                let (frame, len) = Frame::of_stream(&bytes, usize::MAX).expect("a frame").expect("all of it");
                assert_eq!(len, bytes.len());
                frame
            }
            Carriage::WebSocket => Frame::of_message(&bytes, usize::MAX).expect("a frame"),
        };
        std::iter::from_fn(|| self.session.poll_transmit()).map(read).collect()
    }

    /// It ended so, and told the peer so.
    #[track_caller]
    pub fn aborted(&mut self, because: &End) {
        assert_eq!(self.session.end(), Some(because));
        let frames = self.sent();
        let last = frames.last().map(|frame| Signal::of_frame(frame).expect("a signal"));
        let Some(Some(Signal::Abort { diagnostic, .. })) = last else { panic!("no Abort: {frames:?}") };
        assert_eq!(diagnostic, because.to_string());
        assert!(self.session.is_over());
    }
}

pub fn csm(max_message_size: Option<u32>) -> Signal {
    Signal::Csm { max_message_size, block_wise: false }
}

pub fn frame(code: u8, token: &[u8], rest: &[u8]) -> Frame {
    Frame { code, token: Token::new(token).expect("short"), rest: rest.to_vec() }
}
