//! All contexts of one endpoint: from an outer message to the inner one and back.

use std::collections::BTreeMap;
use std::time::Duration;

use motemix_time::Instant;

use super::context::{Context, crowd};
use super::counters::Counters;
use super::edhoc::Device;
use super::exchange::{Asked, Exchange, Unopened, Unsent};
use super::header::Header;
use super::keys::{Id, Numbered};
use super::message::{Message, number};
use super::numbers::NumberStore;
use super::renewal::{unwrapped, wrapped};
use super::window::Window;
use crate::{Code, Method};

/// Bounds of the contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How many contexts there are at most.
    pub places: usize,
    /// How many a device has at most; a further one takes the place of its longest unused one.
    pub per_device: usize,
    /// How long a context that EDHOC made serves.
    pub lifetime: Duration,
    /// How long such a context has to be unused before a stranger may take its place.
    pub idle: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            places: 1024,
            per_device: 2,
            lifetime: Duration::from_secs(24 * 3600),
            idle: Duration::from_secs(600),
        }
    }
}

/// Which context. Numbers are not given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(u64);

impl ContextId {
    pub(crate) const fn number(self) -> u64 {
        self.0
    }
}

/// Recipient ID and ID Context.
pub(super) type Asking = (Id, Option<Box<[u8]>>);

/// There is no place for a further context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("all places for security contexts are taken, and none was unused for long enough")]
pub struct Full;

/// The security contexts of an endpoint. Bounded by its [`Settings`].
#[derive(Debug)]
pub struct Contexts {
    settings: Settings,
    pub(super) contexts: BTreeMap<ContextId, Context>,
    /// By Recipient ID and ID Context. No two contexts have both alike.
    pub(super) by_name: BTreeMap<Asking, ContextId>,
    next: u64,
    /// How many clients that lost their contexts were looked at, and since when.
    pub(super) renewals: (Instant, u32),
    pub(super) counters: Counters,
}

/// Options that stand outside: for proxies, which OSCORE does not keep out (RFC 8613, section 4.1).
const OUTER: [u16; 4] = [number::URI_HOST, number::URI_PORT, number::HOP_LIMIT, number::PROXY_SCHEME];

