//! Look-ups (RFC 9176 §6).

use std::sync::Arc;

use motemix_coap::Code;
use motemix_coap::Request;
use motemix_coap::link_format::{Attribute, Filter, Link, Origin, push};

use super::{Desk, Outcome, Refusal, Refused, base, content, links};
use crate::Moment;
use crate::state::{Registration, RegistrationId, State};

/// What is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Registrations: `/rd-lookup/ep`.
    Endpoints,
    /// Links of all registrations: `/rd-lookup/res`.
    Resources,
}

/// `GET /rd-lookup/…`
pub(super) fn answer(desk: Desk<'_>, kind: Kind, request: &Request) -> Result<Outcome, Refused> {
    let text = look_up(desk.state, desk.now, kind, &request.query, desk.settings.look_up_bytes)?;
    Ok(Outcome::Done { changes: Vec::new(), response: content(request, text)? })
}

/// The links that a query asks for, in link format, in the order of their registrations' places.
/// The same state, moment and query have the same answer.
///
/// # Errors
/// The query is malformed, or the answer is longer than `most_bytes`.
pub fn look_up(
    state: &State,
    now: Moment,
    kind: Kind,
    query: &[String],
    most_bytes: usize,
) -> Result<String, Refused> {
    let query = Query::of(query)?;
    if query.comparisons(state.work(query.name())) > MOST_COMPARISONS {
        return Err(Refused::new(
            Refusal::Long,
            Code::BAD_REQUEST,
            "too many registrations to compare with so many values; ask for less, or name one with ep=",
        ));
    }
    let mut page = Page { text: String::new(), skip: query.skip, left: query.count, most_bytes };
    let all: Box<dyn Iterator<Item = _>> = match query.name() {
        Some(name) => Box::new(state.registrations_named(name)),
        None => Box::new(state.registrations()),
    };
    for (id, registration) in all {
        if registration.expires <= now {
            continue;
        }
        let found = Found { id, registration };
        match kind {
            Kind::Endpoints => {
                if query.finds_endpoint(found) {
                    page.add(|| found.endpoint())?;
                }
            }
            Kind::Resources => {
                for link in registration.links.iter().filter(|link| query.finds_resource(found, link)) {
                    page.add(|| found.resolved(link))?;
                }
            }
        }
        if page.left == 0 {
            break;
        }
    }
    Ok(page.text)
}

/// How many comparisons a look-up takes at most; one that is refused at once takes none.
pub(crate) fn comparisons(state: &State, request: &Request) -> usize {
    let Ok(query) = Query::of(&request.query) else { return 0 };
    let comparisons = query.comparisons(state.work(query.name()));
    if comparisons > MOST_COMPARISONS { 0 } else { comparisons }
}

/// How many it takes to say whether a registration [concerns](concerns) a look-up.
pub(crate) fn comparisons_with(request: &Request, registration: &Registration) -> usize {
    Query::of(&request.query).map_or(0, |query| query.comparisons(registration.work()))
}

/// Whether a registration that came, changed or went can change the answer to a look-up.
pub(crate) fn concerns(request: &Request, id: &RegistrationId, registration: &Registration) -> bool {
    let Ok(query) = Query::of(&request.query) else { return false };
    let found = Found { id, registration };
    if request.path.last().is_some_and(|kind| kind == "ep") {
        query.finds_endpoint(found)
    } else {
        registration.links.iter().any(|link| query.finds_resource(found, link))
    }
}

/// Each is a comparison with all that is looked at.
const MOST_PARAMETERS: usize = 16;
/// Comparisons of one look-up: about a tenth of a second. As many registrations as a directory has
/// by default, with as much in each as it takes, are compared with two values.
const MOST_COMPARISONS: usize = 3_000_000;
/// As how many comparisons one with a URI counts, which is resolved first.
const OF_A_URI: usize = 8;

struct Query<'q> {
    filters: Vec<Filter<'q>>,
    skip: usize,
    count: usize,
}

impl<'q> Query<'q> {
    fn of(query: &'q [String]) -> Result<Self, Refused> {
        if query.len() > MOST_PARAMETERS {
            return Err(Refused::malformed("a look-up has at most 16 parameters; look for less"));
        }
        let (mut filters, mut page, mut count) = (Vec::new(), None, None);
        for parameter in query {
            let place = match parameter.split_once('=') {
                Some(("page", value)) => Some((&mut page, value)),
                Some(("count", value)) => Some((&mut count, value)),
                _ => None,
            };
            let Some((place, value)) = place else {
                let filter = Filter::of_parameter(parameter);
                if !filters.contains(&filter) {
                    filters.push(filter);
                }
                continue;
            };
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let number = value.parse::<usize>().ok().filter(|_| is_number && place.is_none());
            *place =
                Some(number.ok_or(Refused::malformed("page= and count= are numbers, and stand there once"))?);
        }
        let count = match (page, count) {
            (Some(_), None) => return Err(Refused::malformed("page= needs count=")),
            (_, count) => count.unwrap_or(usize::MAX),
        };
        Ok(Self { filters, skip: page.unwrap_or(0).saturating_mul(count), count })
    }
}

