//! Look-ups (RFC 9176 §6).

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
    let mut page = Page { text: String::new(), skip: query.skip, left: query.count, most_bytes };
    for (id, registration) in state.registrations() {
        if registration.expires <= now {
            continue;
        }
        let found = Found::new(id, registration);
        match kind {
            Kind::Endpoints => {
                if query.filters.iter().all(|filter| found.matches_endpoint(filter)) {
                    page.add(|| found.endpoint.clone())?;
                }
            }
            Kind::Resources => {
                for link in &registration.links {
                    if query.filters.iter().all(|filter| found.matches_resource(filter, link)) {
                        page.add(|| found.resolved(link))?;
                    }
                }
            }
        }
        if page.left == 0 {
            break;
        }
    }
    Ok(page.text)
}

struct Query<'q> {
    filters: Vec<Filter<'q>>,
    skip: usize,
    count: usize,
}

impl<'q> Query<'q> {
    fn of(query: &'q [String]) -> Result<Self, Refused> {
        let (mut filters, mut page, mut count) = (Vec::new(), None, None);
        for parameter in query {
            let place = match parameter.split_once('=') {
                Some(("page", value)) => Some((&mut page, value)),
                Some(("count", value)) => Some((&mut count, value)),
                _ => None,
            };
            let Some((place, value)) = place else {
                filters.push(Filter::of_parameter(parameter));
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

/// A registration that is not expired, and its link.
struct Found<'s> {
    registration: &'s Registration,
    endpoint: Link,
}

impl<'s> Found<'s> {
    fn new(RegistrationId(id): &RegistrationId, registration: &'s Registration) -> Self {
        let mut endpoint = Link::new(&format!("/rd/{id}"));
        if *registration.base != *base::HERE {
            endpoint = endpoint.with("base", &registration.base);
        }
        endpoint = endpoint.with("ep", &registration.endpoint);
        if let Some(sector) = &registration.sector {
            endpoint = endpoint.with("d", sector);
        }
        endpoint.attributes.extend(registration.attributes.iter().cloned());
        let key = registration.links.iter().find_map(|link| link.value(links::KEY));
        if let Some(key) = key.filter(|_| registration.device.is_some()) {
            endpoint = endpoint.with(links::KEY, key);
        }
        Self { registration, endpoint: endpoint.with("rt", "core.rd-ep") }
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
        filter.matches(&self.endpoint)
    }

    fn link_has(&self, filter: &Filter<'_>, link: &Link) -> bool {
        match filter.name {
            "href" => filter.matches_value(&self.resolve(&link.target)),
            "anchor" => link.values("anchor").any(|anchor| filter.matches_value(&self.resolve(anchor))),
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
