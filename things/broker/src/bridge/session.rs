//! One connection to an MQTT broker.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rumqttc::Outgoing;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{
    Filter, LastWill, LastWillProperties, Packet, PubAckReason, Publish, PublishProperties,
    RetainForwardRule, SubscribeReasonCode,
};
use rumqttc::v5::{AsyncClient, ConnectionError, Event, MqttOptions};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::discovery::Component;
use super::mirror::{Kind, MARK, Message};
use super::settings::Plan;
use super::trouble::Trouble;

/// Events that wait to be looked at: the connection is not read while there are as many.
const EVENTS: usize = 64;
/// A topic of MQTT and properties have room in this, beside a payload.
const HEAD: u32 = 80 * 1024;
/// Seconds for the connection and for its answer.
const PATIENCE: u64 = 10;
/// Marks availability with a number of the process that sent it.
pub(super) const INSTANCE: &str = "motemix-instance";

/// What a connection says.
#[derive(Debug)]
pub(super) enum Heard {
    Connected {
        max_packet: Option<u32>,
    },
    Message(Box<Publish>),
    /// Not all that is retained has come in time.
    SweepTooLong,
    Acknowledged(Kind),
    Subscribed,
    Refused(Trouble),
    Ended(Trouble),
}

/// A connection, or an attempt.
#[derive(Debug)]
pub(super) struct Session {
    client: AsyncClient,
    events: mpsc::Receiver<Result<Event, ConnectionError>>,
    pump: JoinHandle<()>,
    is_connected: bool,
    window: usize,
    /// In the order in which they were sent, without numbers yet.
    unnumbered: VecDeque<Sent>,
    filters: VecDeque<String>,
    in_flight: HashMap<u16, Sent>,
    subscribing: HashMap<u16, String>,
    sweep: Option<Instant>,
    /// For what comes from others.
    is_asked: bool,
    instance: String,
    was_refused: bool,
}