impl Contexts {
    /// None yet.
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            contexts: BTreeMap::new(),
            by_name: BTreeMap::new(),
            next: 0,
            renewals: (Instant::from_micros(0), 0),
            counters: Counters::NONE,
        }
    }

    /// What happened so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.contexts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.contexts.is_empty()
    }

    /// One of them.
    pub fn get(&self, id: ContextId) -> Option<&Context> {
        self.contexts.get(&id)
    }

    /// Who proved itself when the context of an exchange was made.
    pub fn device(&self, id: ContextId) -> Option<&Device> {
        self.get(id)?.device()
    }

    /// All who proved themselves, once for each of their contexts.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.contexts.values().filter_map(Context::device)
    }

    /// Whether a peer may name a context by this: nobody else does.
    pub fn is_free(&self, recipient: Id) -> bool {
        let first = self.by_name.range((recipient, None)..).next();
        first.is_none_or(|((found, _), _)| *found != recipient)
    }

    /// Takes a context up. One with the same names is replaced: both sides have made it anew.
    ///
    /// # Errors [`Full`]: no place is free, and none may be taken. A context with a preshared
    /// secret is never replaced by another. One made by EDHOC is, if it was unused for
    /// [`Settings::idle`], or if its device is nobody the application knows and the newcomer's is,
    /// or comes from a source that has fewer places.
    pub fn insert(&mut self, now: Instant, context: Context) -> Result<ContextId, Full> {
        self.expire(now);
        if let Some(same) = self.by_name.get(&context.asked_by()).copied() {
            let is_given = |id| self.get(id).is_some_and(|old| !old.is_replaceable());
            if is_given(same) && context.is_replaceable() {
                self.counters.full += 1;
                return Err(Full);
            }
            self.remove(same);
        }
        self.make_room(now, &context).inspect_err(|Full| self.counters.full += 1)?;
        Ok(self.take_up(context))
    }

    /// Takes a context up for which there is a place.
    pub(super) fn take_up(&mut self, context: Context) -> ContextId {
        let id = ContextId(self.next);
        self.next += 1;
        self.by_name.insert(context.asked_by(), id);
        self.contexts.insert(id, context);
        id
    }

    /// The context that both sides were given, if this one was made of it when that was lost; or
    /// this one.
    pub fn given(&self, id: ContextId) -> ContextId {
        self.get(id).and_then(|context| context.given).unwrap_or(id)
    }

    fn make_room(&mut self, now: Instant, newcomer: &Context) -> Result<(), Full> {
        let oldest = |contexts: &BTreeMap<ContextId, Context>, may_go: &dyn Fn(&Context) -> bool| {
            let replaceable = contexts.iter().filter(|(_, old)| old.is_replaceable() && may_go(old));
            replaceable.min_by_key(|(_, old)| old.used).map(|(id, _)| *id)
        };
        if let Some(device) = &newcomer.device {
            let is_same = |old: &Context| old.device.as_ref().is_some_and(|old| old.key == device.key);
            if self.contexts.values().filter(|old| is_same(old)).count() >= self.settings.per_device {
                self.replace(oldest(&self.contexts, &is_same));
            }
        }
        if self.contexts.len() < self.settings.places {
            return Ok(());
        }
        let stranger = oldest(&self.contexts, &|old| newcomer.is_known && !old.is_known);
        let crowded = || {
            let crowd = crowd(self.contexts.values(), newcomer)?;
            oldest(&self.contexts, &|old| !old.is_known && old.source == Some(crowd))
        };
        let unused = || oldest(&self.contexts, &|old| now - old.used >= self.settings.idle);
        let going = stranger.or_else(unused).or_else(crowded).ok_or(Full)?;
        self.replace(Some(going));
        Ok(())
    }

    fn replace(&mut self, id: Option<ContextId>) {
        if let Some(id) = id {
            self.remove(id);
            self.counters.replaced += 1;
        }
    }

    /// Ends a context and wipes its keys.
    pub fn remove(&mut self, id: ContextId) {
        if let Some(context) = self.contexts.remove(&id) {
            self.by_name.remove(&context.asked_by());
        }
    }

    /// Ends what is over.
    pub fn expire(&mut self, now: Instant) {
        let lifetime = self.settings.lifetime;
        let over = self.contexts.iter().filter(|(_, context)| context.is_expired(now, lifetime));
        for id in over.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.remove(id);
            self.counters.expired += 1;
        }
    }

    /// When the next context is over.
    pub fn next_expiry(&self) -> Option<Instant> {
        let made = self.contexts.values().filter(|context| context.is_replaceable());
        made.map(|context| context.made + self.settings.lifetime).min()
    }

    /// Whether it is time for a handshake anew: three quarters of the lifetime are over, or 2^20
    /// numbers are used.
    pub fn is_due(&self, id: ContextId, now: Instant) -> bool {
        self.get(id).is_none_or(|context| {
            let is_old = now - context.made >= self.settings.lifetime / 4 * 3;
            context.is_replaceable() && (is_old || context.numbers_used() >= 1 << 20)
        })
    }

    /// Whose request this is.
    pub(super) fn find(&self, header: &Header) -> Option<ContextId> {
        let kid = Id::new(header.kid?)?;
        let named = |name: Option<&[u8]>| self.by_name.get(&(kid, name.map(Into::into))).copied();
        let unwrapped = || named(Some(header.kid_context.and_then(unwrapped)?));
        if let Some(id) = named(header.kid_context).or_else(unwrapped) {
            return Some(id);
        }
        // A client need not say its ID Context, if it is the only one with this identifier.
        let mut all = self.by_name.range((kid, None)..).take_while(|((found, _), _)| *found == kid);
        let (_, only) = all.next().filter(|_| header.kid_context.is_none())?;
        all.next().is_none().then_some(*only)
    }

    /// A request as the client made it, and what its responses are protected with (RFC 8613,
    /// section 8.2).
    ///
    /// # Errors
    /// [`Unopened`] says what to answer. Nothing of the request was looked at by anybody else.
    pub fn unprotect_request(
        &mut self,
        now: Instant,
        outer: &Message,
        store: &mut dyn NumberStore,
    ) -> Result<(Message, Exchange), Unopened> {
        let opened = self.open_request(now, outer, store);
        if let Err(rejected) = &opened {
            self.counters.count(rejected);
        }
        opened
    }

    fn open_request(
        &mut self,
        now: Instant,
        outer: &Message,
        store: &mut dyn NumberStore,
    ) -> Result<(Message, Exchange), Unopened> {
        let header = header_of(outer)?;
        let sent = header.partial_iv.ok_or(Unopened::Malformed)?;
        header.kid.ok_or(Unopened::Malformed)?;
        let id = self.find(&header).ok_or(Unopened::UnknownContext)?;
        let lifetime = self.settings.lifetime;
        let context = self.contexts.get_mut(&id).ok_or(Unopened::UnknownContext)?;
        if context.is_expired(now, lifetime) {
            return Err(Unopened::UnknownContext);
        }
        let is_forgotten = matches!(context.window, Window::Forgotten { .. });
        if !is_forgotten && !context.window.is_new(sent) {
            return Err(Unopened::Replayed);
        }
        let request = Numbered { by: context.recipient, number: sent };
        let text = context.keys.open(&request, &request, &outer.payload).map_err(|_| Unopened::Altered)?;
        let inner = Message::from_bytes(&text).ok().filter(is_sound_request);
        let given = inner.as_ref().and_then(|inner| inner.single(number::ECHO));
        if is_forgotten && !context.window.recover(sent, given) {
            let answer = ask_for_echo(context, &request, store)?;
            return Err(Unopened::Forgotten(answer));
        }
        context.window.accept(sent);
        context.used = now;
        let mut inner = inner.ok_or(Unopened::Malformed)?;
        let is_for_proxies = |option: u16| {
            (OUTER.contains(&option) || option == number::PROXY_URI) && inner.option(option).is_none()
        };
        let outside: Vec<_> = outer.options().filter(|(option, _)| is_for_proxies(*option)).collect();
        for (option, value) in outside {
            inner.add(option, value);
        }
        let observes = inner.single(number::OBSERVE).is_some();
        Ok((inner, Exchange { context: id, request: sent, may_share_nonce: true, observes }))
    }

    /// A response, protected. The first one to a request shares its nonce; each later one has a
    /// number of its own (RFC 8613, section 8.3).
    pub fn protect_response(
        &mut self,
        exchange: &mut Exchange,
        mut inner: Message,
        store: &mut dyn NumberStore,
    ) -> Result<Message, Unsent> {
        let context = self.contexts.get_mut(&exchange.context).ok_or(Unsent::Gone)?;
        let request = Numbered { by: context.recipient, number: exchange.request };
        let mut outer = Message::new(Code::CHANGED.byte());
        if let Some(order) = inner.option(number::OBSERVE).map(<[u8]>::to_vec) {
            inner.remove(number::OBSERVE);
            // The order is the Partial IV's; what stands outside is for proxies.
            if exchange.observes {
                inner.add(number::OBSERVE, []);
                outer = Message::new(Code::CONTENT.byte());
                outer.add(number::OBSERVE, order);
            }
        }
        let mut header = Header::default();
        let numbered = if exchange.may_share_nonce {
            // Before anything can fail: a nonce that may have been used is never used again.
            exchange.may_share_nonce = false;
            request
        } else {
            let number = context
                .numbers
                .take(context.name.as_deref(), store)
                .inspect_err(|_| self.counters.without_number += 1)?;
            header.partial_iv = Some(number);
            Numbered { by: context.sender, number }
        };
        outer.add(number::OSCORE, header.to_bytes());
        outer.payload = context.keys.seal(&numbered, &request, inner.to_bytes()).ok_or(Unsent::TooLong)?;
        Ok(outer)
    }

    /// A request, protected, and what its responses are opened with (RFC 8613, section 8.1).
    pub fn protect_request(
        &mut self,
        now: Instant,
        id: ContextId,
        mut inner: Message,
        store: &mut dyn NumberStore,
    ) -> Result<(Message, Asked), Unsent> {
        // It names a resource to proxies. Whoever needs one says it in parts.
        if inner.option(number::PROXY_URI).is_some() {
            return Err(Unsent::ProxyUri);
        }
        let lifetime = self.settings.lifetime;
        let id = self.current(id).ok_or(Unsent::Gone)?;
        let context = self.contexts.get_mut(&id).ok_or(Unsent::Gone)?;
        if context.is_expired(now, lifetime) {
            return Err(Unsent::Gone);
        }
        context.used = now;
        let sent = context
            .numbers
            .take(context.name.as_deref(), store)
            .inspect_err(|_| self.counters.without_number += 1)?;
        let observe = inner.single(number::OBSERVE).map(<[u8]>::to_vec);
        let method = if observe.is_some() { Method::Fetch } else { Method::Post };
        let mut outer = Message::new(method.byte());
        for option in OUTER {
            if let Some(value) = inner.option(option).map(<[u8]>::to_vec) {
                outer.add(option, value);
                inner.remove(option);
            }
        }
        let observes = observe.as_ref().is_some_and(|value| value.iter().all(|byte| *byte == 0));
        if let Some(value) = observe {
            outer.add(number::OBSERVE, value);
        }
        let request = Numbered { by: context.sender, number: sent };
        let wrapped = context.id_context.as_deref().filter(|_| context.wraps).map(wrapped);
        let kid_context = wrapped.as_deref().or(context.id_context.as_deref());
        let header = Header { partial_iv: Some(sent), kid_context, kid: Some(context.sender.as_bytes()) };
        outer.add(number::OSCORE, header.to_bytes());
        outer.payload = context.keys.seal(&request, &request, inner.to_bytes()).ok_or(Unsent::TooLong)?;
        Ok((outer, Asked::new(id, sent, observes)))
    }

    /// A response as the server made it (RFC 8613, section 8.4).
    ///
    /// # Errors
    /// Whatever is refused is as if it had not come: the right response may still come.
    pub fn unprotect_response(
        &mut self,
        now: Instant,
        asked: &mut Asked,
        outer: &Message,
    ) -> Result<Message, Unopened> {
        let opened = self.open_response(now, asked, outer);
        if let Err(rejected) = &opened {
            self.counters.count(rejected);
        }
        opened
    }

    fn open_response(
        &mut self,
        now: Instant,
        asked: &mut Asked,
        outer: &Message,
    ) -> Result<Message, Unopened> {
        if outer.option(number::OSCORE).is_none() {
            return Err(Unopened::Unprotected);
        }
        let header = header_of(outer)?;
        let context = self.contexts.get_mut(&asked.context).ok_or(Unopened::UnknownContext)?;
        let request = Numbered { by: context.sender, number: asked.request };
        if let Some(kid_context) = header.kid_context.filter(|id| context.is_renewed_by(id)) {
            let renewed = self.renewed(now, asked.context, kid_context, &request, outer);
            return Err(renewed.map_or(Unopened::Altered, Unopened::Renewed));
        }
        let is_other = header.kid.is_some_and(|kid| kid != context.recipient.as_bytes())
            || header.kid_context.is_some_and(|named| Some(named) != context.id_context.as_deref());
        if is_other {
            return Err(Unopened::UnknownContext);
        }
        if !asked.is_new(header.partial_iv) {
            return Err(Unopened::Replayed);
        }
        let numbered = match header.partial_iv {
            Some(number) => Numbered { by: context.recipient, number },
            None => request,
        };
        let text = context.keys.open(&numbered, &request, &outer.payload).map_err(|_| Unopened::Altered)?;
        let inner = Message::from_bytes(&text).ok().filter(Message::is_response);
        let mut inner =
            inner.filter(|inner| inner.option(number::OSCORE).is_none()).ok_or(Unopened::Malformed)?;
        let notifies = inner.option(number::OBSERVE).is_some();
        // Nobody asked for notifications.
        if notifies && !asked.observes() {
            return Err(Unopened::Malformed);
        }
        context.used = now;
        asked.accept(header.partial_iv, notifies);
        if notifies {
            // Sorted here already: what comes later is newer.
            inner.remove(number::OBSERVE);
            inner.add(number::OBSERVE, asked.order());
        }
        Ok(inner)
    }
}

