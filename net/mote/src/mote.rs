//! A mote that stands still, and what it keeps.

use core::marker::PhantomData;
use core::net::SocketAddrV6;
use core::time::Duration;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_crypto::{Curve as _, PublicKey, Secret};
use motemix_directory::{AuthenticDocument, Epoch, KeyRatchet, NetworkDocument, UnixTime};
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::{PORT, link_local};
use motemix_node::{Instant, WindowKey};
use motemix_sphinx::{MessageId, Profile};
use rand_core::CryptoRng;

use crate::console::Line;
use crate::network::{self, InForce, PlaceInNetwork, Refusal, Trust, name_of};
use crate::store::{DocumentHead, Layout, MAX_AUTHORITIES, Store, StoreError};

pub(crate) mod device;
mod devices;
pub(crate) mod talk;

use devices::Judged;

/// What outlives a restart, and the line that is being typed.
pub struct Mote<P, F, R> {
    pub(crate) store: Store<F>,
    pub(crate) ratchet: KeyRatchet,
    /// The key of a later epoch, on the way to a document's. In flash it moves when that begins.
    ahead: Option<KeyRatchet>,
    trust: Option<Trust>,
    /// The network of the document that was kept last. Whoever gives authorities may change it.
    network: Option<u64>,
    address: ExtendedAddress,
    /// Where others send to.
    reached_at: SocketAddrV6,
    pub(crate) random: R,
    /// How much of a network document has been given.
    document: Option<usize>,
    /// 1970 on the board's clock.
    pub(crate) clock: Option<ClockOffset>,
    pub(crate) line: Line,
    /// What became of readings.
    judged: Judged,
    profile: PhantomData<P>,
}

/// The most epochs that a key is derived ahead at a time, at two hashes each: on a Cortex-M0 as
/// long as one scalar multiplication, so that no line that is typed holds a board up.
pub const RATCHET_STEPS: u32 = 1024;

/// Seconds between 1970 and the start of the board's clock.
#[derive(Clone, Copy)]
pub(crate) struct ClockOffset(u64);

impl ClockOffset {
    pub(crate) fn at(self, now: Instant) -> UnixTime {
        UnixTime(self.0.saturating_add(now.as_micros() / 1_000_000))
    }

    /// When it will be a time; now, if that has passed.
    pub(crate) fn when(self, now: Instant, time: UnixTime) -> Instant {
        now + Duration::from_secs(time.0.saturating_sub(self.at(now).0))
    }
}

/// Somebody typed `start`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartAsked(());