#[derive(Debug)]
struct Sent {
    topic: Arc<str>,
    kind: Option<Kind>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl Session {
    /// Begins to connect. `instance` is a number of this process.
    pub(super) fn open(plan: &Plan, instance: &str) -> Result<Self, Trouble> {
        let options = options(plan, instance)?;
        let window = usize::from(plan.settings().limits.in_flight);
        // Room for all that may wait at once, so that nothing has to be waited for here.
        let rules = plan.routes().len();
        let (client, mut connection) =
            AsyncClient::new(options, window.saturating_add(rules).saturating_add(16));
        let (sender, events) = mpsc::channel(EVENTS);
        // On its own: what it does must not be cut off in the middle.
        let pump = tokio::spawn(async move {
            loop {
                let event = connection.poll().await;
                let is_over = event.is_err();
                if sender.send(event).await.is_err() || is_over {
                    return;
                }
            }
        });
        Ok(Self {
            client,
            events,
            pump,
            is_connected: false,
            window,
            unnumbered: VecDeque::new(),
            filters: VecDeque::new(),
            in_flight: HashMap::new(),
            subscribing: HashMap::new(),
            sweep: None,
            is_asked: false,
            instance: instance.to_owned(),
            was_refused: false,
        })
    }

    pub(super) const fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Whether it still comes what was retained before.
    pub(super) const fn is_sweeping(&self) -> bool {
        self.sweep.is_some()
    }

    /// Whether messages of all filters arrive that were not refused.
    pub(super) fn is_listening(&self) -> bool {
        self.is_asked && self.filters.is_empty() && self.subscribing.is_empty()
    }

    pub(super) fn has_room(&self) -> bool {
        let sent = self.unnumbered.len().saturating_add(self.in_flight.len());
        self.is_connected && sent < self.window
    }

    /// Whether nothing was refused over this connection before.
    pub(super) fn is_first_refusal(&mut self) -> bool {
        !std::mem::replace(&mut self.was_refused, true)
    }

    /// Sends a message; its topic comes back if there is no room.
    pub(super) fn send(&mut self, message: Message) -> Result<(), Arc<str>> {
        let Message { kind, topic, payload, expiry, properties } = message;
        let is_json = !payload.is_empty();
        let properties = PublishProperties {
            payload_format_indicator: is_json.then_some(1),
            message_expiry_interval: expiry,
            content_type: is_json.then(|| "application/json".to_owned()),
            user_properties: properties,
            ..PublishProperties::default()
        };
        self.publish(&topic, Some(kind), payload, properties).map_err(|()| topic)
    }

    fn publish(
        &mut self,
        topic: &Arc<str>,
        kind: Option<Kind>,
        payload: Vec<u8>,
        properties: PublishProperties,
    ) -> Result<(), ()> {
        let sent =
            self.client.try_publish_with_properties(&**topic, QoS::AtLeastOnce, true, payload, properties);
        sent.map_err(|_| ())?;
        self.unnumbered.push_back(Sent { topic: topic.clone(), kind });
        Ok(())
    }

    fn subscribe(&mut self, filter: String, no_local: bool, retained: RetainForwardRule) {
        let wanted = Filter {
            path: filter.clone(),
            qos: QoS::AtLeastOnce,
            nolocal: no_local,
            preserve_retain: false,
            retain_forward_rule: retained,
        };
        if self.client.try_subscribe_many([wanted]).is_ok() {
            self.filters.push_back(filter);
        }
    }

    fn available(&mut self, plan: &Plan, payload: &str) {
        let topic: Arc<str> = plan.availability_topic().into();
        let properties = PublishProperties {
            user_properties: marks(plan, &self.instance),
            ..PublishProperties::default()
        };
        let _ = self.publish(&topic, None, payload.into(), properties);
    }

    /// Asks for all that is retained of this bridge, and says that it is there. What was said comes
    /// back, and is a sign that all that was retained before has come.
    pub(super) fn begin(&mut self, plan: &Plan, until: Instant) {
        for filter in sweep_filters(plan) {
            self.subscribe(filter, false, RetainForwardRule::OnEverySubscribe);
        }
        self.available(plan, "online");
        self.sweep = Some(until);
    }

    /// Only now asks for what comes from others: a filter that takes the same message as another
    /// one makes some brokers send it twice.
    pub(super) fn end_sweep(&mut self, plan: &Plan) {
        if self.sweep.take().is_none() {
            return;
        }
        for filter in sweep_filters(plan) {
            let _ = self.client.try_unsubscribe(filter);
        }
        // Commands, and whatever else somebody publishes there and should hear that it is dropped.
        // What is retained of it has come already.
        self.subscribe(below_prefix(plan), true, RetainForwardRule::Never);
        let status = plan.discovery().map(|_| plan.home_assistant_status());
        let imports = plan.routes().iter().map(|route| route.import.from.clone());
        let filters: Vec<String> = status.into_iter().chain(imports).collect();
        for filter in filters {
            self.subscribe(filter, true, RetainForwardRule::OnEverySubscribe);
        }
        self.is_asked = true;
    }

    /// Says that it goes, so that nobody waits for it to be missed.
    pub(super) async fn say_farewell(&mut self, plan: &Plan, patience: Duration) {
        if !self.is_connected {
            return;
        }
        self.available(plan, "offline");
        let waiting = async {
            while !(self.unnumbered.is_empty() && self.in_flight.is_empty()) {
                if matches!(self.next().await, Heard::Ended(_)) {
                    return;
                }
            }
            if self.client.try_disconnect().is_ok() {
                while !matches!(self.next().await, Heard::Ended(_)) {}
            }
        };
        // Whoever does not answer hears of it by the last will.
        let _ = timeout(patience, waiting).await;
    }

    /// The next thing that matters.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            let event = match self.sweep {
                Some(until) => tokio::select! {
                    event = self.events.recv() => event,
                    () = sleep_until(until) => return Heard::SweepTooLong,
                },
                None => self.events.recv().await,
            };
            let heard = match event {
                Some(Ok(Event::Incoming(packet))) => self.incoming(packet),
                Some(Ok(Event::Outgoing(outgoing))) => {
                    self.outgoing(&outgoing);
                    None
                }
                Some(Err(error)) => Some(Heard::Ended(Trouble::of(&error))),
                None => Some(Heard::Ended(Trouble::Ended("it has ended".to_owned()))),
            };
            if let Some(heard) = heard {
                let Heard::Ended(trouble) = heard else { return heard };
                let before = std::mem::replace(&mut self.is_connected, false);
                return Heard::Ended(trouble.before_an_answer(!before));
            }
        }
    }

    fn outgoing(&mut self, outgoing: &Outgoing) {
        match outgoing {
            Outgoing::Publish(number) => {
                if let Some(sent) = self.unnumbered.pop_front() {
                    self.in_flight.insert(*number, sent);
                }
            }
            Outgoing::Subscribe(number) => {
                if let Some(filter) = self.filters.pop_front() {
                    self.subscribing.insert(*number, filter);
                }
            }
            _ => {}
        }
    }

    fn incoming(&mut self, packet: Packet) -> Option<Heard> {
        match packet {
            Packet::ConnAck(answer) => {
                self.is_connected = true;
                Some(Heard::Connected {
                    max_packet: answer.properties.and_then(|found| found.max_packet_size),
                })
            }
            Packet::Publish(message) => Some(Heard::Message(Box::new(message))),
            Packet::PubAck(answer) => {
                let Sent { topic, kind } = self.in_flight.remove(&answer.pkid)?;
                let trouble = match answer.reason {
                    PubAckReason::Success | PubAckReason::NoMatchingSubscribers => {
                        return kind.map(Heard::Acknowledged);
                    }
                    PubAckReason::NotAuthorized => Trouble::TopicDenied(topic.to_string()),
                    PubAckReason::QuotaExceeded => Trouble::TopicFull(topic.to_string()),
                    other => Trouble::TopicRefused(topic.to_string(), format!("{other:?}")),
                };
                Some(Heard::Refused(trouble))
            }
            Packet::SubAck(answer) => {
                let filter = self.subscribing.remove(&answer.pkid)?;
                let is_taken = |code: &SubscribeReasonCode| matches!(code, SubscribeReasonCode::Success(_));
                let refused = !answer.return_codes.iter().all(is_taken);
                Some(if refused {
                    Heard::Refused(Trouble::SubscriptionDenied(filter))
                } else {
                    Heard::Subscribed
                })
            }
            _ => None,
        }
    }
}

