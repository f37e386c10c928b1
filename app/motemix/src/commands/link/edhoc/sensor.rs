//! A sensor in the mode `edhoc`.

use super::{Asking, Host, Shakes, carried};
use crate::commands::link::sensor::{Air, LOOK, is_for_many, stopped, unacknowledged};
use crate::commands::link::{Clock, in_hex, rng};
use motemix_neighbour::datagram::{Content, Datagram, Name, OVERHEAD, SecurityContext};
use motemix_neighbour::handshakes::{self, Event, HandshakeDrop, Peer, is_for_caller};
use motemix_os::rng::HostRng;
use motemix_program::cli::LinkSensor as Args;
use motemix_program::failure::Failure;
use rand_core::Rng;
use std::sync::atomic::Ordering;

/// Tries of each message under one key.
const TRIES: u32 = 5;
/// A sensor calls one router.
const ROUTER: Peer = Peer([1; 8]);

pub struct Sensor {
    host: Host,
    rng: HostRng,
    length: usize,
    renew_after: u32,
    clock: Clock,
    handshakes: Shakes,
    session: Option<(SecurityContext, String)>,
}

impl Sensor {
    pub fn new(args: &Args) -> Result<Self, Failure> {
        if is_for_many(args.to) {
            return Err(Failure::broken("--to: the mode edhoc needs the address of one router"));
        }
        let (host, mut rng) = (Host::new(&args.neighbours)?, rng()?);
        let handshakes = host.handshakes(&mut rng);
        let (length, renew_after) = (args.neighbours.length().into(), args.renew_after);
        Ok(Self { host, rng, length, renew_after, clock: Clock::start(), handshakes, session: None })
    }

    /// Bytes of the longest text.
    pub fn most_text(&self) -> usize {
        self.length - OVERHEAD
    }

    /// Delivers a text; who acknowledged it.
    pub fn say(&mut self, air: &mut Air, text: &[u8]) -> Result<String, Failure> {
        let mut name = [0; _];
        self.rng.fill_bytes(&mut name);
        let session = match self.session.take() {
            None => self.call(air)?,
            Some((old, peer)) if old.sealed() >= self.renew_after => {
                let renewed = self.call(air);
                // The old key is good until it ends.
                if renewed.is_err() && !old.has_ended() { (old, peer) } else { renewed? }
            }
            Some(session) => session,
        };
        if let Some(peer) = self.deliver(air, session, name, text)? {
            return Ok(peer);
        }
        // The router has restarted: it has no keys.
        let session = self.call(air).map_err(|failure| stopped(air.to(), failure))?;
        self.deliver(air, session, name, text)?.ok_or_else(|| unacknowledged(air.to()))
    }

    /// Sends a text until it is acknowledged. A session in which it never is has ended.
    fn deliver(
        &mut self,
        air: &mut Air,
        (mut context, peer): (SecurityContext, String),
        name: Name,
        text: &[u8],
    ) -> Result<Option<String>, Failure> {
        let mut datagram = vec![0; self.length];
        let number = context.seal(&Content::Text { name, text }, &mut datagram).map_err(Failure::failed)?;
        let mut room = vec![0; self.length];
        let acknowledged = air.ask(&datagram, TRIES, |answer| {
            let Ok(Datagram::Protected(protected)) = Datagram::parse(answer) else { return None };
            let opened = context.open(&protected, &mut room).ok()?;
            (opened.1 == Content::Receipt(number)).then_some(())
        })?;
        if acknowledged.is_none() {
            return Ok(None);
        }
        self.session = Some((context, peer.clone()));
        Ok(Some(peer))
    }

    /// A handshake. It ends within 14 seconds.
    fn call(&mut self, air: &mut Air) -> Result<(SecurityContext, String), Failure> {
        let called = self.make_keys(air);
        air.look_after(air.wait.min(LOOK))?;
        called
    }

    fn make_keys(&mut self, air: &mut Air) -> Result<(SecurityContext, String), Failure> {
        let asking = self.host.asking(air.to().to_string());
        self.handshakes.call(self.clock.now(), ROUTER, &asking);
        let before = *self.handshakes.counters();
        loop {
            if air.interrupted.load(Ordering::Relaxed) {
                return Err(Failure::failed("interrupted"));
            }
            while self.handshakes.work(self.clock.now(), &asking, &mut self.rng) {}
            self.handshakes.handle_timeout(self.clock.now());
            while let Some(transmit) = self.handshakes.poll_transmit(self.clock.now()) {
                air.send(&carried(&transmit, self.length)?)?;
            }
            match self.handshakes.poll_event() {
                Some(Event::Key { key, role, .. }) => {
                    let identity = asking.proved.get().ok_or_else(|| Failure::failed("nobody was proved"))?;
                    asking.learn(&identity, air.to())?;
                    return Ok((SecurityContext::new(key, role), in_hex(&identity)));
                }
                Some(Event::Failed { reason, .. }) => {
                    let counters = self.handshakes.counters();
                    let has = |reason| counters.dropped(reason) > before.dropped(reason);
                    return Err(failure(&asking, air, reason, has));
                }
                None => {}
            }
            let to = air.to();
            let due = self.handshakes.poll_timeout().map(|due| due - self.clock.now());
            air.look_after(due.unwrap_or(LOOK).min(LOOK))?;
            let Some((datagram, from)) = air.receive()? else { continue };
            match Datagram::parse(&datagram) {
                Ok(Datagram::Handshake(message))
                    if from == to && datagram.len() == self.length && is_for_caller(message) =>
                {
                    // What is dropped is counted.
                    let _ = self.handshakes.handle(self.clock.now(), ROUTER, message, &asking);
                }
                _ => air.overhear(datagram, from)?,
            }
        }
    }
}

/// One line on why there are no keys.
fn failure(
    asking: &Asking,
    air: &Air,
    reason: handshakes::Failure,
    has: impl Fn(HandshakeDrop) -> bool,
) -> Failure {
    let to = air.to();
    Failure::failed(match reason {
        handshakes::Failure::Silent => format!(
            "no answer from {to}; check that a router listens there with the same --mode and --length"
        ),
        handshakes::Failure::Unconfirmed => format!(
            "{to} proved its identity and did not confirm this node's; check that it is started with --admit {}",
            in_hex(&asking.host.public)
        ),
        _ => match asking.refusal(to) {
            Some((_, line)) => line,
            None if has(HandshakeDrop::PublicKey) => {
                format!("{to} answers with a key that is no point of the curve")
            }
            None if has(HandshakeDrop::Unproved) => {
                format!(
                    "{to} answers, but proves nothing: altered on the way, or it has not the key that it shows"
                )
            }
            None => format!("{to} answered once and then no more: {reason}"),
        },
    })
}
