//! What a corrupt mote does besides its duty.

use super::Tally;
use crate::adversary::fingerprint;
use crate::attack::Plan;
use crate::scenario::AttackKind;
use chacha20::ChaCha8Rng;
use motemix_air::Instant;
use motemix_mote::Link;
use motemix_node::Counters;
use rand_core::Rng as _;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV6;
use std::rc::Rc;
use std::time::Duration;

/// The first bytes of a packet's group element. It leaves as it was unwrapped, whatever becomes of
/// the payload.
type Element = [u8; 8];

/// A packet that came.
#[derive(Clone, Copy)]
struct Came {
    fingerprint: u64,
    /// It brought a message for this mote.
    is_message: bool,
}

/// A packet that is held up.
struct Held {
    until: Instant,
    to: SocketAddrV6,
    datagram: Vec<u8>,
}

/// Packets of others that a node has taken in and that were no messages for it.
pub(super) fn passed_on(counters: &Counters) -> u64 {
    counters.forwarded + counters.turned_empty
}

/// Sees what a corrupt mote takes in and what leaves it, and does the attack that is its own.
pub(crate) struct Spy {
    plan: Option<Rc<Plan>>,
    rng: RefCell<ChaCha8Rng>,
    /// Packets that came, by their group elements when they leave.
    came: RefCell<BTreeMap<Element, Came>>,
    passed: RefCell<Vec<(u64, u64)>>,
    held: RefCell<VecDeque<Held>>,
    dropped: Cell<u64>,
    held_up: Cell<u64>,
}

impl Spy {
    pub fn new(plan: Option<Rc<Plan>>, rng: ChaCha8Rng) -> Self {
        Self {
            plan,
            rng: RefCell::new(rng),
            came: RefCell::default(),
            passed: RefCell::default(),
            held: RefCell::default(),
            dropped: Cell::new(0),
            held_up: Cell::new(0),
        }
    }

    /// A packet was taken in, and this was made of it.
    pub fn took_in(&self, fingerprint: u64, is_message: bool, made: &[u8]) {
        if let Some(element) = made.first_chunk() {
            self.came.borrow_mut().insert(*element, Came { fingerprint, is_message });
        }
    }

    /// A packet is to leave. `false` if it does not, now or ever.
    pub fn lets_leave(&self, now: Instant, to: SocketAddrV6, datagram: &[u8]) -> bool {
        let Some(came) = datagram.first_chunk().and_then(|element| self.came.borrow_mut().remove(element))
        else {
            return true;
        };
        let chosen = |share: f64| f64::from(self.rng.borrow_mut().next_u32()) < share * 4_294_967_296.0;
        let attack = self.plan.as_ref().filter(|plan| plan.is_on(now)).map(|plan| &plan.attack);
        let kind = attack.filter(|attack| chosen(attack.share)).map(|attack| attack.kind);
        if kind == Some(AttackKind::Drop) || kind == Some(AttackKind::Withhold) && came.is_message {
            self.dropped.set(self.dropped.get() + 1);
            return false;
        }
        self.passed.borrow_mut().push((came.fingerprint, fingerprint(datagram)));
        if kind == Some(AttackKind::Delay) {
            self.held_up.set(self.held_up.get() + 1);
            let until = now + attack.map_or(Duration::ZERO, |attack| attack.held_up.0);
            self.held.borrow_mut().push_back(Held { until, to, datagram: datagram.to_vec() });
            return false;
        }
        true
    }

    /// When the next packet that is held up leaves. For one that is due and finds the link busy,
    /// the link wakes its mote.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        self.held.borrow().front().map(|held| held.until).filter(|until| *until > now)
    }

    /// Sends on what was held up for long enough.
    pub fn send_held_up(&self, now: Instant, link: &mut impl Link) {
        while link.can_send()
            && let Some(held) = self.held.borrow_mut().pop_front_if(|held| held.until <= now)
        {
            link.send(held.to, &held.datagram);
        }
    }

    /// Tells all that was seen and done.
    pub fn confess(&self, tally: &mut Tally) {
        tally.passed.append(&mut self.passed.borrow_mut());
        tally.betrayed = [self.dropped.get(), self.held_up.get()];
    }
}