/// Where this bridge may have left something.
fn sweep_filters(plan: &Plan) -> Vec<String> {
    let discovery = plan.discovery().into_iter().flat_map(|prefix| {
        Component::ALL.map(|component| format!("{prefix}/{}/+/config", component.as_str()))
    });
    std::iter::once(below_prefix(plan)).chain(discovery).collect()
}

/// The host as the client takes it: an address of IPv6 in brackets, and its interface by number.
fn host(host: &str, port: u16) -> String {
    if !host.contains(':') {
        return host.to_owned();
    }
    let inner = host.trim_start_matches('[').trim_end_matches(']');
    match motemix_os::address::parse(&format!("[{inner}]:{port}")) {
        Ok(SocketAddr::V6(address)) if address.scope_id() != 0 => {
            format!("[{}%{}]", address.ip(), address.scope_id())
        }
        // What is wrong with it, or a name that is none, the client finds out.
        _ => format!("[{inner}]"),
    }
}

fn below_prefix(plan: &Plan) -> String {
    format!("{}/#", plan.settings().prefix)
}

/// Who says whether a bridge is there.
fn marks(plan: &Plan, instance: &str) -> Vec<(String, String)> {
    vec![(MARK.to_owned(), plan.id().to_owned()), (INSTANCE.to_owned(), instance.to_owned())]
}

fn options(plan: &Plan, instance: &str) -> Result<MqttOptions, Trouble> {
    let settings = plan.settings();
    let host = host(&settings.host, settings.port);
    let mut options = MqttOptions::new(format!("motemix-bridge-{}", settings.name), host, settings.port);
    options.set_keep_alive(Duration::from_secs(settings.keep_alive.into()));
    options.set_connection_timeout(PATIENCE);
    options.set_clean_start(true);
    options.set_session_expiry_interval(Some(0));
    let most = settings.limits.payload_in.max(settings.limits.payload_out);
    options.set_max_packet_size(Some(most.saturating_add(HEAD)));
    options.set_receive_maximum(Some(settings.limits.queue_in));
    options.set_outgoing_inflight_upper_limit(settings.limits.in_flight);
    let properties = LastWillProperties {
        delay_interval: None,
        payload_format_indicator: None,
        message_expiry_interval: None,
        content_type: None,
        response_topic: None,
        correlation_data: None,
        user_properties: marks(plan, instance),
    };
    let availability = plan.availability_topic();
    options.set_last_will(LastWill::new(availability, "offline", QoS::AtLeastOnce, true, Some(properties)));
    if let Some(user) = &settings.user {
        let password = match &settings.password_file {
            Some(file) => fs::read_to_string(file).map_err(|error| Trouble::Password(error.to_string()))?,
            None => String::new(),
        };
        options.set_credentials(user, password.lines().next().unwrap_or_default());
    }
    Ok(options)
}