impl StartAsked {
    /// Nobody has to type it where there is no console.
    pub const fn without_console() -> Self {
        Self(())
    }
}

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng> Mote<P, F, R> {
    /// Opens the flash, and makes address and key if it has none.
    ///
    /// # Errors
    /// The flash does not work, or is full.
    pub fn new(flash: F, layout: Layout, mut random: R) -> Result<Self, StoreError> {
        let mut store = Store::open(flash, layout)?;
        let address = store.address()?.map_or_else(|| make_address(&mut store, &mut random), Ok)?;
        let ratchet = store.ratchet()?.map_or_else(|| make_ratchet(&mut store, &mut random), Ok)?;
        let mut keys = [[0; 32]; MAX_AUTHORITIES];
        let known = store.authorities(&mut keys)?.map(|(threshold, known)| (threshold, known.len()));
        let trust = known.map(|(threshold, count)| Trust { threshold, keys, count });
        let network = store.document_head()?.map(|head| head.network).filter(|name| *name != 0);
        Ok(Self {
            store,
            ratchet,
            ahead: None,
            trust,
            network,
            address: ExtendedAddress(address),
            reached_at: SocketAddrV6::new(link_local(ExtendedAddress(address)), PORT, 0, 0),
            random,
            document: None,
            clock: None,
            line: Line::new(),
            judged: Judged::default(),
            profile: PhantomData,
        })
    }

    /// The radio's address.
    pub const fn address(&self) -> ExtendedAddress {
        self.address
    }

    /// Tells authorities, with `key`, that others send to this address instead of the one that
    /// follows from the radio's: an operating system has addresses of its own.
    pub const fn set_reached_at(&mut self, address: SocketAddrV6) {
        self.reached_at = address;
    }

    /// What a node's window is to be keyed with.
    #[inline(never)]
    pub fn draw_window_key(&mut self) -> WindowKey {
        WindowKey::draw(&mut self.random)
    }

    /// Sets the clock.
    pub fn set_clock(&mut self, now: Instant, time: UnixTime) {
        self.clock = Some(ClockOffset(time.0.saturating_sub(now.as_micros() / 1_000_000)));
    }

    /// Takes network documents that `threshold` of these authorities signed. The keys are checked
    /// before they are kept, so that wrong ones never take the place of the right ones. The
    /// next document may be of another network.
    ///
    /// # Errors
    /// They are no keys, they are too many, or the flash does not work.
    pub fn trust(&mut self, threshold: u8, known: &[[u8; 32]]) -> Result<(), Refusal> {
        let mut keys = [[0; 32]; MAX_AUTHORITIES];
        keys.get_mut(..known.len()).ok_or(Refusal::BadAuthority)?.copy_from_slice(known);
        let trust = Trust { threshold, keys, count: known.len() };
        trust.check()?;
        self.store.keep_authorities(threshold, known)?;
        (self.trust, self.network) = (Some(trust), None);
        Ok(())
    }

    /// Trusts these authorities and those that were trusted before: [`MAX_AUTHORITIES`] in all.
    ///
    /// # Errors
    /// As for [`trust`](Self::trust).
    pub fn trust_also(&mut self, threshold: u8, given: &[[u8; 32]]) -> Result<(), Refusal> {
        let before = self.trust;
        let before = before.as_ref().and_then(|trust| trust.keys.get(..trust.count)).unwrap_or_default();
        let mut all = heapless::Vec::<[u8; 32], MAX_AUTHORITIES>::new();
        let fit = all.extend_from_slice(before).and_then(|()| all.extend_from_slice(given));
        fit.map_err(|_| Refusal::BadAuthority)?;
        self.trust(threshold, &all)
    }

    /// The public key of an epoch, for an authority. The first epoch that is asked for, if no
    /// document was kept before, is the first that this mote has a key of.
    ///
    /// # Errors
    /// The epoch has passed or is too far ahead, or the flash does not work.
    #[inline(never)]
    pub fn public_key(&mut self, epoch: Epoch) -> Result<PublicKey, Refusal> {
        let unused = self.ratchet.epoch() == Epoch(0)
            && self.store.newest_epoch()?.is_none()
            && self.store.document_head()?.is_none();
        if unused && epoch != Epoch(0) {
            // A key that has not been used has no epoch yet; it begins with its first.
            let ratchet = KeyRatchet::new(epoch, Secret::new(*self.ratchet.expose_seed()));
            self.store.keep_ratchet(&ratchet)?;
            (self.ratchet, self.ahead) = (ratchet, None);
        }
        Ok(P::Curve::public_key(&self.secret_of(epoch)?))
    }

    /// Checks a network document, finds this node in it, and keeps it, so that a wrong one never
    /// takes the place of the right one. Its epoch, and how many nodes it has. Nothing is
    /// remembered of one that is refused, and no other is older than this one before it begins.
    ///
    /// # Errors
    /// It is not of this time, its authorities are not trusted, it is of another network, this node
    /// is not in it, or it is too long. [`Refusal::KeyMoved`]: call again with the same document.
    #[inline(never)]
    pub fn keep_document(&mut self, now: Instant, bytes: &[u8]) -> Result<(Epoch, usize), Refusal> {
        let (head, nodes) = self.check_document(now, bytes)?;
        self.store.keep_document(bytes, head)?;
        self.network = Some(head.network);
        Ok((head.epoch, nodes))
    }

    // Not inlined: what a check needs on the stack must not add to what the flash needs.
    #[inline(never)]
    fn check_document(&mut self, now: Instant, bytes: &[u8]) -> Result<(DocumentHead, usize), Refusal> {
        let time = self.clock.ok_or(Refusal::NoClock)?.at(now);
        let newest = self.store.newest_epoch()?;
        let place = self.find_in_bytes(bytes, time, newest, InForce::Now)?;
        Ok((place.head(), place.document.node_count()))
    }

    /// Checks a document, and finds this node in it. One function for all that do so: a check of
    /// signatures is much code.
    #[inline(never)]
    fn find_in_bytes<'s>(
        &mut self,
        bytes: &'s [u8],
        time: UnixTime,
        newest: Option<Epoch>,
        in_force: InForce,
    ) -> Result<PlaceInNetwork<'s>, Refusal> {
        let document = self.trust.as_ref().ok_or(Refusal::NoTrust)?.authenticate(bytes)?;
        self.find_in_authentic(document, time, newest, in_force)
    }

    #[inline(never)]
    fn find_in_authentic<'s>(
        &mut self,
        document: AuthenticDocument<'s>,
        time: UnixTime,
        newest: Option<Epoch>,
        in_force: InForce,
    ) -> Result<PlaceInNetwork<'s>, Refusal> {
        let document = network::admit::<P>(document, time, newest, in_force)?;
        // Before the key moves: a document of another network must move nothing.
        self.check_network(&document)?;
        let secret = self.reach(document.epoch())?;
        PlaceInNetwork::find::<P::Curve>(document, secret)
    }

    /// Takes the message that has been in flash longest out of it; its data is in `out`.
    ///
    /// # Errors
    /// The flash does not work, or `out` is too short.
    pub fn take_message<'b>(
        &mut self,
        out: &'b mut [u8],
    ) -> Result<Option<(MessageId, &'b [u8])>, StoreError> {
        let Some((id, data)) = self.store.oldest_message(out)? else { return Ok(None) };
        self.store.remove_oldest_message()?;
        Ok(Some((id, data)))
    }

    /// The message that has been in flash longest; its data is in `out`. It stays until
    /// [`forget_message`](Self::forget_message).
    ///
    /// # Errors
    /// As for [`take_message`](Self::take_message).
    pub fn message<'b>(&mut self, out: &'b mut [u8]) -> Result<Option<(MessageId, &'b [u8])>, StoreError> {
        self.store.oldest_message(out)
    }

    /// Removes the message that has been in flash longest, if there is one.
    ///
    /// # Errors
    /// The flash does not work.
    pub fn forget_message(&mut self) -> Result<(), StoreError> {
        self.store.remove_oldest_message()
    }

    /// Checks the network document in flash for use now, the next epoch's if that has begun, and
    /// finds this node in it; its bytes are in `scratch` then. Nothing changes in flash: the clock
    /// may be wrong, and what is refused by one time may be right by another.
    ///
    /// # Errors
    /// There is none, it is not of this time, its authorities are not trusted, or this node is not
    /// in it. [`Refusal::KeyMoved`]: call again.
    #[inline(never)]
    pub fn admit<'s>(
        &mut self,
        _asked: StartAsked,
        now: Instant,
        scratch: &'s mut [u8],
    ) -> Result<PlaceInNetwork<'s>, Refusal> {
        let time = self.clock.ok_or(Refusal::NoClock)?.at(now);
        self.trust.as_ref().ok_or(Refusal::NoTrust)?;
        let newest = self.store.newest_epoch()?;
        let next = self.store.next_document_head()?.is_some_and(|next| next.valid_after <= time);
        let bytes = if next { self.store.next_document(scratch)? } else { self.store.document(scratch)? };
        self.find_in_bytes(bytes.ok_or(Refusal::NoDocument)?, time, newest, InForce::Now)
    }

    /// Finds this node in a document that the caller admitted, which need not be in flash.
    ///
    /// # Errors
    /// This node is not in it, or its epoch has passed or is too far ahead.
    pub fn find_in<'s>(&self, document: NetworkDocument<'s>) -> Result<PlaceInNetwork<'s>, Refusal> {
        let secret = self.secret_of(document.epoch())?;
        PlaceInNetwork::find::<P::Curve>(document, secret)
    }

    /// Checks the document of `oldest` or a later epoch for use in its time, and finds this node in
    /// it.
    #[inline(never)]
    pub(crate) fn admit_ahead<'s>(
        &mut self,
        now: Instant,
        bytes: &'s [u8],
        oldest: Epoch,
    ) -> Result<PlaceInNetwork<'s>, Refusal> {
        let time = self.clock.ok_or(Refusal::NoClock)?.at(now);
        self.find_in_bytes(bytes, time, Some(oldest), InForce::NowOrLater)
    }

    /// Checks the next epoch's document in flash for use now.
    #[inline(never)]
    pub(crate) fn admit_next<'s>(
        &mut self,
        now: Instant,
        memory: &'s mut [u8],
    ) -> Result<PlaceInNetwork<'s>, Refusal> {
        let time = self.clock.ok_or(Refusal::NoClock)?.at(now);
        let newest = self.store.newest_epoch()?;
        let bytes = self.store.next_document(memory)?.ok_or(Refusal::NoDocument)?;
        self.find_in_bytes(bytes, time, newest, InForce::Now)
    }

    /// Whether a document is of the network that this node is in, if it is in one.
    pub(crate) fn check_network(&self, document: &NetworkDocument<'_>) -> Result<(), Refusal> {
        let name = name_of(document);
        if self.network.is_none_or(|network| network == name) { Ok(()) } else { Err(Refusal::OtherNetwork) }
    }

    /// The ratchet that is nearest to an epoch.
    fn nearest(&self, epoch: Epoch) -> &KeyRatchet {
        self.ahead.as_ref().filter(|ahead| ahead.epoch() <= epoch).unwrap_or(&self.ratchet)
    }

    /// The secret of an epoch, if that is near enough.
    fn secret_of(&self, epoch: Epoch) -> Result<Secret<32>, Refusal> {
        let ratchet = self.nearest(epoch);
        let most = Epoch(ratchet.epoch().0.saturating_add(RATCHET_STEPS));
        if epoch > most {
            return Err(Refusal::KeyFarBehind { most });
        }
        Ok(ratchet.mix_secret(epoch)?)
    }

    /// The secret of a document's epoch, or a part of the way to it. Nothing changes in flash: the
    /// document may turn out to be without this node.
    #[inline(never)]
    pub(crate) fn reach(&mut self, epoch: Epoch) -> Result<Secret<32>, Refusal> {
        self.ratchet.steps_to(epoch)?;
        let nearest = self.nearest(epoch);
        if nearest.steps_to(epoch)? <= RATCHET_STEPS {
            return self.secret_of(epoch);
        }
        let mut ahead = nearest.duplicate();
        let to = Epoch(ahead.epoch().0.saturating_add(RATCHET_STEPS));
        ahead.advance_to(to)?;
        self.ahead = Some(ahead);
        Err(Refusal::KeyMoved { to })
    }

    /// Begins an epoch in flash: its document becomes the current one if it was the next one's.
    /// Then forgets keys and replay tags of all epochs before this one, because whoever takes the
    /// board must not find the keys.
    pub(crate) fn move_to(&mut self, head: DocumentHead) -> Result<(), Refusal> {
        self.store.promote_document(head.epoch)?;
        self.network = Some(head.network);
        self.advance(head.epoch, head.epoch)
    }

    /// Ends an epoch in flash, though no next one begins: its key goes, and then its replay tags.
    pub(crate) fn retire(&mut self, epoch: Epoch) -> Result<(), Refusal> {
        self.advance(Epoch(epoch.0.saturating_add(1)), epoch)
    }

    /// Moves the key on. `begun` is the newest epoch.
    #[inline(never)]
    fn advance(&mut self, to: Epoch, begun: Epoch) -> Result<(), Refusal> {
        if let Some(ahead) = self.ahead.take_if(|ahead| ahead.epoch() <= to) {
            self.ratchet = ahead;
        }
        self.ratchet.advance_to(to)?;
        self.store.keep_epoch(&self.ratchet, begun)?;
        self.store.forget_tags_before(to)?;
        Ok(())
    }
}

fn make_address<F: MultiwriteNorFlash>(
    store: &mut Store<F>,
    random: &mut impl CryptoRng,
) -> Result<[u8; 8], StoreError> {
    let mut address = [0; 8];
    random.fill_bytes(&mut address);
    let [.., first] = &mut address;
    // Neither a group address nor one that IEEE gave away.
    *first = (*first & !0x01) | 0x02;
    store.keep_address(address)?;
    Ok(address)
}

fn make_ratchet<F: MultiwriteNorFlash>(
    store: &mut Store<F>,
    random: &mut impl CryptoRng,
) -> Result<KeyRatchet, StoreError> {
    let mut seed = Secret::zero();
    random.fill_bytes(seed.expose_mut());
    let ratchet = KeyRatchet::new(Epoch(0), seed);
    store.keep_ratchet(&ratchet)?;
    Ok(ratchet)
}