/// The one OSCORE option of a message that has a payload too.
fn header_of(outer: &Message) -> Result<Header<'_>, Unopened> {
    let value = outer.single(number::OSCORE).filter(|_| !outer.payload.is_empty());
    value.and_then(Header::parse).ok_or(Unopened::Malformed)
}

/// A request, and not protected a second time.
fn is_sound_request(inner: &Message) -> bool {
    inner.is_request() && inner.option(number::OSCORE).is_none()
}

/// 4.01 with an Echo value and nothing else, under a number of this side: the request may be an old
/// one, and then its nonce was used (RFC 8613, appendix B.1.2).
fn ask_for_echo(
    context: &mut Context,
    request: &Numbered,
    store: &mut dyn NumberStore,
) -> Result<Message, Unopened> {
    let Window::Forgotten { echo } = context.window else { return Err(Unopened::Replayed) };
    let number = context.numbers.take(context.name.as_deref(), store).map_err(Unopened::NoNumber)?;
    let mut inner = Message::new(Code::UNAUTHORIZED.byte());
    inner.add(number::ECHO, echo);
    let mut outer = Message::new(Code::CHANGED.byte());
    outer.add(number::OSCORE, Header { partial_iv: Some(number), ..Header::default() }.to_bytes());
    let numbered = Numbered { by: context.sender, number };
    outer.payload = context.keys.seal(&numbered, request, inner.to_bytes()).ok_or(Unopened::Malformed)?;
    Ok(outer)
}
