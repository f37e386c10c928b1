//! A broker that is none: a house with devices, and their readings as a test publishes them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use motemix_broker::page::{Feed, Limits, Page, Refused, Settings, StoreState, TopicNow, View};
use motemix_broker::state::{Link, Registration, RegistrationId, Signed, Topic, TopicId, Value};
use motemix_broker::{Change, Moment};
use motemix_object::Identity;
use tokio::task::JoinHandle;

pub fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Moment::from_millis(since.as_millis().try_into().expect("milliseconds"))
}

pub fn identity(number: u8) -> Identity {
    Identity::from_bytes(std::array::from_fn(|at| (at as u8).wrapping_mul(number | 1).wrapping_add(number)))
}

#[derive(Default)]
struct Inside {
    registrations: BTreeMap<RegistrationId, Arc<Registration>>,
    topics: BTreeMap<TopicId, Arc<Topic>>,
    values: BTreeMap<TopicId, Vec<Arc<Value>>>,
    refused: BTreeMap<TopicId, Refused>,
    store: Option<(Moment, Arc<str>)>,
}

/// What a page is shown, and its feed.
pub struct Fake {
    inside: Mutex<Inside>,
    /// How often all registrations were asked for.
    pub listed: AtomicUsize,
    pub feed: Arc<Feed>,
}

impl Fake {
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            inside: Mutex::default(),
            listed: AtomicUsize::new(0),
            feed: Feed::new(limits, now()),
        })
    }

    pub fn change(&self, change: Change) {
        let mut inside = self.inside.lock().expect("no panic");
        match change.clone() {
            Change::Topic(id, Some(topic)) => drop(inside.topics.insert(id, topic)),
            Change::Topic(id, None) => {
                inside.topics.remove(&id);
                inside.values.remove(&id);
            }
            Change::Value(id, Some(value)) => inside.values.entry(id).or_default().push(value),
            Change::Value(id, None) => drop(inside.values.remove(&id)),
            Change::Registration(id, Some(new)) => drop(inside.registrations.insert(id, new)),
            Change::Registration(id, None) => drop(inside.registrations.remove(&id)),
            Change::Freshness(..) => {}
        }
        drop(inside);
        self.feed.changes(&[change]);
    }

    pub fn register(&self, id: &str, endpoint: &str, device: Option<Identity>, said: &[(&str, &str)]) {
        let said = said.iter().map(|(name, value)| ((*name).into(), Some((*value).into())));
        let links = ["/sensors/temperature", "/sensors/humidity"];
        let registration = Registration {
            endpoint: endpoint.into(),
            sector: None,
            base: "coap://[2001:db8::17]".into(),
            base_stated: true,
            owner: None,
            registrant: None,
            expires: now().plus_secs(3600),
            lifetime: 3600,
            attributes: said.collect(),
            links: links
                .map(|target| Link {
                    target: target.into(),
                    attributes: vec![("rt".into(), Some(target.rsplit_once('/').expect("a path").1.into()))],
                })
                .into(),
            device,
        };
        self.change(Change::Registration(RegistrationId(id.into()), Some(Arc::new(registration))));
    }

    pub fn topic(&self, id: &str, name: &str, device: Option<Identity>) {
        let topic = Topic {
            name: name.into(),
            topic_type: Some("measurement".into()),
            content_format: None,
            expires: None,
            max_subscribers: None,
            observer_check: 86_400,
            device,
            owner: None,
        };
        self.change(Change::Topic(TopicId(id.into()), Some(Arc::new(topic))));
    }

    /// `sequence`: of a signed value; the page believes what the broker says of it.
    pub fn publish(&self, id: &str, at: Moment, format: Option<u16>, payload: &[u8], sequence: Option<u64>) {
        let signed = sequence.map_or(Signed::Unchecked, |sequence| Signed::ByDevice { sequence });
        let value = Value { published: at, content_format: format, payload: payload.into(), signed };
        self.change(Change::Value(TopicId(id.into()), Some(Arc::new(value))));
    }

    /// SenML in JSON of one number.
    pub fn measure(
        &self,
        id: &str,
        at: Moment,
        (name, unit): (&str, &str),
        number: f64,
        sequence: Option<u64>,
    ) {
        let time = std::time::Duration::from_millis(at.as_millis()).as_secs_f64();
        let pack = format!(r#"[{{"n":"{name}","u":"{unit}","t":{time},"v":{number}}}]"#);
        self.publish(id, at, Some(110), pack.as_bytes(), sequence);
    }

    pub fn refuse(&self, id: &str, why: &str) {
        let id = TopicId(id.into());
        let mut inside = self.inside.lock().expect("no panic");
        let count = inside.refused.get(&id).map_or(0, |refused| refused.count) + 1;
        let refused = Refused { at: now(), count, why: why.into() };
        inside.refused.insert(id.clone(), refused.clone());
        drop(inside);
        self.feed.refused(&id, &refused);
    }

    pub fn store_fails(&self, why: Option<&str>) {
        self.inside.lock().expect("no panic").store = why.map(|why| (now(), why.into()));
        self.feed.store(&self.store());
    }

    /// Serves the page; on a port that the system chooses if `listen` has none.
    pub async fn serve(self: &Arc<Self>, settings: Settings) -> (SocketAddr, JoinHandle<()>) {
        let page = Page::bind(settings).await.expect("an address");
        let address = page.address().expect("an address");
        let view: Arc<dyn View> = self.clone();
        (address, tokio::spawn(page.serve(view, Arc::clone(&self.feed))))
    }
}

/// On loopback, on any port.
pub fn anywhere() -> Settings {
    let mut settings = Settings::default();
    settings.listen.set_port(0);
    settings
}

impl View for Fake {
    fn now(&self) -> Moment {
        now()
    }

    fn network(&self) -> Arc<str> {
        "house.example".into()
    }

    fn store(&self) -> StoreState {
        match self.inside.lock().expect("no panic").store.clone() {
            None => StoreState::Working,
            Some((since, why)) => StoreState::Refusing { since, why },
        }
    }

    fn counters(&self) -> Vec<(&'static str, Vec<(&'static str, u64)>)> {
        vec![("broker", vec![("rate", 3), ("access", 0)])]
    }

    fn registrations(&self) -> Vec<(RegistrationId, Arc<Registration>)> {
        self.listed.fetch_add(1, Ordering::Relaxed);
        let inside = self.inside.lock().expect("no panic");
        inside.registrations.iter().map(|(id, one)| (id.clone(), Arc::clone(one))).collect()
    }

    fn topics(&self) -> Vec<TopicNow> {
        let inside = self.inside.lock().expect("no panic");
        let now = |(id, topic): (&TopicId, &Arc<Topic>)| TopicNow {
            id: id.clone(),
            topic: Arc::clone(topic),
            value: inside.values.get(id).and_then(|values| values.last()).cloned(),
            refused: inside.refused.get(id).cloned(),
        };
        inside.topics.iter().map(now).collect()
    }

    fn history(&self, topic: &TopicId, most: usize) -> Result<Option<Vec<Value>>, String> {
        let inside = self.inside.lock().expect("no panic");
        if let Some((_, why)) = &inside.store {
            return Err(format!("the store does not answer: {why}"));
        }
        if !inside.topics.contains_key(topic) {
            return Ok(None);
        }
        let values = inside.values.get(topic).map_or(&[][..], Vec::as_slice);
        let last = values.get(values.len().saturating_sub(most)..).unwrap_or_default();
        Ok(Some(last.iter().map(|value| Value::clone(value)).collect()))
    }
}
