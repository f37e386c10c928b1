//! A mix: delays packets and sends them on, and checks with loops that it still gets through.

use motemix_node::Instant;
use rand_core::CryptoRng;

use super::core::{Core, Route, Taken};
use super::loops::{OwnLoops, for_me, patience};
use super::peers::{Duty, Peer, of_mix, of_provider};
use super::stream::{Stream, one_of};
use super::{Counters, DropReason, Hosts, Role, Setup, SetupError, Transmit};
use crate::files::{Directory, NodeEntry};
use crate::wire::hardened::Payload;
use crate::wire::message::LOOP;

/// See the module's text.
pub struct Mix<R> {
    pub(super) core: Core,
    pub(super) rng: R,
    loops: Stream,
    own_loops: OwnLoops,
}

impl<R: CryptoRng> Mix<R> {
    /// A mix.
    ///
    /// # Errors
    /// The entry is no mix's, or its layer has no mix in the directory.
    pub fn new(setup: Setup, now: Instant, rng: R) -> Result<Self, SetupError> {
        setup.check()?;
        let NodeEntry::Mix(mix) = &setup.me else { return Err(SetupError::WrongRole) };
        let layer = setup.directory.layer_numbered(mix.layer).ok_or(SetupError::Unlisted)?;
        let me = of_mix(mix, layer);
        Ok(Self::with(setup, me, now, rng))
    }

    /// What of a provider a mix is, too.
    pub(super) fn of_provider(setup: Setup, now: Instant, rng: R) -> Result<Self, SetupError> {
        setup.check()?;
        let NodeEntry::Provider(provider) = &setup.me else { return Err(SetupError::WrongRole) };
        let me = of_provider(provider);
        Ok(Self::with(setup, me, now, rng))
    }

    fn with(setup: Setup, me: Peer, now: Instant, mut rng: R) -> Self {
        let loops = Stream::new(setup.rates.loops, now, &mut rng);
        let key = OwnLoops::key(&setup.secret);
        let core = Core::new(setup, me);
        let own_loops = OwnLoops::new(key, patience(&core));
        Self { core, rng, loops, own_loops }
    }

    /// Takes over a directory in place of the one it was made with. A node that is not in it stays
    /// what it was.
    pub fn set_directory(&mut self, directory: &Directory) {
        self.core.set_directory(directory);
        if matches!(self.core.me.duty, Duty::Mix { .. })
            && let Some(mix) = directory.mix(&self.core.me.name)
            && let Some(layer) = directory.layer_numbered(mix.layer)
        {
            self.core.me.duty = Duty::Mix { layer };
        }
    }

    /// How many packets wait for their time.
    pub fn waiting(&self) -> usize {
        self.core.waiting()
    }

    /// Takes a payload that is for this node. `false` if it is no loop of ours.
    pub(super) fn take_loop(&mut self, payload: &[u8]) -> bool {
        let noise = if self.core.is_hardened() {
            match Payload::parse(payload) {
                Some(Payload::Loop(nonce)) => Some(nonce.to_vec()),
                _ => None,
            }
        } else {
            for_me(&self.core, payload).and_then(|message| Some(message.after(LOOP)?.to_vec()))
        };
        noise.is_some_and(|noise| self.own_loops.take(&noise, &mut self.core.counters))
    }

    fn take(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason> {
        match self.core.take(now, datagram)? {
            Taken::Done => Ok(()),
            Taken::Payload(payload) if self.take_loop(&payload) => Ok(()),
            // The originals take nothing else either.
            Taken::Payload(_) | Taken::ForUser { .. } | Taken::Reply { .. } => {
                Err(DropReason::NotForThisRole)
            }
        }
    }

    fn send_loop(&mut self, now: Instant) {
        let Self { core, rng, own_loops, .. } = self;
        let payload = own_loops.begin(core, rng);
        let layers = core.peers.layers.len();
        let mut hops = Vec::new();
        match core.me.duty {
            // Around the network: the layers behind this one, a provider, and the layers before
            // this one.
            Duty::Mix { layer } => {
                hops.extend(core.mixes(layer + 1..layers, rng));
                let providers = &core.peers.providers;
                if !providers.is_empty() {
                    hops.push(&core.peers.all[*one_of(providers, rng)]);
                }
                hops.extend(core.mixes(0..layer, rng));
            }
            _ => hops.extend(core.mixes(0..layers, rng)),
        }
        hops.push(&core.me);
        let first = hops[0].address.clone();
        // Names that fill the header are refused when the directory is read.
        if let Ok(packet) = core.create(&Route::new(hops), &payload, rng)
            && core.queue(now, first, packet).is_ok()
        {
            own_loops.left(now, &mut core.counters);
        }
    }

    pub(super) fn do_due(&mut self, now: Instant) {
        while self.loops.take(now, &mut self.rng) {
            self.send_loop(now);
        }
    }

    pub(super) fn pop(&mut self, now: Instant) -> Option<Transmit> {
        self.core.pop(now)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        [self.core.due(), self.loops.due()].into_iter().flatten().min()
    }
}

impl<R: CryptoRng> Role for Mix<R> {
    fn max_datagram_len(&self) -> usize {
        self.core.format.datagram_len()
    }

    fn handle_datagram(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason> {
        self.core.counters.received += 1;
        self.take(now, datagram).map_err(|reason| self.core.counters.drop_for(reason))
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.do_due(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let transmit = self.pop(now);
        self.core.counters.sent += u64::from(transmit.is_some());
        transmit
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due()
    }

    fn restore(&mut self, tags: &[u64]) {
        self.core.restore(tags);
    }

    fn take_admitted(&mut self) -> Vec<u64> {
        self.core.take_admitted()
    }

    fn set_hosts(&mut self, hosts: Hosts) {
        self.core.set_hosts(hosts);
    }

    fn flushed(&mut self, _now: Instant) {}

    fn counters(&self) -> &Counters {
        &self.core.counters
    }
}