impl<'q> Query<'q> {
    /// The name of the only endpoints that it can find.
    fn name(&self) -> Option<&'q str> {
        let named = self.filters.iter().filter(|filter| filter.name == "ep");
        named.into_iter().find_map(Filter::value)
    }

    /// How many it takes with registrations of so much work.
    fn comparisons(&self, work: usize) -> usize {
        let is_uri = |filter: &&Filter<'_>| matches!(filter.name, "href" | "anchor" | "base");
        let of_uris = self.filters.iter().filter(is_uri).count() * (OF_A_URI - 1);
        work.saturating_mul((self.filters.len() + of_uris).max(1))
    }

    fn finds_endpoint(&self, found: Found<'_>) -> bool {
        self.filters.iter().all(|filter| found.matches_endpoint(filter))
    }

    fn finds_resource(&self, found: Found<'_>, link: &Link) -> bool {
        self.filters.iter().all(|filter| found.matches_resource(filter, link))
    }
}

struct Page {
    text: String,
    skip: usize,
    left: usize,
    most_bytes: usize,
}

impl Page {
    fn add(&mut self, link: impl FnOnce() -> Link) -> Result<(), Refused> {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.left > 0 {
            self.left -= 1;
            push(&mut self.text, &link());
        }
        if self.text.len() > self.most_bytes {
            return Err(Refused::new(
                Refusal::Long,
                Code::BAD_REQUEST,
                "more links than one answer takes; ask for less, or with count= and page=",
            ));
        }
        Ok(())
    }
}

/// A registration as look-ups see it. Nothing is made of it before it is asked for: there may be
/// thousands that are not.
#[derive(Clone, Copy)]
struct Found<'s> {
    id: &'s RegistrationId,
    registration: &'s Registration,
}

impl<'s> Found<'s> {
    /// What stands in its link before and behind its own attributes.
    fn own(self) -> [(&'static str, Option<&'s str>); 5] {
        let Registration { base, endpoint, sector, device, links, .. } = self.registration;
        let key = || links.iter().find_map(|link| link.value(links::KEY));
        [
            ("base", Some(&**base).filter(|base| *base != base::HERE)),
            ("ep", Some(endpoint)),
            ("d", sector.as_deref()),
            (links::KEY, device.and_then(|_| key())),
            ("rt", Some("core.rd-ep")),
        ]
    }

    fn target(self) -> String {
        format!("/rd/{}", self.id.0)
    }

    fn endpoint(self) -> Link {
        let mut link = Link::new(&self.target());
        let own = self.own();
        let (before, behind) = own.split_at(3);
        let add = |link: &mut Link, own: &[(&str, Option<&str>)]| {
            let stated = own.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
            link.attributes.extend(stated.map(|(name, value)| (Arc::from(name), Some(Arc::from(value)))));
        };
        add(&mut link, before);
        link.attributes.extend(self.registration.attributes.iter().cloned());
        add(&mut link, behind);
        link
    }

    /// A link with its references resolved.
    fn resolved(&self, link: &Link) -> Link {
        let attributes = link.attributes.iter().map(|(name, value)| -> Attribute {
            match value {
                Some(value) if &**name == "anchor" => (name.clone(), Some(self.resolve(value).into())),
                _ => (name.clone(), value.clone()),
            }
        });
        Link { target: self.resolve(&link.target).into(), attributes: attributes.collect() }
    }

    fn resolve(&self, reference: &str) -> String {
        let resolved = Origin::of(&self.registration.base)
            .and_then(|origin| origin.resolve(reference).map(std::borrow::Cow::into_owned));
        resolved.unwrap_or_else(|| reference.to_owned())
    }

    /// Whether the registration itself has it.
    fn has(&self, filter: &Filter<'_>) -> bool {
        if filter.name == "href" {
            return filter.matches_value(&self.target());
        }
        let is_it = |(name, value): (&str, Option<&str>)| {
            name == filter.name && value.is_some_and(|value| filter.matches_value(value))
        };
        self.own().into_iter().any(is_it) || filter.matches_attributes(&self.registration.attributes)
    }

    fn link_has(&self, filter: &Filter<'_>, link: &Link) -> bool {
        match filter.name {
            "href" => filter.matches_value(&self.resolve(&link.target)),
            "anchor" => link.values("anchor").any(|anchor| filter.matches_value(&self.resolve(anchor))),
            // A link that says so itself would be found in place of another endpoint's.
            "ep" | "d" | "base" => false,
            _ => filter.matches(link),
        }
    }

    fn matches_endpoint(&self, filter: &Filter<'_>) -> bool {
        self.has(filter) || self.registration.links.iter().any(|link| self.link_has(filter, link))
    }

    fn matches_resource(&self, filter: &Filter<'_>, link: &Link) -> bool {
        self.link_has(filter, link) || self.has(filter)
    }
}
